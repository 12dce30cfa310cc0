//go:build linux

package process

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stormring/stormring/internal/clock"
)

func TestRotationWhileTheWorkerWrites(t *testing.T) {
	r := newRig(t)
	fake := clock.NewFake(time.Unix(1, 0))
	r.cfg.Clock, r.cfg.TendEvery = fake, time.Minute
	r.open()
	// tick lets the Manager look at the files once.
	tick := func() {
		for n, changed := fake.Timers(); n == 0; n, changed = fake.Timers() {
			<-changed
		}
		fake.Advance(time.Minute)
		for n, changed := fake.Timers(); n == 0; n, changed = fake.Timers() {
			<-changed
		}
	}
	s := r.spec("w", "spew")
	s.LogMaxBytes, s.LogKeep = 50, 2
	h := r.start(s)
	line := func(i string) string { return strings.Repeat(i, 99) + "\n" }
	want := func(round string, files ...string) {
		t.Helper()
		for i, text := range files {
			name := filepath.Join(s.LogDir, StdoutName)
			if i > 0 {
				name = numbered(name, i)
			}
			b, err := os.ReadFile(name)
			if string(b) != text && (text != "-" || err == nil) {
				t.Errorf("round %s: %s has %.20q (%d bytes), want %.20q", round, name, b, len(b), text)
			}
		}
	}
	r.hear("spew")
	want("0", line("0"), "-")
	tick()
	want("0 rotated", "", line("0"), "-")
	for _, round := range []string{"1", "2", "3"} {
		unix.Kill(h.PID(), unix.SIGUSR1)
		r.hear("spew")
		if round == "3" {
			break
		}
		tick()
	}
	want("3", line("3"), line("2"), line("1"), "-")
	b, _ := os.ReadFile(filepath.Join(s.LogDir, StderrName))
	if string(b) != "round 0\nround 1\nround 2\nround 3\n" {
		t.Errorf("standard error, which is short: %q", b)
	}
}

func TestRotateFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := rotateFile(path, 1, 1); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
	os.WriteFile(path, []byte("abc"), 0o600)
	if err := rotateFile(path, 3, 1); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "abc" {
		t.Errorf("a file that is not too long: %q", b)
	}
	os.WriteFile(path+".rotating", []byte("of one that was killed, and longer"), 0o600)
	if err := rotateFile(path, 2, 1); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(path + ".1"); string(b) != "abc" {
		t.Errorf("the old file: %q", b)
	}
	os.WriteFile(path, []byte("defg"), 0o600)
	if err := rotateFile(path, 2, 0); err != nil {
		t.Error(err)
	}
	if names, _ := filepath.Glob(path + "*"); len(names) != 2 {
		t.Errorf("files %v", names)
	}
	// What cannot be rotated is said once.
	os.WriteFile(path+".err", []byte("x"), 0o600)
	var said strings.Builder
	l := newLogs(logFiles{Dir: filepath.Dir(path), MaxBytes: 1, Keep: 1})
	os.WriteFile(filepath.Join(l.files.Dir, StdoutName), []byte("long"), 0o600)
	os.MkdirAll(filepath.Join(l.files.Dir, StdoutName+".1", "x"), 0o700)
	for range 3 {
		l.rotate(slog.New(slog.NewTextHandler(&said, nil)))
	}
	if strings.Count(said.String(), "cannot be rotated") != 1 {
		t.Errorf("said: %s", said.String())
	}
}

