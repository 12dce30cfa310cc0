package multilang

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
)

// descendants is a file into which children write the ids of processes, all of
// which have to be gone in the end.
func descendants(t *testing.T) (env string, check func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pids")
	return "PIDS=" + path, func() {
		t.Helper()
		b, err := os.ReadFile(path)
		if err != nil || len(b) == 0 {
			t.Fatalf("no process was remembered: %v", err)
		}
		for pid := range strings.FieldsSeq(string(b)) {
			if !gone(pid) {
				t.Errorf("process %s is still there", pid)
			}
		}
	}
}

// gone waits a little: who is killed does not go at once.
func gone(pid string) bool {
	for range 100 {
		n, err := strconv.Atoi(pid)
		if err != nil {
			return false
		}
		if s := doing(n); s == "gone" || s == "dead" {
			return true
		}
		<-time.After(20 * time.Millisecond)
	}
	return false
}

func word(s string) []storm.Value { return []storm.Value{storm.String(s), storm.Int(1)} }

func TestKilledChildFailsItsTuplesAndIsStartedAgain(t *testing.T) {
	t.Parallel()
	env, check := descendants(t)
	r := newRig(t, nil)
	b := r.bolt(Spec{Env: []string{env}}, "nasty.py", "killed")
	r.send(b, 1, 2, word("a")...)
	r.until("two acks", r.acked(2))
	r.send(b, 3, 1, word("a")...)
	r.until("a fail", func() bool { return slices.Contains(r.settled, "fail 3") })
	r.until("the error", r.says("was ended by signal: killed", "started again in 10ms", "nasty.py killed"))
	r.send(b, 4, 2, word("a")...)
	r.until("the next child", r.acked(4))
	r.on(func() { _ = b.Cleanup() })
	check()
}

func TestHungChildIsKilled(t *testing.T) {
	t.Parallel()
	env, check := descendants(t)
	r := newRig(t, nil)
	b := r.bolt(Spec{Env: []string{env}}, "nasty.py", "spins")
	start := time.Now()
	r.send(b, 1, 5, word("a")...)
	r.until("five fails", func() bool { return r.ended["fail"] == 5 })
	if took := time.Since(start); took < time.Second || took > 10*time.Second {
		t.Errorf("it took %v to find out", took)
	}
	r.until("the error", r.says("did not answer for 1", "(it is running)", "topology.subprocess.timeout.secs"))
	r.on(func() { _ = b.Cleanup() })
	check()
}

func TestIdleChildIsNotKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{tune: func(s *settings) { s.timeout = 200 * time.Millisecond }}, "nasty.py", "plain")
	r.send(b, 1, 1, word("a")...)
	r.until("an ack", r.acked(1))
	<-time.After(700 * time.Millisecond)
	r.send(b, 2, 1, word("a")...)
	r.until("another", r.acked(2))
	if len(r.errs) > 0 {
		t.Errorf("errors %q", r.errs)
	}
}

func TestForkedDescendantsDoNotKeepTheChildAlive(t *testing.T) {
	t.Parallel()
	env, check := descendants(t)
	r := newRig(t, nil)
	b := r.bolt(Spec{Env: []string{env}}, "nasty.py", "forks")
	r.send(b, 1, 1, word("a")...)
	r.until("the error", r.says("exited with code 0", "the last of its standard error:\nthe last words"))
	if !slices.Contains(r.settled, "ack 1") {
		t.Errorf("what it said last was lost: %q", r.settled)
	}
	r.on(func() { _ = b.Cleanup() })
	check()
}

func TestMegabytesOnStandardErrorBeforeTheHandshake(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "loud")
	r.send(b, 1, 1, word("a")...)
	r.until("an ack", r.acked(1))
	if n := len(r.logs.String()); n > 200_000 || !strings.Contains(r.logs.String(), "00000 xxx") {
		t.Errorf("%d bytes were logged", n)
	}
}

