package throughput

import (
	"strings"
	"testing"
	"time"
)

func report(t *testing.T, m *Meter) string {
	t.Helper()
	var out strings.Builder
	if err := m.Report(&out, false); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReport(t *testing.T) {
	m := &Meter{}
	if got, want := report(t, m), "tuples  0\ntime    0.000 s\nrate    0 tuples/s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	start := time.Now()
	m.add(1, start)
	m.add(2000, start.Add(time.Second))
	m.add(2999, start.Add(2500*time.Millisecond))
	if got, want := report(t, m), "tuples  5000\ntime    2.500 s\nrate    2000 tuples/s\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGauge(t *testing.T) {
	m := &Meter{}
	g := m.Gauge()
	for i, want := range map[int]int64{1: 1, 2: 1, gaugeStep: 1, gaugeStep + 1: gaugeStep + 1} {
		m := &Meter{}
		g := m.Gauge()
		for range i {
			g.Count()
		}
		if n := m.Count(); n != want {
			t.Errorf("%d counted: the meter has %d, want %d", i, n, want)
		}
	}
	g.Flush()
	if n := m.Count(); n != 0 {
		t.Errorf("nothing counted: %d", n)
	}
}
