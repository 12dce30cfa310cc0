package monitor

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/stormring/stormring/worker/stats"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixed is a Source that always says the same.
type fixed []Labeled

func (f fixed) Snapshots() []Labeled { return f }

// words are a spout, a bolt and a transport with numbers that are easy to
// follow.
func words() fixed {
	spout := stats.New(stats.Spec{Component: "words", Spout: true, Outputs: []string{"default"}}, t0)
	spout.Emitted(0, 100, 200)
	spout.SpoutDone(0, 80, 20)
	spout.ObserveComplete(0, time.Millisecond)
	spout.ObserveComplete(0, 3*time.Millisecond)
	s := spout.Snapshot(t0.Add(time.Minute))

	bolt := stats.New(stats.Spec{
		Component: "count",
		Outputs:   []string{"default"},
		Inputs:    []stats.Input{{Component: "words", Stream: "default"}, {Component: "__system", Stream: "__tick"}},
	}, t0)
	bolt.Emitted(0, 7, 0)
	bolt.Executed(0, 3000, 2000, 10)
	bolt.Executed(1, 5, 0, 0)
	bolt.ObserveExecute(0, 10*time.Millisecond)
	b := bolt.Snapshot(t0.Add(time.Minute))

	return fixed{
		{Topology: "wc-1", Worker: "s1:6700", Component: "words", Tasks: TaskRange(3, 3), Stats: &s,
			Values: []Value{{PendingTrees, 12}}},
		{Topology: "wc-1", Worker: "s1:6700", Component: "count", Tasks: TaskRange(1, 2), Stats: &b,
			Values: []Value{{QueueTuples, 40}, {QueueCapacityTuples, 1024}}},
		{Topology: "wc-1", Worker: "s1:6700",
			Values: []Value{{SentTuples, 9}, {SentBytes, 900}, {ReceivedTuples, 8}, {ReceivedBytes, 800}, {DroppedTuples, 1}, {Reconnects, 2}, {"peers", 3}}},
	}
}

