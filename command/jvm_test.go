package command

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha1" // what Maven repositories have
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mavenOf is a Maven repository with a small Storm 2.8.3, by path below it. What
// is in odd is answered as that says.
func mavenOf(t *testing.T, odd map[string]http.HandlerFunc) string {
	t.Helper()
	var jar bytes.Buffer
	z := zip.NewWriter(&jar)
	w, err := z.Create("org/apache/storm/daemon/worker/Worker.class")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x3d")); err != nil { // of Java 17
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	const client = "/org/apache/storm/storm-client/2.8.3/storm-client-2.8.3"
	const need = "<dependencies><dependency><groupId>g</groupId><artifactId>need</artifactId><version>1</version></dependency></dependencies>"
	files := map[string]string{
		client + ".pom": "<project><groupId>org.apache.storm</groupId><artifactId>storm-client</artifactId><version>2.8.3</version>" + need + "</project>",
		client + ".jar": jar.String(), "/g/need/1/need-1.pom": "<project/>", "/g/need/1/need-1.jar": "PK\x05\x06" + strings.Repeat("\x00", 18), // with nothing in it
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		path, sum := strings.CutSuffix(req.URL.Path, ".sha1")
		text, ok := files[path]
		switch {
		case odd[req.URL.Path] != nil:
			odd[req.URL.Path](w, req)
		case !ok:
			http.NotFound(w, req)
		case sum:
			h := sha1.Sum([]byte(text))
			fmt.Fprint(w, hex.EncodeToString(h[:]))
		default:
			fmt.Fprint(w, text)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// javaHome is a JVM of a version, as far as it is looked at.
func javaHome(t *testing.T, version string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"bin/java": "#!/bin/false\n", "release": "JAVA_VERSION=\"" + version + "\"\n"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	return home
}

func TestJVM(t *testing.T) {
	alone(t)
	url, dir := mavenOf(t, nil), t.TempDir()
	home := javaHome(t, "17.0.15")
	t.Setenv("JAVA_HOME", home)
	t.Setenv("PATH", t.TempDir()) // no javac
	folder := filepath.Join(dir, "2.8.3")
	const (
		noCompiler = "there is no javac on this host: state of Java topologies on the ring needs a JDK once; install one and run the command again, or copy stormring-state.jar from another host\n"
		noState    = "State on the ring: no stormring-state.jar; with a JDK on this host make it by: stormring jvm install VERSION\n"
	)

	golden{args: "jvm list --dir " + dir, stdout: "No worker libraries in " + dir + ".\n"}.check(t, &fake{}, "")
	got := (&fake{}).run(t.Context(), "", "jvm", "install", "--dir", dir, "--repository", url, "2.8.3")
	if got.code != 0 || !strings.HasPrefix(got.stdout, "installed Storm 2.8.3: 2 files, 0.0 MB, in "+folder) {
		t.Fatalf("%+v", got)
	}
	for _, line := range []string{"Storm 2.8.3: asking " + url + " what it needs\n", "1 of 2  ", "2 of 2  ", "need-1.jar\n", "storm-client-2.8.3.jar\n", noCompiler} {
		if !strings.Contains(got.stderr, line) {
			t.Errorf("%q is not in %s", line, got.stderr)
		}
	}
	if strings.Contains(got.stderr, "need Java") {
		t.Errorf("warned: %s", got.stderr)
	}
	// Nothing is asked for what is there.
	again := golden{args: "jvm install --repository http://127.0.0.1:1 2.8.3 --dir " + dir, stdout: "Storm 2.8.3 is installed in " + folder + "\n", stderr: noCompiler}
	again.check(t, &fake{}, "")
	golden{args: "jvm list -c stormring.jvm.libs=" + dir, stdout: "STORM  JAVA  CLASS PATH\n2.8.3  17    " + folder + "/*\n" + noState}.check(t, &fake{}, "")
	golden{args: "jvm check --dir " + dir, stdout: "Java: 17.0.15, " + home + "/bin/java\nStorm 2.8.3: whole, " + folder + "/*\n" + noState}.check(t, &fake{}, "")
	golden{args: "jvm list --json --dir " + dir, stdout: `[
  {
    "version": "2.8.3",
    "java": 17,
    "main": "org.apache.storm.daemon.worker.Worker",
    "classPath": [
      "` + folder + `/*"
    ]
  }
]
`}.check(t, &fake{}, "")

	// Another Java, and a file that is damaged.
	home = javaHome(t, "1.8.0_292")
	t.Setenv("JAVA_HOME", home)
	const failed = "stormring: 1 of 2 checks failed\n"
	golden{
		args: "jvm check --dir " + dir, code: 1, stderr: failed, stdout: "Java: 1.8.0_292, " + home + "/bin/java\n" +
			"Storm 2.8.3: workers of Storm 2.8.3 need Java 17 or newer, but " + home + "/bin/java is 1.8.0_292; install another one and set JAVA_HOME\n" + noState,
	}.check(t, &fake{}, "")
	if err := os.WriteFile(filepath.Join(folder, "need-1.jar"), []byte("else"), 0o600); err != nil {
		t.Fatal(err)
	}
	const damaged = "the worker libraries of Storm 2.8.3: need-1.jar is damaged; get them anew by: stormring jvm install 2.8.3"
	golden{args: "jvm check --dir " + dir, code: 1, stderr: failed, stdout: "Java: 1.8.0_292, " + home + "/bin/java\nStorm 2.8.3: " + damaged + "\n" + noState}.check(t, &fake{}, "")
	if got := (&fake{}).run(t.Context(), "", "jvm", "install", "--dir", dir, "--repository", url, "2.8.3"); got.code != 0 || !strings.Contains(got.stderr, "workers of Storm 2.8.3 need Java 17 or newer, but "+home+"/bin/java is 1.8.0_292; install another one and set JAVA_HOME\n") {
		t.Errorf("%+v", got)
	}
	again.check(t, &fake{}, "")

	// The jar for state, of another release.
	jar := filepath.Join(dir, "stormring-state.jar")
	if err := os.WriteFile(jar, []byte("else"), 0o600); err != nil {
		t.Fatal(err)
	}
	golden{
		args: "jvm list --dir " + dir,
		stdout: "STORM  JAVA  CLASS PATH\n2.8.3  17    " + folder + "/*\nState on the ring: " + jar +
			" is not of this release of Stormring; make it anew by: stormring jvm install VERSION\n",
	}.check(t, &fake{}, "")
}

func TestJVMWrong(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	t.Setenv("JAVA_HOME", dir)
	const install = "jvm install --dir DIR --repository http://127.0.0.1:1"
	for args, want := range map[string]struct {
		code           int
		stdout, stderr string
	}{
		"jvm":                              {2, "", "which command? stormring jvm --help lists them"},
		"jvm nope":                         {2, "", `there is no command "nope"; there are check, install, list`},
		"jvm install":                      {2, "", "which version of Storm? one such as 2.8.3; see stormring jvm install --help"},
		install + " 2.8.3 x":               {2, "", `"x" is no version of Storm; it has to be like 2.8.3`},
		install + " 0.9.7":                 {2, "", "version 0.9.7 of Storm is too old; 1.0 is the oldest that has workers to run here"},
		"jvm install --repository x 2.8.3": {2, "", `"x" is no address of a repository; it has to begin with http:// or https://`},
		"jvm list x":                       {2, "", `list takes no arguments, but got "x"`},
		"jvm check --dir DIR": {1, "Java: there is no Java on this host: JAVA_HOME is wrong: stat DIR/bin/java: no such file or directory; install a JRE, or set JAVA_HOME\n",
			"Java topologies need Storm's worker libraries, and there are none of any version; get them by: stormring jvm install VERSION"},
	} {
		fill := strings.NewReplacer("DIR", dir).Replace
		golden{args: fill(args), code: want.code, stdout: fill(want.stdout), stderr: "stormring: " + want.stderr + "\n"}.check(t, &fake{}, "")
	}
}

func TestJVMNotWhole(t *testing.T) {
	alone(t)
	const jar = "/g/need/1/need-1.jar"
	url := mavenOf(t, map[string]http.HandlerFunc{jar: http.NotFound})
	dir := t.TempDir()
	got := (&fake{}).run(t.Context(), "", "jvm", "install", "--dir", dir, "--repository", url, "2.8.3", "2.8.99")
	for _, line := range []string{
		"stormring: g:need:1: " + url + jar + ": not in the repository\n",
		"stormring: version 2.8.99 of Storm cannot be had whole: org.apache.storm:storm-client:2.8.99: ",
		"stormring: 2 of 2 versions were not installed\n",
	} {
		if !strings.Contains(got.stderr, line) {
			t.Errorf("%q is not in %s", line, got.stderr)
		}
	}
	if got.code != 1 || got.stdout != "" {
		t.Errorf("%+v", got)
	}
	golden{args: "jvm list --dir " + dir, stdout: "No worker libraries in " + dir + ".\n"}.check(t, &fake{}, "")
}

func TestJVMInterrupted(t *testing.T) {
	alone(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	url := mavenOf(t, map[string]http.HandlerFunc{"/g/need/1/need-1.jar": func(_ http.ResponseWriter, req *http.Request) {
		cancel()
		<-req.Context().Done()
	}})
	dir := t.TempDir()
	got := (&fake{}).run(ctx, "", "jvm", "install", "--dir", dir, "--repository", url, "2.8.3")
	if got.code != exitInterrupted || !strings.HasSuffix(got.stderr, "interrupted; what is here already is used when you try again\n") {
		t.Errorf("%+v", got)
	}
}
