package multilang

import (
	"maps"
	"strconv"
	"testing"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

func (r *rig) metrics() map[string]float64 {
	got := map[string]float64{}
	for _, m := range r.ctx.Metrics() {
		got[m.Name] = m.Value
	}
	return got
}

func TestMetricsOfAChild(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	b := r.bolt(Spec{}, "nasty.py", "measures")
	r.send(b, 1, 1, word("hot")...)
	r.until("an ack", r.acked(1))
	first := r.metrics()
	if first[metricPID] <= 1 {
		t.Errorf("the process is %v", first[metricPID])
	}
	delete(first, metricPID)
	delete(first, metricSilent)
	want := map[string]float64{metricStarts: 1, metricStrays: 1, metricErrors: 0, metricPending: 0, "heat": 3.5}
	if !maps.Equal(first, want) {
		t.Errorf("got %v, want %v", first, want)
	}
	r.send(b, 2, 1, word("die")...)
	r.until("the error", r.says("exited with code 3", "dying"))
	r.send(b, 3, 1, word("cool")...)
	r.until("another ack", r.acked(2))
	second := r.metrics()
	delete(second, metricPID)
	delete(second, metricSilent)
	want = map[string]float64{metricStarts: 2, metricStrays: 2, metricErrors: 1, metricPending: 0, "heat": 4.5}
	if !maps.Equal(second, want) {
		t.Errorf("got %v, want %v", second, want)
	}
}

func TestMetricsOfChildrenAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	defer close(r.posts)
	b := NewBolt(Spec{})
	b.ctx, b.log = r.ctx, r.ctx.Logger()
	for i := range maxGauges + 10 {
		b.metric(metricOf(i))
	}
	if n := len(r.metrics()); n != maxGauges {
		t.Errorf("%d metrics", n)
	}
	again := metricOf(3)
	again.Value = storm.Int(-7)
	b.metric(again) // what is known goes on
	if got := r.metrics(); len(got) != maxGauges || got["m3"] != -7 {
		t.Errorf("%d metrics, m3 is %v", len(got), got["m3"])
	}
}

func metricOf(i int) *protocol.Message {
	return &protocol.Message{Kind: protocol.Metrics, Name: "m" + strconv.Itoa(i), Value: storm.Int(int64(i))}
}
