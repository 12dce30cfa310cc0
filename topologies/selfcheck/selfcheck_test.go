package selfcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func instance(args ...string) (*storm.Instance, error) {
	return Definition().Instance(storm.Env{Args: args})
}

func run(t *testing.T, ctx context.Context, in *storm.Instance, workers int) (string, error) {
	t.Helper()
	conf := storm.Config{}
	conf.SetNumWorkers(workers)
	top, err := local.New(local.Options{Name: "selfcheck", Instance: in, Conf: conf})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = in.Report(&out, res.Partial)
	return out.String(), err
}

func TestRun(t *testing.T) {
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			in, err := instance("--count", "3000", "--spouts", "2", "--bolts", "3")
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(t, t.Context(), in, workers)
			// 6000 tuples by shuffle, by key, three times to all, and to the end.
			want := "OK: 12000 tuples from 2 spout tasks, 36000 deliveries by shuffle, fields and all grouping and through a middle bolt: none lost, doubled or out of order\n"
			if err != nil || got != want {
				t.Errorf("%q, %v", got, err)
			}
			if p := in.Progress(); p < 0.9 || p > 1 {
				t.Errorf("progress %v", p)
			}
		})
	}
}

// tamper replaces what a bolt does with its n-th tuple.
type tamper struct {
	storm.Bolt
	n    *atomic.Int64
	with func(storm.Bolt, storm.Tuple) error
}

func (b tamper) Execute(t storm.Tuple) error {
	if b.n.Add(-1) == 0 {
		return b.with(b.Bolt, t)
	}
	return b.Bolt.Execute(t)
}

func tampered(t *testing.T, component string, with func(storm.Bolt, storm.Tuple) error) *storm.Instance {
	t.Helper()
	in, err := instance("--count", "1000", "--spouts", "1", "--bolts", "2")
	if err != nil {
		t.Fatal(err)
	}
	c := in.Topology.Components[component]
	newBolt := c.NewBolt
	var n atomic.Int64
	n.Store(500)
	c.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		return tamper{b, &n, with}, err
	}
	return in
}

func TestDoubled(t *testing.T) {
	in := tampered(t, "shuffled", func(b storm.Bolt, tp storm.Tuple) error {
		// Untracked, so that its tree stays sound.
		if err := b.Execute(storm.NewTuple(tp.Origin(), tp.Dst(), nil, tp.Values()...)); err != nil {
			return err
		}
		return b.Execute(tp)
	})
	_, err := run(t, t.Context(), in, 1)
	if err == nil || !strings.Contains(err.Error(), "2 violations") || !strings.Contains(err.Error(), "came twice") {
		t.Error(err)
	}
}

func TestLost(t *testing.T) {
	for component, where := range map[string]string{"middle": "end", "all": "all", "keyed": "keyed"} {
		t.Run(component, func(t *testing.T) {
			in := tampered(t, component, func(b storm.Bolt, tp storm.Tuple) error {
				return nil // never acked either
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			// The tree of the lost tuple would keep the run from ending.
			in.Conf.SetNumAckers(0)
			_, err := run(t, ctx, in, 1)
			if err == nil || !strings.Contains(err.Error(), "1 violations:\n  "+where+": tuple ") {
				t.Error(err)
			}
		})
	}
}

func TestReceiver(t *testing.T) {
	l := newLedger(10, 2, 1)
	b := &receiver{ledger: l}
	ctx := storm.NewTopologyContext(storm.ContextSpec{Component: keyed, Task: 9})
	if err := b.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	b.take(1, 0, 0, 0, keyOf(0, 0))
	b.take(1, 5, 0, 5, keyOf(0, 5))
	b.take(2, 5, 1, 5, keyOf(1, 5))
	if l.bad != 0 {
		t.Fatalf("violations %q", l.violations)
	}
	b.take(1, 3, 0, 3, keyOf(0, 3))
	b.take(1, 6, 0, 6, keyOf(0, 6)+1)
	b.take(1, 7, 2, 7, keyOf(2, 7))
	b.take(1, 8, 0, 10, keyOf(0, 10))
	want := []string{
		"keyed task 9: from task 1 came number 3 after 5",
		"keyed task 9: from task 1 came tuple 6 of source 0 with key 187, which nobody sent",
		"keyed task 9: from task 1 came tuple 7 of source 2 with key 231, which nobody sent",
		"keyed task 9: from task 1 came tuple 10 of source 0 with key 310, which nobody sent",
	}
	if got := strings.Join(l.violations, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

func TestLedger(t *testing.T) {
	l := newLedger(2, 1, 2)
	for task := range 8 {
		b := &receiver{ledger: l}
		component := []string{shuffled, keyed, everyone, end}[task/2]
		if err := b.Prepare(storm.NewTopologyContext(storm.ContextSpec{Component: component, Task: storm.TaskID(task + 1)})); err != nil {
			t.Fatal(err)
		}
		switch component {
		case shuffled: // both tasks get tuple 0, nobody gets 1
			b.take(20, 0, 0, 0, keyOf(0, 0))
		case keyed: // as it should be
			b.take(20, int64(task%2), 0, int64(task%2), keyOf(0, int64(task%2)))
		case everyone: // the second task misses tuple 1
			for seq := range int64(2 - task%2) {
				b.take(20, seq, 0, seq, keyOf(0, seq))
			}
		}
		b.Cleanup()
	}
	l.received[end] = l.received[end][:1]
	l.closeSpout(0, 2, 4)
	l.violation("first")
	err := l.report(io.Discard, false)
	want := `selfcheck: 5 violations:
  first
  shuffled: tuple 0 of source 0 came to 2 tasks
  shuffled: tuple 1 of source 0 came to 0 tasks, not 1
  all: tuple 1 of source 0 came to 1 tasks, not 2
  1 of 2 tasks of end came to their end`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestManyViolations(t *testing.T) {
	l := newLedger(100, 1, 1)
	for range 25 {
		l.violation("bad")
	}
	err := l.report(io.Discard, true)
	if want := "30 violations:\n" + strings.Repeat("  bad\n", 10) + "  and 20 more"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
}

// TestStopped ends a run early: what was sent by then has arrived.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, err := instance("--count", "100000000")
	if err != nil {
		t.Fatal(err)
	}
	c := in.Topology.Components["shuffled"]
	newBolt := c.NewBolt
	var n atomic.Int64
	n.Store(5000)
	c.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		return tamper{b, &n, func(b storm.Bolt, tp storm.Tuple) error {
			cancel()
			return b.Execute(tp)
		}}, err
	}
	got, err := run(t, ctx, in, 1)
	if err != nil || !strings.HasPrefix(got, "OK: ") || !strings.HasSuffix(got, "none lost, doubled or out of order\n") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"--count", "0"}, {"--spouts", "0"}, {"--bolts", "-1"}, {"stray"}} {
		if _, err := instance(args...); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
}
