package wordcount

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestResolve(t *testing.T) {
	t.Setenv("GOROOT", "")
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"b.txt", "a.txt", "d/z", "d/b/x", "d-e/y", "[odd]", "sub/c.md"} {
		writeFile(t, dir, name, "12345")
	}
	if err := os.Symlink("d", "link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../a.txt", "d/link"); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		paths []string
		want  []string // or an error that contains the only element
	}{
		{[]string{"a.txt"}, []string{"a.txt"}},
		{[]string{"b.txt", "a.txt", "b.txt"}, []string{"b.txt", "a.txt", "b.txt"}},
		{[]string{"d"}, []string{"d/b/x", "d/z"}},
		{[]string{"link"}, []string{"link/b/x", "link/z"}},
		{[]string{"d/link"}, []string{"d/link"}},
		{[]string{"*.txt"}, []string{"a.txt", "b.txt"}},
		{[]string{"d*"}, []string{"d/b/x", "d/z", "d-e/y"}},
		{[]string{"[odd]"}, []string{"[odd]"}},
		{[]string{"*.none"}, []string{`"*.none" does not exist, and as a pattern it matches no file`}},
		{[]string{"a.txt", "none"}, []string{`cannot read input "none": no such file or directory`}},
		{[]string{"[a"}, []string{`"[a" does not exist and is no valid pattern`}},
	}
	for _, c := range cases {
		inputs, err := resolve(c.paths, nil)
		if err != nil {
			if len(c.want) != 1 || !strings.Contains(err.Error(), c.want[0]) {
				t.Errorf("%q: %v, want %q", c.paths, err, c.want)
			}
			continue
		}
		var got []string
		for _, in := range inputs {
			got = append(got, in.path)
			if in.size != 5 || in.waits {
				t.Errorf("%q: %+v", c.paths, in)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.paths, got, c.want)
		}
	}
}

func TestUnreadableFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	path := writeFile(t, t.TempDir(), "secret", "x")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := instance(nil, path); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v", err)
	}
}

func TestDefaultIsGoSource(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GOROOT", root)
	if _, err := instance(nil); err == nil || !strings.Contains(err.Error(), filepath.Join(root, "src")) {
		t.Errorf("without source: %v", err)
	}
	writeFile(t, root, "src/fmt/print.go", "a b")
	writeFile(t, root, "src/fmt/README", "no go")
	writeFile(t, root, "src/cmd/go/main.go", "not this one")
	writeFile(t, root, "src/x/cmd/cmd.go", "b")
	out, err := run(t, nil, 1, "--format", "tsv")
	if err != nil || out != "b\t2\na\t1\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestStdin(t *testing.T) {
	r, w := io.Pipe()
	go func() {
		for _, part := range []string{"a b", "c a\n", "bc \xe3\x80", "\x80bc"} {
			io.WriteString(w, part)
		}
		w.Close()
	}()
	out, err := run(t, r, 1, "--format", "tsv", "-")
	if err != nil || out != "bc\t3\na\t2\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestNamedPipe(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	data := strings.Repeat("some words and other words\n", 20_000)
	go os.WriteFile(pipe, []byte(data), 0)
	out, err := run(t, nil, 1, "--top", "0", "--format", "tsv", "--input", pipe, writeFile(t, dir, "f", "words"))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(parseTSV(t, out), simple(data, "words")); d != "" {
		t.Error(d)
	}
}

// cancelAfter calls cancel when n words have been counted.
func cancelAfter(in *storm.Instance, n int64, cancel func()) {
	c := in.Topology.Components["count"]
	newBolt := c.NewBolt
	var left atomic.Int64
	left.Store(n)
	c.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		return tripwire{b, &left, cancel}, err
	}
}

type tripwire struct {
	storm.Bolt
	left *atomic.Int64
	trip func()
}

func (b tripwire) Execute(t storm.Tuple) error {
	err := b.Bolt.Execute(t)
	if b.left.Add(-1) == 0 {
		b.trip()
	}
	return err
}

// TestStopWhileWaiting ends a run that waits for input that never comes;
// goleak sees whether the reader is gone.
func TestStopWhileWaiting(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	pr, pw := io.Pipe()
	defer pw.Close()
	fr, fw, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer fr.Close()
	defer fw.Close()
	// As the standard input of a process is: in blocking mode.
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		t.Fatal(err)
	}
	blocking := os.NewFile(uintptr(fds[0]), "stdin")
	defer blocking.Close()
	defer syscall.Close(fds[1])
	cases := map[string]struct {
		stdin io.Reader
		path  string
	}{
		"fifo": {nil, fifo}, "reader": {pr, "-"}, "file": {fr, "-"}, "blocking file": {blocking, "-"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			in, err := instance(c.stdin, "--format", "tsv", writeFile(t, dir, "first", "a b a"), c.path)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancelAfter(in, 3, cancel)
			top, err := local.New(local.Options{Name: "wordcount", Instance: in})
			if err != nil {
				t.Fatal(err)
			}
			res, err := top.Run(ctx)
			if err != nil || !res.Partial || res.Undrained != 0 {
				t.Errorf("%+v, %v", res, err)
			}
			var out strings.Builder
			if err := in.Report(&out, res.Partial); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); got != "a\t2\nb\t1\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestVanishedFile(t *testing.T) {
	dir := t.TempDir()
	here, gone := writeFile(t, dir, "here", "a"), writeFile(t, dir, "gone", "b")
	in, err := instance(nil, here, gone)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	top, err := local.New(local.Options{Name: "wordcount", Instance: in})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := top.Run(t.Context()); err != nil || res.Restarts != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	var out strings.Builder
	err = in.Report(&out, false)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), gone) || out.Len() > 0 {
		t.Errorf("printed %q, error %v", out.String(), err)
	}
}

// TestLostCounter has no result if a counter never handed over its counts.
func TestLostCounter(t *testing.T) {
	j := newJob(nil, nil)
	ctx := func(task storm.TaskID) *storm.TopologyContext {
		return storm.NewTopologyContext(storm.ContextSpec{Task: task})
	}
	a, b := &counter{job: j}, &counter{job: j}
	a.Prepare(ctx(1))
	b.Prepare(ctx(2))
	a.Cleanup()
	if _, err := j.counts(); err == nil {
		t.Error("the counts of a lost counter are not missed")
	}
	b.Cleanup()
	if _, err := j.counts(); err != nil {
		t.Error(err)
	}
	b.Prepare(ctx(2))
	b.Cleanup()
	if _, err := j.counts(); err == nil {
		t.Error("a counter that began twice is not noticed")
	}
}
