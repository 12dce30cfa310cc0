package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script makes an executable file that prints its arguments, a line each, and
// ends with code.
func script(t *testing.T, path, code string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "#!/bin/sh\nfor a in \"$@\"; do echo \"$a\"; done\necho said >&2\nexit " + code + "\n"
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// stormRelease makes a release of Storm, as far as its layout matters.
func stormRelease(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, dir := range []string{"lib-worker", "lib", "extlib", "conf"} {
		if err := os.Mkdir(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, "conf", "storm.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return home
}

func TestJarRunsJava(t *testing.T) {
	alone(t)
	home, java := stormRelease(t), t.TempDir()
	script(t, filepath.Join(java, "bin", "java"), "0")
	jar := write(t, "topology.jar", "PK\x03\x04")
	t.Setenv("JAVA_HOME", java)
	t.Setenv(stormHome, home)
	t.Setenv("STORM_JAR_JVM_OPTS", "-Xmx1g  -ea")
	t.Setenv("STORM_EXT_CLASSPATH", "/ext.jar")
	conf := write(t, "storm.yaml", "storm.log.dir: /logs\n")
	got := newFake().run(t.Context(), "", "jar", "-c", "a b=c,d", "--jars", "x.jar,y.jar", jar, "org.Main", "one", "-c", "e=f", "two words", "--config", conf, "--more")
	want := strings.Join([]string{
		"-Dstorm.options=a+b%3Dc%2Cd,e%3Df",
		"-Dstorm.home=" + home,
		"-Dstorm.log.dir=/logs",
		"-Dstorm.conf.file=" + conf,
		"-cp",
		strings.Join([]string{home + "/*", home + "/lib-worker/*", home + "/extlib/*", "/ext.jar", jar, home + "/conf", "x.jar", "y.jar"}, ":"),
		"-Xmx1g", "-ea",
		"-Dstorm.jar=" + jar,
		"-Dstorm.dependency.jars=x.jar,y.jar",
		"-Dstorm.dependency.artifacts={}",
		"org.Main", "one", "two words", "--more",
	}, "\n") + "\n"
	if got != (shown{0, want, "said\n"}) {
		t.Errorf("got %d %s%s\nwant %s", got.code, got.stdout, got.stderr, want)
	}
}

func TestJarRunsProgram(t *testing.T) {
	alone(t)
	for code, want := range map[string]shown{
		"0":   {code: 0},
		"1":   {code: 1, stderr: "stormring: program has failed: exit status 1\n"},
		"2":   {code: 2, stderr: "stormring: program did not take its arguments: exit status 2\n"},
		"130": {code: 130},
	} {
		program := script(t, filepath.Join(t.TempDir(), "program"), code)
		got := newFake().run(t.Context(), "", "jar", "--dry-run", "-c", "a=b", "--config", "x.yaml", program, "wordcount", "--top", "3", "-c", "c=d")
		want.stdout = "submit\n-c\na=b\n--config\nx.yaml\n--dry-run\nwordcount\n--top\n3\n-c\nc=d\n"
		want.stderr = "said\n" + want.stderr
		if got != want {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	}
}

func TestJarErrors(t *testing.T) {
	alone(t)
	jar := write(t, "a.jar", "PK\x03\x04")
	plain := write(t, "plain", "\x7fELF")
	text := write(t, "text", "x")
	const classes = "where are Storm's Java classes? set STORM_HOME to a release of Apache Storm, or name a directory of its jars by --storm-lib; topologies in Go need none"
	for _, g := range []golden{
		{args: "jar /no/such", code: 1, stderr: "open /no/such: no such file or directory"},
		{args: "jar " + text, code: 1, stderr: text + " is neither a jar nor a program for this kind of machine"},
		{args: "jar " + plain, code: 1, stderr: plain + " is not executable: run chmod +x on it"},
		{args: "jar --jars x " + plain, code: 2, stderr: plain + " is a program and no jar: --jars, --artifacts, --storm-lib and --storm-server-classpath are not for it"},
		{args: "jar " + jar, code: 2, stderr: "which main class of " + jar + "?"},
		{args: "jar " + jar + " Main -c", code: 2, stderr: "-c needs a value"},
		{args: "jar " + jar + " Main -c x", code: 2, stderr: "-c x: write it as key=value"},
		{args: "jar --dry-run " + jar + " Main", code: 2, stderr: "--dry-run is for Go programs: only a jar's main class knows its topology, and it submits it"},
		{args: "jar --artifacts g:a:1 " + jar + " Main", code: 1, stderr: "--artifacts is not here: fetch the artifacts and name them by --jars"},
		{args: "jar " + jar + " Main", code: 1, stderr: classes},
		{args: "classpath", code: 1, stderr: classes},
		{args: "classpath --storm-lib /no/such", code: 1, stderr: "--storm-lib /no/such does not exist"},
	} {
		g.stderr = "stormring: " + g.stderr + "\n"
		g.check(t, newFake(), "")
	}
	t.Setenv(stormHome, "/no/such")
	golden{args: "classpath", code: 1, stderr: "stormring: STORM_HOME is /no/such, but there is no /no/such/lib-worker: it must be a release of Apache Storm\n"}.check(t, newFake(), "")
	t.Setenv(stormHome, stormRelease(t))
	t.Setenv("JAVA_HOME", "/no/such")
	golden{args: "jar " + jar + " Main", code: 1, stderr: "stormring: JAVA_HOME is wrong: stat /no/such/bin/java: no such file or directory\n"}.check(t, newFake(), "")
	t.Setenv("JAVA_HOME", "")
	t.Setenv("PATH", "/no/such")
	golden{args: "jar " + jar + " Main", code: 1, stderr: "stormring: a jar needs java, which is not in PATH: install it or set JAVA_HOME\n"}.check(t, newFake(), "")
}

func TestServerClasspath(t *testing.T) {
	alone(t)
	home := stormRelease(t)
	t.Setenv(stormHome, home)
	t.Setenv("STORM_EXT_CLASSPATH_DAEMON", "/d.jar")
	golden{args: "server_classpath", stdout: home + "/*:" + home + "/lib/*:" + home + "/extlib/*:/d.jar\n"}.check(t, newFake(), "")
	golden{args: "classpath", stdout: home + "/*:" + home + "/lib-worker/*:" + home + "/extlib/*\n"}.check(t, newFake(), "")
}
