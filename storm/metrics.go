package storm

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Counter is a number of a task's that only grows. It is safe for use from all
// goroutines.
type Counter struct{ n atomic.Int64 }

// Add adds to the counter. Nothing is added if by is negative.
func (c *Counter) Add(by int64) {
	if by > 0 {
		c.n.Add(by)
	}
}

// Value is what was added so far.
func (c *Counter) Value() int64 { return c.n.Load() }

// Metric is a number of a task's at some moment.
type Metric struct {
	Name  string
	Value float64
	// Counter tells that it only grows.
	Counter bool
}

// metrics are the numbers that a task shows beside those that the runtime
// counts.
type metrics struct {
	mu       sync.Mutex
	counters map[string]*Counter
	gauges   map[string]func() float64
}

// Counter is the task's counter of that name, which is made if there is none.
// Monitoring shows it as stormring_component_NAME_total.
func (c *TopologyContext) Counter(name string) *Counter {
	c.metrics.mu.Lock()
	defer c.metrics.mu.Unlock()
	if c.metrics.counters == nil {
		c.metrics.counters = map[string]*Counter{}
	}
	n := c.metrics.counters[name]
	if n == nil {
		n = &Counter{}
		c.metrics.counters[name] = n
	}
	return n
}

// Gauge has monitoring show what read returns as stormring_component_NAME, from
// now on and instead of an earlier gauge of that name. read is called from any
// goroutine and should not block.
func (c *TopologyContext) Gauge(name string, read func() float64) {
	c.metrics.mu.Lock()
	defer c.metrics.mu.Unlock()
	if c.metrics.gauges == nil {
		c.metrics.gauges = map[string]func() float64{}
	}
	c.metrics.gauges[name] = read
}

// Metrics are the values of the task's counters and gauges, each kind by name.
func (c *TopologyContext) Metrics() []Metric {
	c.metrics.mu.Lock()
	counters, gauges := maps.Clone(c.metrics.counters), maps.Clone(c.metrics.gauges)
	c.metrics.mu.Unlock()
	var out []Metric
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		out = append(out, Metric{Name: name, Value: float64(counters[name].Value()), Counter: true})
	}
	for _, name := range slices.Sorted(maps.Keys(gauges)) {
		out = append(out, Metric{Name: name, Value: gauges[name]()})
	}
	return out
}
