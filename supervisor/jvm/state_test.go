package jvm

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// compiler is a folder with a javac that makes one class, and says no to what is in
// no.
func compiler(t *testing.T, no string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell")
	}
	dir := t.TempDir()
	script := `#!/bin/sh
case "$1" in ` + no + `) echo no such option; exit 2;; esac
while [ $# -gt 0 ]; do
  if [ "$1" = -d ]; then echo class >"$2/A.class"; fi
  last=$1; shift
done
read line <"$last" && [ "$line" = "class A {}" ]
`
	if err := os.WriteFile(filepath.Join(dir, "javac"), []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return dir
}

func path(dir string) func(string) string {
	return func(name string) string { return map[string]string{"PATH": dir}[name] }
}

func TestBuildState(t *testing.T) {
	sources := fstest.MapFS{"a/A.java": {Data: []byte("class A {}\n")}, "a/README": {Data: []byte("not a source")}}
	o := Options{Dir: t.TempDir()}
	i := Installation{ClassPath: []string{"/libs/*"}}
	if err := o.BuildState(t.Context(), i, sources, path(t.TempDir())); !errors.Is(err, ErrNoCompiler) {
		t.Errorf("without a compiler: %v", err)
	}
	if err := o.BuildState(t.Context(), i, sources, path(compiler(t, "*"))); err == nil || !strings.Contains(err.Error(), "stormring-state.jar cannot be made") || !strings.Contains(err.Error(), "no such option") {
		t.Errorf("with a compiler that can do nothing: %v", err)
	}
	if o.HasState() || o.StateIsFresh(sources) {
		t.Error("there is a jar, and nobody has made it")
	}
	for name, no := range map[string]string{"new": "-source", "of Java 8": "--release"} {
		if err := o.BuildState(t.Context(), i, sources, path(compiler(t, no))); err != nil {
			t.Fatalf("a compiler that is %s: %v", name, err)
		}
		if !o.HasState() || !o.StateIsFresh(sources) {
			t.Errorf("a compiler that is %s: the jar is not there", name)
		}
	}
	if other := (fstest.MapFS{"a/A.java": {Data: []byte("class A { }\n")}}); o.StateIsFresh(other) {
		t.Error("the jar is said to be made from other sources")
	}
	z, err := zip.OpenReader(o.StatePath())
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{stateManifest, "A.class"}) {
		t.Errorf("in the jar is %q", names)
	}
	f, err := z.Open("A.class")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(f); err != nil || string(text) != "class\n" {
		t.Errorf("the class is %q, %v", text, err)
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) != 1 {
		t.Errorf("left are %v, %v", left, err)
	}
}
