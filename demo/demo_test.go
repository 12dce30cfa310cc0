package demo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/demo"
)

// options are those of a small demonstration whose hosts are processes of this
// test.
func options(t *testing.T) demo.Options {
	t.Helper()
	if testing.Short() {
		t.Skip("a cluster of processes is too slow for -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "all")
	t.Cleanup(func() { tails(t, dir) })
	return demo.Options{
		Dir: dir, Hosts: 5, StateBytes: 2 << 20, Rate: 200, Host: []string{self, "demo-host"},
		Env: append(os.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0"), Environment: map[string]string{asProgram: "1"},
	}
}

// tails shows how the logs of a demonstration end if its test has failed.
func tails(t *testing.T, dir string) {
	t.Helper()
	if !t.Failed() {
		return
	}
	for _, pattern := range []string{"demo.log", "host*/host.*", "host*/logs/workers-artifacts/*/*/worker.log*", "journal"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, f := range files {
			text, _ := os.ReadFile(f)
			lines := strings.SplitAfter(string(text), "\n")
			t.Logf("%s ends:\n%s", f, strings.Join(lines[max(0, len(lines)-25):], ""))
		}
	}
}

// heard is a timeline on which one can wait.
type heard struct {
	mu    sync.Mutex
	text  bytes.Buffer
	want  string
	found chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.text.Write(p)
	if h.found != nil && strings.Contains(h.text.String(), h.want) {
		close(h.found)
		h.found = nil
	}
	return len(p), nil
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestRun kills workers and hosts for two of the modes: all counts are right, and
// the table has what happened.
func TestRun(t *testing.T) {
	o := options(t)
	var timeline heard
	o.Modes, o.Timeline = []string{"star", "tree"}, &timeline
	r, err := demo.Run(t.Context(), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, &timeline)
	}
	t.Logf("%s", &timeline)
	if p := r.Proof; !p.Made || p.Wrong != 0 || p.Keys < 25_000 || p.Words < p.Keys || len(p.Examples) > 0 {
		t.Errorf("proof %+v", p)
	}
	if len(r.Rounds) != 2 || r.Hosts != 5 || r.Replicas != 3 || r.StateBytes < 1<<20 || r.TookMS <= 0 {
		t.Errorf("result %+v", r)
	}
	for i, d := range r.Rounds {
		if d.Mode != o.Modes[i] || len(d.Killed) != 2 || len(d.Processes) < 3 || d.Words <= 0 || d.Shards <= 0 || d.Receiver == "" {
			t.Errorf("round %+v", d)
		}
		sum := d.DetectMS + d.PlaceMS + d.FetchMS + d.RebuildMS + d.ResumeMS
		if d.DetectMS <= 0 || d.PlaceMS <= 0 || d.FirstMS <= 0 || math.Abs(sum-d.FirstMS) > 1 || d.StateBytes < 1<<20 {
			t.Errorf("times of %+v", d)
		}
	}
	for _, want := range []string{"kill -9: host 127.0.0.", "plan: star, ", "plan: tree, ", "keys, all counts right\n"} {
		if !strings.Contains(timeline.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	text, err := json.Marshal(r)
	if err != nil || !bytes.Contains(text, []byte(`"mode":"tree"`)) {
		t.Errorf("%s, %v", text, err)
	}
}

var process = regexp.MustCompile(`process (\d+)|worker (\d+)`)

// TestInterrupted: whoever has seen enough leaves nothing behind.
func TestInterrupted(t *testing.T) {
	o := options(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	killed := make(chan struct{})
	timeline := &heard{want: "kill -9", found: killed}
	o.Modes, o.Timeline = []string{"star"}, timeline
	go func() {
		<-killed
		cancel()
	}()
	_, err := demo.Run(ctx, o)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("%v\n%s", err, timeline)
	}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		line, err := os.ReadFile(f)
		if err == nil && bytes.Contains(line, []byte(o.Dir)) {
			t.Errorf("%s is left: %q", f, line)
		}
	}
	if !process.MatchString(timeline.String()) {
		t.Errorf("no process is named:\n%s", timeline)
	}
	if err := syscall.Access(filepath.Join(o.Dir, "demo.log"), 4); err != nil {
		t.Errorf("the log: %v", err)
	}
}

func TestOptions(t *testing.T) {
	host := []string{"none"}
	for _, c := range []struct {
		o    demo.Options
		want string
	}{
		{demo.Options{Host: host, Hosts: 3}, "3 hosts; from 4 to 64 are possible, since two are killed"},
		{demo.Options{Host: host, Hosts: 65}, "65 hosts; from 4 to 64 are possible, since two are killed"},
		{demo.Options{Host: host, Replicas: 2}, "2 replicas; there must be 3, since two hosts are killed at once, and at most one for each host"},
		{demo.Options{Host: host, Hosts: 4, Replicas: 5}, "5 replicas; there must be 3, since two hosts are killed at once, and at most one for each host"},
		{demo.Options{Host: host, StateBytes: 5}, "a state of 5 bytes is none to see anything with; take 1 MiB or more"},
		{demo.Options{Host: host, Rate: 3}, "3 lines a second are too few; take 20 or more"},
		{demo.Options{}, "demo: no command that is a host"},
	} {
		if _, err := demo.Run(t.Context(), c.o); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := demo.Run(t.Context(), demo.Options{Host: host, Dir: full}); err == nil || err.Error() != "the folder "+full+" is not empty; name a new one" {
		t.Errorf("got %v", err)
	}
	empty := t.TempDir()
	_, err := demo.Run(t.Context(), demo.Options{Host: host, Input: empty})
	if err == nil || err.Error() != "the text in "+empty+": there is no file in it" {
		t.Errorf("got %v", err)
	}
}

// TestHostAlone: the hidden command says who starts it.
func TestHostAlone(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := demo.RunHost(ctx, strings.NewReader(""), os.Stderr)
	if err == nil || err.Error() != "a host of a demonstration is started by stormring demo: EOF" {
		t.Errorf("got %v", err)
	}
}
