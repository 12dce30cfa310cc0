package worker

import (
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

func newTestLog(t *testing.T, publish func(ErrorInfo)) *errorLog {
	t.Helper()
	c, err := conf.Defaults().Topology(map[string]any{
		string(storm.ConfTopologyErrorThrottleIntervalSecs): 10,
		string(storm.ConfTopologyMaxErrorReportPerInterval): 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	return newErrorLog(c, slog.New(slog.DiscardHandler), publish)
}

// Of each task only so many errors an interval get through; the next interval
// begins afresh.
func TestErrorsAreThrottledByTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		l := newTestLog(t, func(e ErrorInfo) { got = append(got, fmt.Sprintf("%s %d %s", e.Component, e.Task, e.Text)) })
		report := func(task storm.TaskID, n int) {
			for i := range n {
				l.report("b", task, fmt.Errorf("no %d", i))
			}
		}
		report(1, 5)
		report(2, 1)
		<-time.After(11 * time.Second) // of virtual time
		report(1, 1)
		want := []string{"b 1 no 0", "b 1 no 1", "b 1 no 2", "b 2 no 0", "b 1 no 0"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("published %q, want %q", got, want)
		}
		if hidden, ok := l.admit(3, time.Now()); hidden != 0 || !ok {
			t.Errorf("a new task has %d hidden errors, admitted %t", hidden, ok)
		}
	})
}

// A failure gets through past the throttle, with the stack, and the newest
// errors of a component are kept.
func TestFailuresAreKept(t *testing.T) {
	l := newTestLog(t, nil)
	for i := range 12 {
		l.failure(&executor.TaskError{Component: "b", Task: 4, Doing: "Execute", Err: fmt.Errorf("panic: %d", i), Stack: "main.go:1"})
	}
	l.failure(&executor.TaskError{Component: "c", Task: 5, Doing: "Open", Err: errors.New("no disk")})
	all := l.all()
	if len(all["b"]) != keptErrors || len(all["c"]) != 1 {
		t.Fatalf("kept %d and %d errors", len(all["b"]), len(all["c"]))
	}
	if got, want := all["b"][9].Text, "Execute: panic: 11\nmain.go:1"; got != want {
		t.Errorf("newest is %q, want %q", got, want)
	}
	if got, want := all["c"][0].Text, "Open: no disk"; got != want {
		t.Errorf("error is %q, want %q", got, want)
	}
}

type point struct{ X, Y int }

type stranger struct{ N int }

func TestGobCodec(t *testing.T) {
	gob.Register(point{})
	enc, err := gobCodec{}.Encode([]byte("x"), point{3, -4})
	if err != nil || enc[0] != 'x' {
		t.Fatalf("encoded %q, %v", enc, err)
	}
	if x, err := (gobCodec{}).Decode(enc[1:]); err != nil || x != (point{3, -4}) {
		t.Errorf("decoded %v, %v", x, err)
	}
	b, err := gobCodec{}.Encode([]byte("x"), stranger{1})
	if err == nil || string(b) != "x" {
		t.Errorf("an unregistered type is encoded as %q, %v", b, err)
	}
	if _, err := (gobCodec{}).Decode([]byte{1, 2, 3}); err == nil {
		t.Error("garbage is decoded")
	}
}
