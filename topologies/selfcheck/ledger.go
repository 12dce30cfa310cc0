package selfcheck

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stormring/stormring/storm"
)

const (
	// shownViolations is how many violations are listed.
	shownViolations = 10
	// progressStep is how many tuples a spout sends between two reports of
	// its progress.
	progressStep = 256
)

// ledger is what the tasks of one run share.
type ledger struct {
	count   int // tuples of each spout task and stream
	sources int // spout tasks
	bolts   int // tasks of each bolt
	sent    atomic.Int64

	mu         sync.Mutex
	violations []string // the first ones
	bad        int      // all of them
	begun      map[storm.TaskID]bool
	spouts     int
	emitted    []int                  // on each stream, by rank of the spout task
	acked      int                    // trees
	received   map[string][]*receiver // by component
}

func newLedger(count, sources, bolts int) *ledger {
	return &ledger{
		count: count, sources: sources, bolts: bolts, begun: map[storm.TaskID]bool{},
		emitted: make([]int, sources), received: map[string][]*receiver{},
	}
}

func (l *ledger) progress() float64 {
	return min(1, float64(l.sent.Load())/float64(l.count)/float64(l.sources))
}

func (l *ledger) violation(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(format, args...)
}

// note is violation for callers that hold mu.
func (l *ledger) note(format string, args ...any) {
	l.bad++
	if len(l.violations) < shownViolations {
		l.violations = append(l.violations, fmt.Sprintf(format, args...))
	}
}

// enter notes that a task begins.
func (l *ledger) enter(component string, task storm.TaskID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun[task] {
		l.note("%s task %d began a second time; its worker must have failed", component, task)
	}
	l.begun[task] = true
}

// handOver takes what a receiver has seen; the receiver is used no more.
func (l *ledger) handOver(b *receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.received[b.component] = append(l.received[b.component], b)
}

func (l *ledger) closeSpout(source int64, emitted, acked int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spouts++
	l.emitted[source] += emitted
	l.acked += acked
}

// report says OK, or returns an error that lists what went wrong. Of a partial
// run losses are checked if all that was sent is acked.
func (l *ledger) report(w io.Writer, partial bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	total := 0
	for _, n := range l.emitted {
		total += 2 * n
	}
	settled := l.acked == total
	var deliveries int64
	for _, component := range []string{shuffled, keyed, everyone, end} {
		for _, b := range l.received[component] {
			deliveries += b.got
		}
		l.checkComponent(component, settled)
	}
	if l.spouts != l.sources {
		l.note("%d of %d spout tasks came to their end", l.spouts, l.sources)
	}
	if want := 2 * l.count * l.sources; !partial && (total != want || l.acked != want) {
		l.note("the spouts sent %d tuples and %d were acked, not %d", total, l.acked, want)
	}
	if l.bad > 0 {
		more := ""
		if l.bad > len(l.violations) {
			more = fmt.Sprintf("\n  and %d more", l.bad-len(l.violations))
		}
		return fmt.Errorf("selfcheck: %d violations:\n  %s%s", l.bad, strings.Join(l.violations, "\n  "), more)
	}
	what := "none lost, doubled or out of order"
	if !settled {
		what = "none doubled or out of order; some were still under way when the run was stopped"
	}
	_, err := fmt.Fprintf(w, "OK: %d tuples from %d spout tasks, %d deliveries by shuffle, fields and all grouping and through a middle bolt: %s\n",
		total, l.sources, deliveries, what)
	return err
}

// checkComponent looks at the tasks of one component together.
func (l *ledger) checkComponent(component string, settled bool) {
	tasks := l.received[component]
	if len(tasks) != l.bolts {
		l.note("%d of %d tasks of %s came to their end", len(tasks), l.bolts, component)
		return
	}
	if component == keyed || component == end {
		l.checkKeys(component)
	}
	for source := range l.sources {
		for seq := range l.emitted[source] {
			n := 0
			for _, b := range tasks {
				if b.seen[source].has(seq) {
					n++
				}
			}
			l.checkCopies(component, source, seq, n, settled)
		}
	}
}

// checkCopies judges how many tasks of a component got a tuple.
func (l *ledger) checkCopies(component string, source, seq, n int, settled bool) {
	want := 1
	if component == everyone {
		want = l.bolts
	}
	switch {
	case n > want:
		l.note("%s: tuple %d of source %d came to %d tasks", component, seq, source, n)
	case n < want && settled:
		l.note("%s: tuple %d of source %d came to %d tasks, not %d", component, seq, source, n, want)
	}
}

// checkKeys has each key belong to one task.
func (l *ledger) checkKeys(component string) {
	for key := range keys {
		n := 0
		for _, b := range l.received[component] {
			if b.keys[key] {
				n++
			}
		}
		if n > 1 {
			l.note("%s: key %d came to %d tasks; fields grouping sends it to one", component, key, n)
		}
	}
}
