package throughput

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// gaugeStep is how many tuples a gauge counts between two looks at the clock.
const gaugeStep = 1024

// slowStep is the same where tuples are few.
const slowStep = 16

// Meter counts the tuples of all tasks and the time from the first to the
// last. The zero Meter is ready; it may be used from any goroutine.
type Meter struct {
	journal string // a folder; "" is none
	slow    bool   // tuples are few

	mu    sync.Mutex
	n     int64
	begun bool
	first time.Time
	last  time.Time
}

// Gauge counts for one task.
type Gauge struct {
	m    *Meter
	n    int64
	next int64 // how many to count until the next flush; the first goes at once
	step int64

	journal *Journal // nil if there is none
	total   int64    // that the journal knows
	err     error
}

// Slow says that tuples are few, so that each task can look at the clock more often.
func (m *Meter) Slow() { m.slow = true }

// Gauge makes the gauge of a task, which must Close it at its end. Err tells
// whether it can be used.
func (m *Meter) Gauge() Gauge {
	g := Gauge{m: m, step: gaugeStep}
	if m.slow {
		g.step = slowStep
	}
	if m.journal != "" {
		g.journal, g.err = OpenJournal(m.journal, Counts)
	}
	return g
}

// Err is what went wrong when the gauge was made.
func (g *Gauge) Err() error { return g.err }

// Count counts one tuple.
func (g *Gauge) Count() {
	g.n++
	if g.n >= g.next {
		g.Flush()
		g.next = g.step
	}
}

// Flush adds what has been counted to the meter.
func (g *Gauge) Flush() {
	if g.n > 0 {
		g.m.add(g.n, time.Now())
		g.total += g.n
		g.n = 0
		g.journal.Tell(g.total)
	}
}

// Close flushes the gauge and ends its journal.
func (g *Gauge) Close() error {
	g.Flush()
	return g.journal.Close()
}

func (m *Meter) add(n int64, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n += n
	if !m.begun {
		m.first, m.begun = now, true
	}
	m.last = now
}

// Count is the number of tuples that have been flushed to the meter.
func (m *Meter) Count() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

// Report writes tuples, time and rate, as storm.Instance wants it.
func (m *Meter) Report(w io.Writer, _ bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	took := m.last.Sub(m.first)
	rate := 0.0
	if took > 0 {
		rate = float64(m.n) / took.Seconds()
	}
	_, err := fmt.Fprintf(w, "tuples  %d\ntime    %.3f s\nrate    %.0f tuples/s\n", m.n, took.Seconds(), rate)
	return err
}