// TestOutputWithoutEndOfLine runs alone, since it looks at the memory.
func TestOutputWithoutEndOfLine(t *testing.T) {
	env, check := descendants(t)
	r := newRig(t, storm.Config{string(storm.ConfMultilangMaxMessageBytes): 1 << 20, string(storm.ConfMultilangMaxRestarts): 1})
	b := r.bolt(Spec{Env: []string{env}}, "nasty.py", "endless")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r.until("the end", func() bool { return r.panicky != "" })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if !strings.Contains(r.panicky, "did not answer") || !strings.Contains(r.panicky, "started 2 times, which is all that stormring.multilang.max.restarts allows") {
		t.Errorf("it ended with %q", r.panicky)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 8<<20 {
		t.Errorf("%d bytes of memory remain", grown)
	}
	if n := b.Strays(); n == 0 || n > 4 {
		t.Errorf("%d strays were counted", n)
	}
	r.on(func() { _ = b.Cleanup() })
	check()
}

func TestLargeValues(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{tune: func(s *settings) { s.timeout = patient }}, "nasty.py", "large")
	text := strings.Repeat("ü", 150_000)
	r.send(b, 1, 20, storm.String(text), storm.Int(1))
	r.until("20 acks", r.acked(20))
	for _, e := range r.emitted {
		if !strings.Contains(e, text) {
			t.Fatalf("emitted %.100q", e)
		}
	}
}

func TestChildThatLeaves(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "leaves")
	r.send(b, 1, 3, word("a")...)
	r.until("two acks and a fail", func() bool { return slices.Equal(r.settled, []string{"ack 1", "ack 2", "fail 3"}) })
	r.until("the error", r.says("exited with code 0; it is started again"))
}

func TestChildThatStays(t *testing.T) {
	t.Parallel()
	env, check := descendants(t)
	r := newRig(t, nil)
	b := r.bolt(Spec{Env: []string{env}}, "nasty.py", "stays")
	r.send(b, 1, 1, word("a")...)
	r.until("an ack", r.acked(1))
	start := time.Now()
	r.on(func() { _ = b.Cleanup() })
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v to end it", took)
	}
	check()
}

func TestTenThousandPending(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "holds")
	r.send(b, 1, 10_000, word("a")...)
	r.until("all acks", r.acked(10_000))
	if len(r.errs) > 0 || len(b.pending) > 0 {
		t.Errorf("errors %q, %d pending", r.errs, len(b.pending))
	}
}

func TestPrintsAreLoggedAndCounted(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "prints")
	r.send(b, 1, 10, word("a")...)
	r.until("ten acks", r.acked(10))
	r.until("all strays", func() bool { return b.Strays() == 51 })
	for _, text := range []string{"a banner", "no line end", "KeyError: 'x'"} {
		if !strings.Contains(r.logs.String(), text) {
			t.Errorf("%q is not in the log", text)
		}
	}
	if len(r.errs) > 0 {
		t.Errorf("errors %q", r.errs)
	}
}

func TestStrictMakesAPrintAnError(t *testing.T) {
	t.Parallel()
	r := newRig(t, storm.Config{string(storm.ConfMultilangStrict): true, string(storm.ConfMultilangMaxRestarts): 1})
	// The child may answer the handshake before it is killed.
	if _, err := r.tryBolt(Spec{}, "nasty.py", "prints"); err != nil {
		r.ReportError(err)
	}
	r.until("the end", func() bool { return r.panicky != "" || r.says("started 2 times")() })
	if all := r.panicky + strings.Join(r.errs, ""); !strings.Contains(all, "stormring.multilang.strict is on: a banner") {
		t.Errorf("errors %s", all)
	}
}

func TestTaskIDsComeInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "asks")
	r.send(b, 1, 200, word("a")...)
	r.until("all acks", r.acked(200))
	for i, e := range r.emitted {
		if want := fmt.Sprintf("0 [a %d] <%d", i, i/3+1); e != want {
			t.Fatalf("emission %d is %q, not %q", i, e, want)
		}
	}
}

func TestTaskIDsThatAreReadLate(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "asks_late")
	r.send(b, 1, 1, word("a")...)
	r.until("an ack", r.acked(1))
	if len(r.emitted) != 20_000 {
		t.Errorf("%d were emitted", len(r.emitted))
	}
}

func TestChildThatNeverAnswers(t *testing.T) {
	t.Parallel()
	env, check := descendants(t)
	r := newRig(t, nil)
	_, err := r.tryBolt(Spec{Env: []string{env}, tune: func(s *settings) { s.start = time.Second; s.firstTries = 2 }}, "nasty.py", "mute")
	if err == nil || !strings.Contains(err.Error(), "did not answer the handshake and was silent for") || !strings.Contains(err.Error(), "started 2 times") {
		t.Errorf("Prepare: %v", err)
	}
	check()
}