func TestClearStaysInside(t *testing.T) {
	r := newRig(t)
	r.open()
	outside := filepath.Join(r.cfg.Root, "..", "precious")
	os.MkdirAll(outside, 0o700)
	for _, worker := range []string{"", ".", "..", "../precious", "/", "a/b", ".lock", "a\x00b"} {
		if err := r.m.Clear(t.Context(), worker); err == nil || !strings.Contains(err.Error(), "is no worker id") {
			t.Errorf("Clear(%q): %v", worker, err)
		}
	}
	os.Symlink(outside, r.m.Dir("link"))
	os.MkdirAll(filepath.Join(r.m.Dir("w"), "locked", "x"), 0o700)
	os.Chmod(filepath.Join(r.m.Dir("w"), "locked"), 0o500)
	os.Symlink(outside, filepath.Join(r.m.Dir("w"), "locked", "x", "link"))
	for _, worker := range []string{"link", "w"} {
		if err := r.m.Clear(t.Context(), worker); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.m.Dir(worker)); err == nil {
			t.Errorf("%s is still there", worker)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

// Where the system has no pidfds, the end is seen all the same.
func TestWithoutPidfd(t *testing.T) {
	r := newRig(t)
	r.open()
	h := r.start(r.spec("w", "wait"))
	pid := r.hear("wait")
	start, _, _ := startOf(pid)
	l := &lookout{pid: pid, start: start}
	if err := l.signalGroup(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if !l.wait(t.Context(), r.m.clock) {
		t.Error("its end was not seen")
	}
	if got := r.gone(h); got != 128+15 {
		t.Errorf("exit code %d", got)
	}
	if err := l.signalGroup(unix.SIGTERM); err != nil {
		t.Errorf("a signal to what is gone: %v", err)
	}
}

func TestBelonging(t *testing.T) {
	const dir = "/r/w"
	lead := proc{pid: 10, ppid: 1, session: 10, start: 100, marker: dir}
	mate := proc{pid: 11, ppid: 1, session: 10, start: 101}
	left := proc{pid: 12, ppid: 1, session: 12, start: 102, marker: dir}
	child := proc{pid: 13, ppid: 12, session: 13, start: 103}
	grand := proc{pid: 9, ppid: 13, session: 9, start: 104}
	dead := proc{pid: 14, ppid: 12, session: 12, start: 105, zombie: true}
	other := proc{pid: 15, ppid: 1, session: 15, start: 90, marker: "/r/w2"}
	later := proc{pid: 10, ppid: 1, session: 10, start: 900}
	laterChild := proc{pid: 16, ppid: 10, session: 10, start: 901}
	for name, tt := range map[string]struct {
		pid       int
		all, want []proc
	}{
		"all":            {10, []proc{grand, lead, mate, left, child, dead, other}, []proc{grand, mate, left, child}},
		"leader is gone": {10, []proc{mate, left, other}, []proc{mate, left}},
		"reused":         {10, []proc{left, later, laterChild}, []proc{left}},
		"unknown leader": {0, []proc{lead, mate, other}, []proc{lead}},
		"nothing":        {10, []proc{lead, other, dead}, nil},
	} {
		got := belonging(tt.all, tt.pid, 100, dir)
		if len(got)+len(tt.want) > 0 && !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if l, ok := leaderOf([]proc{left, child, lead, mate}); !ok || l != lead {
		t.Errorf("leader %+v, %v", l, ok)
	}
	if _, ok := leaderOf([]proc{mate}); ok {
		t.Error("a leader among those who lead nothing")
	}
}

func TestParseStat(t *testing.T) {
	const rest = " 7 9 8 34816 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 100 18446744073709551615"
	for in, want := range map[string]proc{
		"12 (a) S" + rest:            {pid: 12, ppid: 7, session: 8, start: 4242},
		"12 (x) y (z) Z\n) Z" + rest: {pid: 12, ppid: 7, session: 8, start: 4242, zombie: true},
	} {
		if got, err := parseStat([]byte(in)); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "1 (", ")(", "1 (a)", "1 (a) S 1 2 3", "x (a) S" + rest} {
		if got, err := parseStat([]byte(in)); err == nil {
			t.Errorf("%q: %+v", in, got)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("12 (a b) S 7 9 8 34816 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 4242 99 100"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseStat(b)
		if err != nil && p != (proc{}) {
			t.Errorf("%+v with %v", p, err)
		}
		markerIn(b)
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"pid":12,"start":34,"boot":"x","argv":["a"],"logs":{"dir":"/l","maxBytes":5,"keep":2}}`))
	f.Add([]byte(`{"pid":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseRecord(b)
		if err == nil && (r.PID < 0 || r.PID == 1 || r.PID > maxPID || r.Logs.Keep < 0) {
			t.Errorf("%+v", r)
		}
	})
}

func TestMarkerIn(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"A=1\x00" + MarkerEnv + "=/w\x00B=2":   "/w",
		"X" + MarkerEnv + "=/w\x00":            "",
		MarkerEnv + "=/a=b\x00":                "/a=b",
		MarkerEnv:                              "",
		"A=" + MarkerEnv + "=/w\x00C=\x00\x00": "",
	} {
		if got := markerIn([]byte(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
