package jvm

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// jarOf makes a jar.
func jarOf(t *testing.T, path string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

const java17 = "\xca\xfe\xba\xbe\x00\x00\x00\x3d"

// stage puts the worker and a library where they are gathered.
func stage(t *testing.T, dir string, v Version) (folder string, names []string) {
	t.Helper()
	folder, err := Stage(dir, v)
	if err != nil {
		t.Fatal(err)
	}
	jarOf(t, filepath.Join(folder, "worker.jar"), map[string]string{"org/apache/storm/daemon/worker/Worker.class": java17})
	jarOf(t, filepath.Join(folder, "lib.jar"), nil)
	return folder, []string{"worker.jar", "lib.jar"}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestPublish(t *testing.T) {
	dir := t.TempDir()
	v := version(t, "2.8.3")
	for range 2 { // the second takes the place of the first
		folder, files := stage(t, dir, v)
		if err := os.WriteFile(filepath.Join(folder, ".new-1234"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Publish(t.Context(), dir, v, "g:a:2.8.3", files); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"2.8.3"}) {
			t.Errorf("there are %q", got)
		}
		if got := names(t, filepath.Join(dir, "2.8.3")); !slices.Equal(got, []string{"lib.jar", "stormring.json", "worker.jar"}) {
			t.Errorf("in it there are %q", got)
		}
	}
	i, err := New(Options{Dir: dir}).Find("2.8.3")
	if err != nil {
		t.Fatal(err)
	}
	if err := i.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n, err := i.NeedsJava(); err != nil || n != 17 {
		t.Errorf("%d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := i.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPublishWantsAll(t *testing.T) {
	dir := t.TempDir()
	v := version(t, "2.8.3")
	_, files := stage(t, dir, v)
	err := Publish(t.Context(), dir, v, "g:a:2.8.3", append(files, "none.jar"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := New(Options{Dir: dir}).Find("2.8.3"); err == nil {
		t.Error("it is installed")
	}
}

func TestCheck(t *testing.T) {
	const anew = "; get them anew by: stormring jvm install 2.8.3"
	for want, harm := range map[string]func(dir string) error{
		"":                   func(string) error { return nil },
		"lib.jar is missing": func(dir string) error { return os.Remove(filepath.Join(dir, "lib.jar")) },
		"lib.jar is damaged": func(dir string) error { return os.WriteFile(filepath.Join(dir, "lib.jar"), nil, 0o600) },
		"x.jar does not belong there": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "x.jar"), nil, 0o600)
		},
		"stormring.json cannot be read: unexpected end of JSON input": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestFile), nil, 0o600)
		},
		"stormring.json has format 2; this program knows 1": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"format":2}`), 0o600)
		},
		`stormring.json lists "../x", which is no plain name`: func(dir string) error {
			return os.WriteFile(filepath.Join(dir, manifestFile), []byte(`{"format":1,"jars":[{"name":"../x"}]}`), 0o600)
		},
		"there is no class org.apache.storm.daemon.worker.Worker on the class path": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, manifestFile)), os.Remove(filepath.Join(dir, "worker.jar")))
		},
		"DIR/lib.jar is no jar: zip: not a valid zip file": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, manifestFile)), os.WriteFile(filepath.Join(dir, "lib.jar"), []byte("x"), 0o600))
		},
	} {
		dir := t.TempDir()
		v := version(t, "2.8.3")
		_, files := stage(t, dir, v)
		if err := Publish(t.Context(), dir, v, "g:a:2.8.3", files); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(dir, "2.8.3")
		if err := harm(folder); err != nil {
			t.Fatal(err)
		}
		i, err := New(Options{Dir: dir}).Find("2.8.3")
		if err != nil {
			t.Fatal(err)
		}
		err = i.Check(t.Context())
		if want == "" && err == nil {
			continue
		}
		if full := "the worker libraries of Storm 2.8.3: " + strings.ReplaceAll(want, "DIR", folder) + anew; err == nil || err.Error() != full {
			t.Errorf("%v, not %s", err, full)
		}
	}
}

func TestCheckClassPath(t *testing.T) {
	dir := t.TempDir()
	class := filepath.Join(dir, "classes", "my", "Main.class")
	if err := os.MkdirAll(filepath.Dir(class), 0o750); err != nil {
		t.Fatal(err)
	}
	i := Installation{Version: version(t, "2.2"), ClassPath: []string{"/none.jar", filepath.Join(dir, "*"), filepath.Join(dir, "classes")}, Main: "my.Main"}
	for text, want := range map[string]string{
		java17: "",
		"x":    "the worker libraries of Storm 2.2: " + filepath.Join(dir, "classes") + ": my/Main.class is no class; mend supervisor.worker.version.classpath.map",
	} {
		if err := os.WriteFile(class, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := i.Check(t.Context()); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(`{"format":1,"artifact":"g:a:1","jars":[{"name":"a.jar","bytes":1,"sha256":"00"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := parseManifest(text)
		if err != nil {
			return
		}
		for _, j := range m.Jars {
			if !filepath.IsLocal(j.Name) || strings.Contains(j.Name, "/") {
				t.Errorf("%q leads elsewhere", j.Name)
			}
		}
	})
}
