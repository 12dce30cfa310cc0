package storm_test

import (
	"slices"
	"testing"

	"github.com/stormring/stormring/storm"
)

func TestMetrics(t *testing.T) {
	ctx := storm.NewTopologyContext(storm.ContextSpec{})
	if got := ctx.Metrics(); got != nil {
		t.Errorf("a task without metrics has %v", got)
	}
	ctx.Counter("words").Add(2)
	ctx.Counter("words").Add(3)
	ctx.Counter("words").Add(-1)
	ctx.Counter("lines")
	ctx.Gauge("heat", func() float64 { return 1 })
	ctx.Gauge("heat", func() float64 { return 2.5 })
	want := []storm.Metric{
		{Name: "lines", Value: 0, Counter: true}, {Name: "words", Value: 5, Counter: true}, {Name: "heat", Value: 2.5},
	}
	if got := ctx.Metrics(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
