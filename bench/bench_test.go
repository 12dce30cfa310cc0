package bench

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const short = 30 * time.Millisecond

// sane checks what holds on every machine.
func (r Result) sane(t *testing.T) {
	t.Helper()
	if r.TuplesPerSec < 1 || r.CPUNanos <= 0 || r.AllocsPerTuple < 0 || r.BytesPerTuple < 0 || r.ResidentBytes < 1<<20 || r.OtherCPU < 0 || r.OtherCPU > 1 {
		t.Errorf("%s: %+v", r.Scenario, r)
	}
}

func TestScenarios(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			report, err := Run(t.Context(), []Scenario{s}, Options{Time: short, WarmUp: short, Runs: 1})
			if err != nil {
				t.Fatal(err)
			}
			r := report.Results[0]
			r.sane(t)
			if r.Scenario != s.Name || r.Rate != s.shape.rate || r.RawTuplesPerSec != 0 || r.Ratio != 0 {
				t.Errorf("%+v", r)
			}
			measured := r.P50Nanos > 0 && r.P50Nanos <= r.P99Nanos && r.P99Nanos <= r.MaxNanos
			if none := r.MaxNanos == 0; measured != strings.HasPrefix(s.Name, "latency") || none == measured {
				t.Errorf("latency %d, %d, %d", r.P50Nanos, r.P99Nanos, r.MaxNanos)
			}
		})
	}
}

// TestRate: the latency scenarios get as many tuples as were asked for, not as
// many as there can be.
func TestRate(t *testing.T) {
	s := scenario(t, "latency")
	report, err := Run(t.Context(), []Scenario{s}, Options{Time: 100 * time.Millisecond, WarmUp: short, Runs: 1, Rate: 5000})
	if err != nil {
		t.Fatal(err)
	}
	// A machine that has other things to do may fall short of it, and then
	// catches up.
	if r := report.Results[0]; r.Rate != 5000 || r.TuplesPerSec > 20_000 {
		t.Errorf("%+v", r)
	}
	if s.shape.rate != 1000 {
		t.Errorf("the scenario's own rate has become %d", s.shape.rate)
	}
}

func scenario(tb testing.TB, name string) Scenario {
	tb.Helper()
	all := Scenarios()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		tb.Fatalf("no scenario %q", name)
	}
	return all[i]
}

// TestFloor: the floor is measured where there is one, moves tuples and stops
// without leaving anything behind.
func TestFloor(t *testing.T) {
	for name, has := range map[string]bool{"acked": true, "unacked": true, "any": true, "acked2": false, "tcp": false, "latency": false} {
		report, err := Run(t.Context(), []Scenario{scenario(t, name)}, Options{Time: short, Runs: 1, Raw: true})
		if err != nil {
			t.Fatal(err)
		}
		r := report.Results[0]
		if r.sane(t); has != (r.RawTuplesPerSec > 1 && r.RawCPUNanos > 0 && r.Ratio > 0) || has == (r.RawTuplesPerSec == 0) {
			t.Errorf("%+v", r)
		}
		goleak.VerifyNone(t)
	}
}

// TestFloorStops: at any moment, in the first one too.
func TestFloorStops(t *testing.T) {
	for name, floor := range map[string]func(context.Context, *meter){"acked": rawAcked, "unacked": rawUnacked} {
		for _, after := range []time.Duration{0, time.Microsecond, 100 * time.Microsecond, 5 * time.Millisecond} {
			ctx, stop := context.WithTimeout(t.Context(), after)
			floor(ctx, &meter{})
			if ctx.Err() == nil {
				t.Errorf("%s came back before it was stopped", name)
			}
			stop()
			goleak.VerifyNone(t)
		}
	}
}