func TestWhatCannotBeStarted(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		argv []string
		dir  string
		want []string
	}{
		"no interpreter": {[]string{"no-such-interpreter", "x.py"}, "", []string{`there is no program "no-such-interpreter"`, "install it"}},
		"no script":      {[]string{"no_such_script.py"}, "", []string{"exited with code 2 before it had answered the handshake", "no_such_script.py", "No such file", "started 3 times"}},
		"not executable": {[]string{plain}, "", []string{"may not be executed", "chmod +x"}},
		"no directory":   {[]string{"x.py"}, "/no/such/directory", []string{"/no/such/directory, which is no directory", "resources"}},
		"no program":     {[]string{""}, "", []string{"names no program"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil)
			_, err := r.tryBolt(Spec{Dir: tt.dir}, tt.argv...)
			for _, part := range tt.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("Prepare says %v, not %q", err, part)
				}
			}
		})
	}
}

func TestOddMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "odd")
	for i, tt := range []struct{ what, err, settled string }{
		{"nan", `stream "default" cannot be emitted, so its anchors fail: field "n": JSON has no NaN and no infinity`, "fail"},
		{"stream", `stream "nowhere" cannot be emitted`, "fail"},
		{"arity", "wrong number of values", "fail"},
		{"ack", `ack of "999", which is the id of no input`, "ack"},
		{"command", `unknown command "fly"`, "ack"},
		{"syntax", `{"command": "emit", oops}`, "ack"},
	} {
		r.send(b, i+1, 1, word(tt.what)...)
		r.until(tt.what, r.says(strings.ReplaceAll(tt.err, `ack of "999"`, "ack of ")))
		r.until(tt.settled, func() bool { return slices.Contains(r.settled, fmt.Sprintf("%s %d", tt.settled, i+1)) })
	}
	if n := len(r.settled); n != 6 {
		t.Errorf("%q", r.settled)
	}
}

func TestValueThatCannotBeSentFailsItsTuple(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "plain")
	r.send(b, 1, 1, storm.String("a\xff"), storm.Int(1))
	r.until("a fail", func() bool { return slices.Equal(r.settled, []string{"fail 1"}) })
	r.until("the error", r.says(`from component "in", stream "default"`, `field "word"`, "not UTF-8"))
	r.send(b, 2, 1, word("a")...)
	r.until("an ack", r.acked(1))
}

func TestLogErrorMetricsDirectAndFail(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	var metrics []string
	b := r.bolt(Spec{OnMetric: func(name string, v storm.Value) { r.note(func() { metrics = append(metrics, name+v.String()) }) }}, "nasty.py", "says")
	r.send(b, 1, 1, word("a")...)
	r.until("a fail", func() bool { return slices.Equal(r.settled, []string{"fail 1"}) })
	if !slices.Equal(r.emitted, []string{"to 3: 1 [5] <"}) || !slices.Equal(metrics, []string{"m[1 2.5]"}) {
		t.Errorf("emitted %q, metrics %q", r.emitted, metrics)
	}
	if !slices.Equal(r.errs, []string{"the child reports: it is 😀"}) {
		t.Errorf("errors %q", r.errs)
	}
	if !strings.Contains(r.logs.String(), "level=WARN msg=héllo") {
		t.Errorf("log:\n%s", r.logs.String())
	}
}

func TestStateOutlivesTheChild(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "state")
	r.send(b, 1, 2, word("a")...)
	r.until("two acks", r.acked(2))
	var got []error
	r.on(func() {
		b.Checkpoint("prepare", 7, func(err error) { r.note(func() { got = append(got, err) }) })
	})
	r.until("the checkpoint", func() bool { return len(got) == 1 && got[0] == nil })
	r.send(b, 3, 1, word("die")...)
	r.until("the error", r.says("exited with code 3"))
	r.send(b, 4, 1, word("a")...)
	r.until("another ack", r.acked(3))
	if want := []string{"0 [a 1] <1", "0 [a 2] <2", "0 [a 3] <4"}; !slices.Equal(r.emitted, want) {
		t.Errorf("emitted %q", r.emitted)
	}
}

func TestCheckpointOfAChildWithoutState(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "plain")
	r.on(func() {
		b.Checkpoint("prepare", 1, func(err error) {
			if !errors.Is(err, errNoState) {
				t.Errorf("got %v", err)
			}
		})
	})
}
