package monitor

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/stormring/stormring/worker/stats"
)

const namespace = "stormring_"

// TaskRange is the form of an executor's task range in Labeled: "3-5".
func TaskRange(first, last int32) string {
	return strconv.Itoa(int(first)) + "-" + strconv.Itoa(int(last))
}

// Collector reads its Source at each scrape and keeps nothing in between, so
// that what is gone, as an executor after a rebalance, is gone from the
// metrics too.
type Collector struct {
	src Source

	emitted, transferred, executed, acked, failed *prometheus.Desc
	execute, process, complete                    *prometheus.Desc
	capacity, uptime                              *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector makes a Collector of src's numbers.
func NewCollector(src Source) *Collector {
	about := labels()
	output := append(labels(), "stream")
	input := append(labels(), "source", "stream")
	desc := func(name, help string, labels []string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+name, help, labels, nil)
	}
	return &Collector{
		src:         src,
		emitted:     desc("emitted_total", "Tuples emitted by the executor.", output),
		transferred: desc("transferred_total", "Copies of emitted tuples sent to tasks.", output),
		executed:    desc("executed_total", "Tuples executed by the bolt.", input),
		acked:       desc("acked_total", "Tuples acked by the bolt; without source, tuple trees of the spout that are complete.", input),
		failed:      desc("failed_total", "Tuples failed by the bolt; without source, tuple trees of the spout that failed or timed out.", input),
		execute:     desc("execute_latency_seconds", "Time in the bolt's execute, of sampled tuples; quantiles of the last ten minutes.", about),
		process:     desc("process_latency_seconds", "Time from receipt to ack in the bolt, of sampled tuples; quantiles of the last ten minutes.", about),
		complete:    desc("complete_latency_seconds", "Time from the spout's emit to the completion of the tuple tree, of sampled trees; quantiles of the last ten minutes.", about),
		capacity:    desc("capacity_ratio", "Share of the last ten minutes that the bolt spent executing.", about),
		uptime:      desc("uptime_seconds", "Time since the executor started.", about),
	}
}

// labels are the labels of every metric, in the order of Labeled.values.
func labels() []string { return []string{"topology", "worker", "component", "tasks"} }

func (l *Labeled) values(more ...string) []string {
	return append([]string{l.Topology, l.Worker, l.Component, l.Tasks}, more...)
}

// Describe announces nothing, since only the Source knows what it will count.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the Source's numbers of this moment.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, l := range c.src.Snapshots() {
		if l.Stats != nil {
			c.collectStats(out, &l)
		}
		for _, v := range l.Values {
			out <- value(&l, v)
		}
	}
}

func (c *Collector) collectStats(out chan<- prometheus.Metric, l *Labeled) {
	s := l.Stats
	all := s.Windows[stats.AllTime]
	for stream, o := range all.Outputs {
		out <- counter(c.emitted, o.Emitted, l.values(stream))
		out <- counter(c.transferred, o.Transferred, l.values(stream))
		if s.Spout {
			out <- counter(c.acked, o.Acked, l.values("", stream))
			out <- counter(c.failed, o.Failed, l.values("", stream))
		}
	}
	for in, r := range all.Inputs {
		out <- counter(c.executed, r.Executed, l.values(in.Component, in.Stream))
		out <- counter(c.acked, r.Acked, l.values(in.Component, in.Stream))
		out <- counter(c.failed, r.Failed, l.values(in.Component, in.Stream))
	}
	out <- prometheus.MustNewConstMetric(c.uptime, prometheus.GaugeValue, s.Uptime.Seconds(), l.values()...)
	sums := all.Totals(true)
	if s.Spout {
		out <- summary(c.complete, sums.Complete, s.Complete, l.values())
		return
	}
	out <- prometheus.MustNewConstMetric(c.capacity, prometheus.GaugeValue, s.Capacity, l.values()...)
	out <- summary(c.execute, sums.Execute, s.Execute, l.values())
	out <- summary(c.process, sums.Process, s.Process, l.values())
}

// counter panics, as summary does, if labels are not those of desc: both are
// in this file.
func counter(desc *prometheus.Desc, n uint64, labels []string) prometheus.Metric {
	return prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), labels...)
}

// summary has the sum and number of all samples, as Prometheus computes rates
// from them, but quantiles of the latest only.
func summary(desc *prometheus.Desc, all stats.Latency, latest *stats.Distribution, labels []string) prometheus.Metric {
	p := latest.Percentiles()
	quantiles := map[float64]float64{
		0.5: p.P50.Seconds(), 0.9: p.P90.Seconds(), 0.99: p.P99.Seconds(), 0.999: p.P999.Seconds(), 1: p.Max.Seconds(),
	}
	if latest.Samples() == 0 {
		for q := range quantiles {
			quantiles[q] = math.NaN()
		}
	}
	return prometheus.MustNewConstSummary(desc, all.Samples, all.Sum.Seconds(), quantiles, labels...)
}

// value is v as a metric, or as an error of the scrape if it has a name that
// Prometheus does not accept.
func value(l *Labeled, v Value) prometheus.Metric {
	kind := prometheus.GaugeValue
	if strings.HasSuffix(v.Name, "_total") {
		kind = prometheus.CounterValue
	}
	desc := prometheus.NewDesc(namespace+v.Name, help(v.Name), labels(), nil)
	m, err := prometheus.NewConstMetric(desc, kind, v.Value, l.values()...)
	if err != nil {
		err = fmt.Errorf("monitor: value %q of component %q: %w", v.Name, l.Component, err)
		return prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
	}
	return m
}
