package multilang

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// What monitoring shows of a task's processes, with "stormring_component_"
// before it and, for those that only grow, "_total" behind.
const (
	metricStarts  = "shell_starts"         // processes started
	metricStrays  = "shell_stray_lines"    // on standard output, but no message
	metricErrors  = "shell_stderr_lines"   // on standard error
	metricPID     = "shell_pid"            // of the process that runs; 0 if none does
	metricPending = "shell_pending_tuples" // sent to a bolt, and not known to be read
	metricSilent  = "shell_silent_seconds" // for which it owes an answer
)

// maxGauges is how many metrics of its own a task's children may have.
const maxGauges = 1000

// counters are what the goroutines of the pipes count.
type counters struct{ starts, strays, errors *storm.Counter }

// show has monitoring show the task's processes.
func (sh *shell) show(ctx *storm.TopologyContext) {
	sh.counters = counters{starts: ctx.Counter(metricStarts), strays: ctx.Counter(metricStrays), errors: ctx.Counter(metricErrors)}
	gauge := func(name string, read func(c *child) float64) {
		ctx.Gauge(name, func() float64 {
			if c := sh.current.Load(); c != nil {
				return read(c)
			}
			return 0
		})
	}
	gauge(metricPID, func(c *child) float64 { return float64(c.pid()) })
	gauge(metricSilent, func(c *child) float64 { return c.silent(time.Now()).Seconds() })
	if sh.beats {
		gauge(metricPending, func(c *child) float64 { return float64(c.out.inFlight()) })
	}
}

// silent is how long the child has owed an answer and said nothing; 0 if it
// owes none.
func (c *child) silent(now time.Time) time.Duration {
	since, owes, deaf := c.out.owes()
	if !owes || deaf && !c.babbles() {
		return 0
	}
	if heard := time.Unix(0, c.heard.Load()); heard.After(since) {
		since = heard
	}
	return max(now.Sub(since), 0)
}

// inFlight are the inputs of which nobody knows whether the child has read them.
func (o *outbox) inFlight() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.before + o.after
}

// metric shows a number that the child reports; anything else is logged.
func (t *task) metric(m *protocol.Message) {
	v, ok := asNumber(m.Value)
	if own := t.gauges[m.Name]; ok && own == nil && len(t.gauges) < maxGauges {
		own = new(atomic.Uint64)
		if t.gauges == nil {
			t.gauges = map[string]*atomic.Uint64{}
		}
		t.gauges[m.Name] = own
		t.ctx.Gauge(m.Name, func() float64 { return math.Float64frombits(own.Load()) })
	}
	if own := t.gauges[m.Name]; ok && own != nil {
		own.Store(math.Float64bits(v))
		return
	}
	t.log.Debug("a metric of a shell component", "name", m.Name, "value", m.Value.String())
}

// asNumber is a value as a number, if it is one.
func asNumber(v storm.Value) (float64, bool) {
	if n, ok := v.AsInt(); ok {
		return float64(n), true
	}
	return v.AsFloat()
}