// families are the expected text by metric name.
func families() map[string]string {
	const (
		spout = `component="words",`
		bolt  = `component="count",`
		ends  = `tasks="3-3",topology="wc-1",worker="s1:6700"`
		endb  = `tasks="1-2",topology="wc-1",worker="s1:6700"`
		none  = `{component="",tasks="",topology="wc-1",worker="s1:6700"}`
	)
	return map[string]string{
		"stormring_emitted_total": `
# HELP stormring_emitted_total Tuples emitted by the executor.
# TYPE stormring_emitted_total counter
stormring_emitted_total{` + spout + `stream="default",` + ends + `} 100
stormring_emitted_total{` + bolt + `stream="default",` + endb + `} 7
`,
		"stormring_transferred_total": `
# HELP stormring_transferred_total Copies of emitted tuples sent to tasks.
# TYPE stormring_transferred_total counter
stormring_transferred_total{` + spout + `stream="default",` + ends + `} 200
stormring_transferred_total{` + bolt + `stream="default",` + endb + `} 0
`,
		"stormring_executed_total": `
# HELP stormring_executed_total Tuples executed by the bolt.
# TYPE stormring_executed_total counter
stormring_executed_total{` + bolt + `source="words",stream="default",` + endb + `} 3000
stormring_executed_total{` + bolt + `source="__system",stream="__tick",` + endb + `} 5
`,
		"stormring_acked_total": `
# HELP stormring_acked_total Tuples acked by the bolt; without source, tuple trees of the spout that are complete.
# TYPE stormring_acked_total counter
stormring_acked_total{` + spout + `source="",stream="default",` + ends + `} 80
stormring_acked_total{` + bolt + `source="words",stream="default",` + endb + `} 2000
stormring_acked_total{` + bolt + `source="__system",stream="__tick",` + endb + `} 0
`,
		"stormring_failed_total": `
# HELP stormring_failed_total Tuples failed by the bolt; without source, tuple trees of the spout that failed or timed out.
# TYPE stormring_failed_total counter
stormring_failed_total{` + spout + `source="",stream="default",` + ends + `} 20
stormring_failed_total{` + bolt + `source="words",stream="default",` + endb + `} 10
stormring_failed_total{` + bolt + `source="__system",stream="__tick",` + endb + `} 0
`,
		// 1 ms lies in the slot that ends at 245*2^12-1 ns, 3 ms in that at 184*2^14-1.
		"stormring_complete_latency_seconds": `
# HELP stormring_complete_latency_seconds Time from the spout's emit to the completion of the tuple tree, of sampled trees; quantiles of the last ten minutes.
# TYPE stormring_complete_latency_seconds summary
stormring_complete_latency_seconds{` + spout + ends + `,quantile="0.5"} 0.001003519
stormring_complete_latency_seconds{` + spout + ends + `,quantile="0.9"} 0.003014655
stormring_complete_latency_seconds{` + spout + ends + `,quantile="0.99"} 0.003014655
stormring_complete_latency_seconds{` + spout + ends + `,quantile="0.999"} 0.003014655
stormring_complete_latency_seconds{` + spout + ends + `,quantile="1"} 0.003014655
stormring_complete_latency_seconds_sum{` + spout + ends + `} 0.004
stormring_complete_latency_seconds_count{` + spout + ends + `} 2
`,
		"stormring_execute_latency_seconds": `
# HELP stormring_execute_latency_seconds Time in the bolt's execute, of sampled tuples; quantiles of the last ten minutes.
# TYPE stormring_execute_latency_seconds summary
stormring_execute_latency_seconds{` + bolt + endb + `,quantile="0.5"} 0.010027007
stormring_execute_latency_seconds{` + bolt + endb + `,quantile="0.9"} 0.010027007
stormring_execute_latency_seconds{` + bolt + endb + `,quantile="0.99"} 0.010027007
stormring_execute_latency_seconds{` + bolt + endb + `,quantile="0.999"} 0.010027007
stormring_execute_latency_seconds{` + bolt + endb + `,quantile="1"} 0.010027007
stormring_execute_latency_seconds_sum{` + bolt + endb + `} 0.01
stormring_execute_latency_seconds_count{` + bolt + endb + `} 1
`,
		"stormring_process_latency_seconds": `
# HELP stormring_process_latency_seconds Time from receipt to ack in the bolt, of sampled tuples; quantiles of the last ten minutes.
# TYPE stormring_process_latency_seconds summary
stormring_process_latency_seconds{` + bolt + endb + `,quantile="0.5"} NaN
stormring_process_latency_seconds{` + bolt + endb + `,quantile="0.9"} NaN
stormring_process_latency_seconds{` + bolt + endb + `,quantile="0.99"} NaN
stormring_process_latency_seconds{` + bolt + endb + `,quantile="0.999"} NaN
stormring_process_latency_seconds{` + bolt + endb + `,quantile="1"} NaN
stormring_process_latency_seconds_sum{` + bolt + endb + `} 0
stormring_process_latency_seconds_count{` + bolt + endb + `} 0
`,
		"stormring_capacity_ratio": `
# HELP stormring_capacity_ratio Share of the last ten minutes that the bolt spent executing.
# TYPE stormring_capacity_ratio gauge
stormring_capacity_ratio{` + bolt + endb + `} 0.5
`,
		"stormring_uptime_seconds": `
# HELP stormring_uptime_seconds Time since the executor started.
# TYPE stormring_uptime_seconds gauge
stormring_uptime_seconds{` + spout + ends + `} 60
stormring_uptime_seconds{` + bolt + endb + `} 60
`,
		"stormring_pending_trees": `
# HELP stormring_pending_trees Tuple trees of the spout that are neither complete nor failed.
# TYPE stormring_pending_trees gauge
stormring_pending_trees{` + spout + ends + `} 12
`,
		"stormring_queue_tuples": `
# HELP stormring_queue_tuples Tuples waiting in the executor's receive queue.
# TYPE stormring_queue_tuples gauge
stormring_queue_tuples{` + bolt + endb + `} 40
`,
		"stormring_queue_capacity_tuples": `
# HELP stormring_queue_capacity_tuples Tuples that the executor's receive queue can hold.
# TYPE stormring_queue_capacity_tuples gauge
stormring_queue_capacity_tuples{` + bolt + endb + `} 1024
`,
		"stormring_transport_sent_tuples_total":     one("transport_sent_tuples_total", "counter", "Tuples sent to other workers.", none, "9"),
		"stormring_transport_sent_bytes_total":      one("transport_sent_bytes_total", "counter", "Bytes sent to other workers.", none, "900"),
		"stormring_transport_received_tuples_total": one("transport_received_tuples_total", "counter", "Tuples received from other workers.", none, "8"),
		"stormring_transport_received_bytes_total":  one("transport_received_bytes_total", "counter", "Bytes received from other workers.", none, "800"),
		"stormring_transport_dropped_tuples_total":  one("transport_dropped_tuples_total", "counter", "Tuples that could not be sent to another worker.", none, "1"),
		"stormring_transport_reconnects_total":      one("transport_reconnects_total", "counter", "Connections to other workers made anew after a loss.", none, "2"),
		"stormring_peers":                           one("peers", "gauge", "Value peers as the worker reports it.", none, "3"),
	}
}

