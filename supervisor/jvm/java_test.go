package jvm

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// program writes a shell script.
func program(t *testing.T, path, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
}

func getenv(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestFindJava(t *testing.T) {
	dir := t.TempDir()
	home, old, silent := filepath.Join(dir, "17"), filepath.Join(dir, "8"), filepath.Join(dir, "silent")
	program(t, filepath.Join(home, "bin", "java"), "exit 1")
	if err := os.WriteFile(filepath.Join(home, "release"), []byte("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"17.0.15\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(old, "bin", "java"), `echo 'openjdk version "1.8.0_292"' >&2`)
	program(t, filepath.Join(silent, "bin", "java"), "echo hello")
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(home, "bin", "java"), filepath.Join(bin, "java")); err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		env  func(string) string
		want Java
	}{
		"JAVA_HOME goes before PATH": {getenv("JAVA_HOME", old, "PATH", bin), Java{Path: filepath.Join(old, "bin", "java"), Version: "1.8.0_292", Major: 8}},
		"PATH":                       {getenv("PATH", dir+":"+bin), Java{Path: filepath.Join(bin, "java"), Version: "17.0.15", Major: 17}},
	} {
		if got, err := FindJava(t.Context(), c.env); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for want, env := range map[string]func(string) string{
		"java is not in PATH": getenv("PATH", dir),
		"JAVA_HOME is wrong: stat " + dir + "/bin/java/bin/java: not a directory":    getenv("JAVA_HOME", filepath.Join(bin, "java")),
		filepath.Join(silent, "bin", "java") + " -version does not tell its version": getenv("JAVA_HOME", silent),
	} {
		_, err := FindJava(t.Context(), env)
		none, ok := errors.AsType[*NoJavaError](err)
		if !ok || none.Err.Error() != want {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

func TestMajorOf(t *testing.T) {
	for text, want := range map[string]int{"17.0.15": 17, "1.8.0_292": 8, "21": 21, "11-ea": 11, "25.0.3": 25, "x": 0, "": 0, "1.": 0} {
		if got, err := majorOf(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}

func TestRunsOn(t *testing.T) {
	dir := t.TempDir()
	class := "org/apache/storm/daemon/worker/Worker.class"
	for _, c := range []struct {
		version string
		file    byte // version of the class file
		java    int
		want    string
	}{
		{"2.8.3", 61, 17, ""},
		{"2.8.3", 61, 25, ""},
		{"2.8.3", 61, 11, "workers of Storm 2.8.3 need Java 17 or newer, but /j is 11.x; install another one and set JAVA_HOME"},
		{"2.3.0", 52, 13, ""},
		{"2.3.0", 52, 14, "workers of Storm 2.3.0 need Java 8 to 13, but /j is 14.x; install another one and set JAVA_HOME"},
		{"2.4.0", 52, 17, ""},
		{"1.2.4", 49, 6, "workers of Storm 1.2.4 need Java 7 to 13, but /j is 6.x; install another one and set JAVA_HOME"},
	} {
		folder := filepath.Join(dir, c.version)
		jarOf(t, filepath.Join(folder, "storm.jar"), map[string]string{class: "\xca\xfe\xba\xbe\x00\x00\x00" + string(rune(c.file))})
		i := Installation{Version: version(t, c.version), Dir: folder, ClassPath: []string{filepath.Join(folder, "*")}, Main: "org.apache.storm.daemon.worker.Worker"}
		j := Java{Path: "/j", Version: itoa(c.java) + ".x", Major: c.java}
		err := i.RunsOn(j)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s on %d: %v", c.version, c.java, err)
		}
		if _, ok := errors.AsType[*JavaMismatchError](err); ok != (err != nil) {
			t.Errorf("%s on %d: %T", c.version, c.java, err)
		}
	}
}