func TestBegin(t *testing.T) {
	type begun struct {
		scenario string
		run      int
	}
	var got []begun
	report, err := Run(t.Context(), []Scenario{scenario(t, "acked"), scenario(t, "unacked")}, Options{
		Time: short, Runs: 2, Conf: storm.Config{"my.key": 1},
		Begin: func(scenario string, run int) { got = append(got, begun{scenario, run}) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []begun{{"acked", 0}, {"acked", 1}, {"unacked", 0}, {"unacked", 1}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	text, err := json.Marshal(report.Settings)
	if want := `{"seconds_per_run":0.03,"warm_up_seconds":0,"runs":2,"max_spout_pending":20000,"conf":{"my.key":1}}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v", text, err)
	}
}

// TestInterrupted: the report has what was finished.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	report, err := Run(ctx, []Scenario{scenario(t, "unacked"), scenario(t, "acked"), scenario(t, "tcp")}, Options{
		Time: short, Begin: func(scenario string, _ int) {
			if scenario == "acked" {
				interrupt()
			}
		},
	})
	if !errors.Is(err, context.Canceled) || len(report.Results) != 1 || report.Results[0].Scenario != "unacked" {
		t.Errorf("%+v, %v", report.Results, err)
	}
}

func TestWrongConf(t *testing.T) {
	_, err := Run(t.Context(), Scenarios()[:1], Options{Time: short, Conf: storm.Config{"topology.workers": "x"}})
	if err == nil || !strings.HasPrefix(err.Error(), `scenario "acked": topology "bench-acked": `) {
		t.Errorf("got %v", err)
	}
}

// TestAwait: a run lasts until something has moved, but not for ever.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, start := &meter{}, time.Now()
		m.count.Store(3)
		if err := m.await(t.Context(), time.Second, 2); err != nil || time.Since(start) != time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		start = time.Now()
		time.AfterFunc(2*time.Second+time.Microsecond, func() { m.count.Store(4) })
		if err := m.await(t.Context(), time.Second, 3); err != nil || time.Since(start) != 2001*time.Millisecond {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if err := m.await(t.Context(), time.Second, 4); !errors.Is(err, errStuck) {
			t.Errorf("got %v", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
		defer stop()
		if err := m.await(ctx, time.Second, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestMedian(t *testing.T) {
	runs := []Result{{TuplesPerSec: 4, P50Nanos: 1}, {TuplesPerSec: 1, P50Nanos: 9}, {TuplesPerSec: 2, P50Nanos: 4}}
	if got := median(runs); got.TuplesPerSec != 2 || got.P50Nanos != 4 {
		t.Errorf("of three: %+v", got)
	}
	if got := median(runs[:2]); got.TuplesPerSec != 2.5 || got.P50Nanos != 5 {
		t.Errorf("of two: %+v", got)
	}
	if got := median(runs[:1]); got != runs[0] {
		t.Errorf("of one: %+v", got)
	}
}

func TestMachine(t *testing.T) {
	m := ReadMachine()
	if m.CPU == "" || m.Cores < 1 || m.OS == "" || !strings.HasPrefix(m.Go, "go") || m.GOGC == 0 {
		t.Errorf("%+v", m)
	}
	if got := firstField("/no/such/file", "x"); got != "" {
		t.Errorf("got %q", got)
	}
}

// BenchmarkScenario measures each scenario for a moment. An operation is a
// whole run; what counts are the figures per tuple.
func BenchmarkScenario(b *testing.B) {
	for _, s := range Scenarios() {
		b.Run(s.Name, func(b *testing.B) {
			var last Result
			for b.Loop() {
				report, err := Run(b.Context(), []Scenario{s}, Options{Time: 200 * time.Millisecond, WarmUp: 50 * time.Millisecond, Runs: 1})
				if err != nil {
					b.Fatal(err)
				}
				last = report.Results[0]
			}
			b.ReportMetric(last.TuplesPerSec/1e6, "Mtuples/s")
			b.ReportMetric(last.CPUNanos, "cpu-ns/tuple")
			b.ReportMetric(last.AllocsPerTuple, "allocs/tuple")
			if last.MaxNanos > 0 {
				b.ReportMetric(float64(last.P50Nanos), "p50-ns")
				b.ReportMetric(float64(last.P99Nanos), "p99-ns")
			}
		})
	}
}