func one(name, kind, help, labels, n string) string {
	name = "stormring_" + name
	return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + kind + "\n" + name + labels + " " + n + "\n"
}

func everything() string {
	var text strings.Builder
	for _, f := range families() {
		text.WriteString(f)
	}
	return text.String()
}

func TestCollect(t *testing.T) {
	c := NewCollector(words())
	for name, want := range families() {
		if err := testutil.CollectAndCompare(c, strings.NewReader(want), name); err != nil {
			t.Error(err)
		}
	}
	// And nothing else.
	if err := testutil.CollectAndCompare(c, strings.NewReader(everything())); err != nil {
		t.Error(err)
	}
}

func TestNamesAreAsPrometheusWants(t *testing.T) {
	problems, err := testutil.CollectAndLint(NewCollector(words()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestEmptySource(t *testing.T) {
	if n := testutil.CollectAndCount(NewCollector(fixed{})); n != 0 {
		t.Errorf("%d metrics of nothing", n)
	}
}

func TestBadValueName(t *testing.T) {
	src := fixed{{Component: "c", Values: []Value{{"a\xff", 1}}}}
	err := testutil.CollectAndCompare(NewCollector(src), strings.NewReader(""))
	if err == nil || !strings.Contains(err.Error(), `value "a\xff" of component "c"`) {
		t.Errorf("error %v", err)
	}
}

func BenchmarkCollect(b *testing.B) {
	w := words()
	var src fixed
	for i := range int32(50) {
		l := w[1]
		l.Tasks = TaskRange(i, i)
		src = append(src, l)
	}
	c := NewCollector(src)
	b.ReportAllocs()
	for b.Loop() {
		testutil.CollectAndCount(c)
	}
}

func TestComponentName(t *testing.T) {
	for _, tt := range []struct {
		name    string
		counter bool
		want    string
	}{
		{"heat", false, "component_heat"},
		{"words", true, "component_words_total"},
		{"words_total", true, "component_words_total"},
		{"words_total", false, "component_words"}, // or Prometheus took it for a counter
		{"größe.in %", false, "component_gr__e_in__"},
	} {
		if got := ComponentName(tt.name, tt.counter); got != tt.want {
			t.Errorf("%q, counter %t: got %q, want %q", tt.name, tt.counter, got, tt.want)
		}
	}
}
