package multilang

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stormring/stormring/storm"
)

// where emits its folder and a word of a file there; it notes each of its
// processes in a file of that folder, and ends at once if told so.
const where = `
import os, sys
import stormring

class Where(stormring.BasicBolt):
    def initialize(self, conf, context):
        with open("starts", "a") as f:
            f.write("x")

    def process(self, tup):
        if tup.values[0] == "die":
            os._exit(3)
        with open("data/word") as f:
            stormring.emit([os.getcwd() + " " + f.read(), os.path.getsize("starts")])

Where().run()
`

func whereFiles() fstest.MapFS {
	return fstest.MapFS{
		"start":     {Data: []byte("#!/bin/sh\nexec ./python.sh\n")},
		"python.sh": {Data: []byte("exec python3 where.py\n")}, // run by sh, being no program
		"where.py":  {Data: []byte(where)},
		"data/word": {Data: []byte("here")},
	}
}

// folderOf sends a word and returns what the child says its folder is.
func (r *rig) folderOf(b *ShellBolt, root int) string {
	r.t.Helper()
	var said string
	r.send(b, root, 1, storm.String("where"), storm.Int(1))
	r.until("an answer", func() bool {
		i := slices.IndexFunc(r.emitted, func(e string) bool { return strings.Contains(e, " here") })
		if i < 0 {
			return false
		}
		said, r.emitted = r.emitted[i], nil
		return true
	})
	at := strings.IndexByte(said, '/')
	if at < 0 {
		r.t.Fatalf("it said %q", said)
	}
	return said[at:strings.Index(said, " here")]
}

func TestFilesAreThereAsLongAsTheTask(t *testing.T) {
	t.Parallel()
	python(t)
	var dirs []string
	for range 2 {
		r := newRig(t, storm.Config{})
		b := r.bolt(Spec{Files: whereFiles()}, "./start")
		dir := r.folderOf(b, 1)
		dirs = append(dirs, dir)
		r.send(b, 2, 1, storm.String("die"), storm.Int(1))
		r.until("the error of its end", r.says("exited with code 3", "it is started again"))
		if again := r.folderOf(b, 3); again != dir {
			t.Errorf("after a restart it is in %s, it was in %s", again, dir)
		}
		if starts, err := os.ReadFile(filepath.Join(dir, "starts")); string(starts) != "xx" {
			t.Errorf("starts %q, %v", starts, err)
		}
		for _, name := range []string{"stormring.py", "stormring.js", "stormring.rb", "stormring.sh"} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
				t.Errorf("%s: %v, %v", name, info, err)
			}
		}
		t.Cleanup(func() {
			r.stop()
			r.on(func() {
				if err := b.Cleanup(); err != nil {
					t.Error(err)
				}
			})
			if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left: %v", dir, err)
			}
		})
	}
	if dirs[0] == dirs[1] {
		t.Errorf("two tasks share %s", dirs[0])
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "where.py")); err != nil {
			t.Error(err)
		}
	}
}

func TestModesAndNamesOfFiles(t *testing.T) {
	t.Parallel()
	dir, err := writeFiles(fstest.MapFS{
		"a.py": {Data: []byte("text"), Mode: 0o444}, "b": {Data: []byte("#!x")}, "c.sh": {}, "d/e/f": {Data: []byte("#"), Mode: 0o555},
		"g h/ü": {Data: []byte("#")}, "stormring.py": {Data: []byte("own")}, "...": {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	got := map[string]fs.FileMode{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		got[strings.TrimPrefix(path, dir+"/")] = info.Mode()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{
		"a.py": 0o600, "b": 0o700, "c.sh": 0o700, "d/e/f": 0o700, "g h/ü": 0o600, "...": 0o600,
		"stormring.py": 0o600, "stormring.js": 0o600, "stormring.rb": 0o600, "stormring.sh": 0o700,
	}
	for name, mode := range want {
		if got[name] != mode {
			t.Errorf("%s has mode %v, want %v", name, got[name], mode)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("also %v", got)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "stormring.py")); string(text) != "own" {
		t.Errorf("its own adapter is %q, %v", text, err)
	}
}

// badFS fails in one way.
type badFS struct {
	fstest.MapFS
	name string
	list []fs.DirEntry
	err  error
}

func (f badFS) Open(name string) (fs.File, error) {
	if name == f.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	return f.MapFS.Open(name)
}

func (f badFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if f.list != nil && name == "." {
		return f.list, nil
	}
	return f.MapFS.ReadDir(name)
}

type badEntry struct {
	fs.DirEntry
	name string
}

func (e badEntry) Name() string { return e.name }
func (badEntry) IsDir() bool    { return false }

func TestFilesThatCannotBeWritten(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	one := fstest.MapFS{"a": {Data: []byte("x")}}
	cases := []struct {
		name  string
		files fs.FS
		want  string
	}{
		{"none", fstest.MapFS{}, "the component's files: there are none; what is embedded may be in a folder that fs.Sub has to be given"},
		{"a device", fstest.MapFS{"a": {Mode: fs.ModeDevice}}, `the component's files: "a" is neither a file nor a folder (D---------), so it cannot be carried; leave it out`},
		{"unreadable", badFS{MapFS: one, name: "a", err: syscall.EIO}, "the component's files: read: open a: input/output error"},
		{"out of the folder", badFS{MapFS: one, list: []fs.DirEntry{badEntry{name: "../a"}}}, `the component's files: "../a" is not a name that a file can have here`},
		{"twice", badFS{MapFS: one, list: []fs.DirEntry{badEntry{name: "a"}, badEntry{name: "a"}}}, `the component's files: write "a": openat a: file exists`},
		{"a long name", fstest.MapFS{strings.Repeat("n", 300): {}}, `the component's files: write "` + strings.Repeat("n", 300) + `": openat ` + strings.Repeat("n", 300) + ": file name too long"},
	}
	for _, c := range cases {
		if dir, err := writeFiles(c.files); err == nil || err.Error() != c.want {
			t.Errorf("%s: %q, %v", c.name, dir, err)
		}
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	t.Setenv("TMPDIR", filepath.Join(temp, "none"))
	if _, err := writeFiles(one); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("without a folder for them: %v", err)
	}
}

func TestFilesAndDir(t *testing.T) {
	t.Parallel()
	r := newRig(t, storm.Config{})
	_, err := r.tryBolt(Spec{Files: whereFiles(), Dir: "/srv"}, "./start")
	if want := "a shell component has files of its own and is to run in /srv; give it only one of Files and Dir"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
