package local

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
)

// truth is what must hold whatever happens, and what is known of a run. It
// lives outside the components, which come and go with their workers.
type truth struct {
	t     testing.TB
	seed  uint64
	chaos *chaos
	// ids is how many messages each spout task has.
	ids int

	mu       sync.Mutex
	sources  map[storm.TaskID]*source
	attempts []attempt // by number; the first is unused
	errors   []worker.ErrorInfo
	replays  int
}

// source is the messages of one spout task.
type source struct {
	next   int   // the first id that was never emitted
	replay []int // ids to be emitted again
	open   map[int64]bool
	acked  []int // how often, by id
}

// attempt is one emission of a message.
type attempt struct {
	task   storm.TaskID
	id     int
	leaves uint64 // bits of what is to be processed of its tree
	seen   uint64
	over   string
}

func newTruth(tb testing.TB, seed uint64, ids int, c *chaos) *truth {
	tb.Helper()
	return &truth{t: tb, seed: seed, ids: ids, chaos: c, sources: map[storm.TaskID]*source{}, attempts: make([]attempt, 1)}
}

func (tr *truth) errorf(format string, args ...any) {
	tr.t.Helper()
	tr.t.Errorf("seed %d: %s", tr.seed, fmt.Sprintf(format, args...))
}

// adopt gives a new spout task its source: what its predecessor had in flight
// is to be emitted again.
func (tr *truth) adopt(task storm.TaskID) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	s := tr.sources[task]
	if s == nil {
		s = &source{open: map[int64]bool{}, acked: make([]int, tr.ids)}
		tr.sources[task] = s
	}
	for no := range s.open {
		tr.attempts[no].over = "lost with its spout"
		s.replay = append(s.replay, tr.attempts[no].id)
	}
	clear(s.open)
}

// begin starts an attempt at the next message; ok is false if there is none.
func (tr *truth) begin(task storm.TaskID, leaves func(id int) uint64) (no int64, id int, ok bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	s := tr.sources[task]
	switch {
	case len(s.replay) > 0:
		id, s.replay = s.replay[0], s.replay[1:]
		tr.replays++
	case s.next < tr.ids:
		id = s.next
		s.next++
	default:
		return 0, 0, false
	}
	no = int64(len(tr.attempts))
	tr.attempts = append(tr.attempts, attempt{task: task, id: id, leaves: leaves(id)})
	s.open[no] = true
	return no, id, true
}

// process notes that a leaf of an attempt's tree was processed.
func (tr *truth) process(no int64, leaf int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	a := &tr.attempts[no]
	if a.leaves&(1<<leaf) == 0 {
		tr.errorf("attempt %d at message %d has no leaf %d", no, a.id, leaf)
	}
	a.seen |= 1 << leaf
}

// end is an outcome at the spout.
func (tr *truth) end(task storm.TaskID, no int64, acked bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	s, a := tr.sources[task], &tr.attempts[no]
	switch {
	case a.task != task:
		tr.errorf("task %d gets the outcome of attempt %d of task %d", task, no, a.task)
	case a.over != "":
		tr.errorf("attempt %d ends twice: %s, then acked=%v", no, a.over, acked)
	case !acked:
		a.over = "failed"
		delete(s.open, no)
		s.replay = append(s.replay, a.id)
	default:
		a.over = "acked"
		delete(s.open, no)
		s.acked[a.id]++
		if a.seen != a.leaves {
			tr.errorf("attempt %d at message %d of task %d is acked, but of leaves %b only %b were processed", no, a.id, task, a.leaves, a.seen)
		}
	}
}

// exhausted tells whether a spout task has nothing to emit; with strict, also
// nothing in flight.
func (tr *truth) exhausted(task storm.TaskID, strict bool) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	s := tr.sources[task]
	return s.next == tr.ids && len(s.replay) == 0 && (!strict || len(s.open) == 0)
}

// complete checks that every message was acked once.
func (tr *truth) complete(spoutTasks int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.sources) != spoutTasks {
		tr.errorf("%d spout tasks of %d were opened", len(tr.sources), spoutTasks)
	}
	for task, s := range tr.sources {
		for id, n := range s.acked {
			if n != 1 {
				tr.errorf("message %d of task %d was acked %d times", id, task, n)
			}
		}
		if len(s.open) != 0 {
			tr.errorf("task %d has %d attempts in flight in the end", task, len(s.open))
		}
	}
}

// onError takes what the workers report.
func (tr *truth) onError(e worker.ErrorInfo) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.errors = append(tr.errors, e)
}

// reported checks that each panic was reported with its place and stack.
func (tr *truth) reported() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, p := range tr.chaos.fired {
		if !tr.hasReport(p) {
			tr.errorf("panic %+v is not among the reported errors: %q", p, tr.errors)
		}
	}
	if len(tr.errors) != len(tr.chaos.fired) {
		tr.errorf("%d errors reported for %d panics: %q", len(tr.errors), len(tr.chaos.fired), tr.errors)
	}
}

func (tr *truth) hasReport(p firedPanic) bool {
	for _, e := range tr.errors {
		if e.Component == p.component && e.Task == p.task &&
			strings.HasPrefix(e.Text, fmt.Sprintf("%s: panic: %s\ngoroutine ", p.method, p.text)) &&
			strings.Contains(e.Text, p.frame) {
			return true
		}
	}
	return false
}

// plan is what shall go wrong.
type plan struct {
	// fail and forget are the chances of a tuple, in one of so many; 0 is
	// never.
	fail, forget int
	// panicIn are the components that panic, and panics how often they may.
	panicIn string
	panics  int
	cuts    int
	silent  bool // some cuts are silent
}

// chaos decides when it goes wrong.
type chaos struct {
	plan
	mesh *mesh // nil with one worker

	mu         sync.Mutex
	rng        *rand.Rand
	untilPanic int
	untilCut   int
	fired      []firedPanic
	failed     int
}

type firedPanic struct {
	component, method, frame, text string
	task                           storm.TaskID
}

func newChaos(p plan, m *mesh, seed uint64) *chaos {
	rng := rand.New(rand.NewPCG(seed, 7))
	return &chaos{plan: p, mesh: m, rng: rng, untilPanic: rng.IntN(100), untilCut: rng.IntN(100)}
}

func (c *chaos) oneIn(n int) bool {
	if n == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n) == 0
}

// below is a random number.
func (c *chaos) below(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rng.IntN(n)
}

// fails tells that a tuple is to be failed.
func (c *chaos) fails() bool {
	if !c.oneIn(c.fail) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed++
	return true
}

// at is called wherever user code runs. At random moments it cuts a
// connection or panics.
func (c *chaos) at(ctx *storm.TopologyContext, method, frame string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cuts > 0 && c.mesh != nil {
		if c.untilCut--; c.untilCut < 0 {
			c.untilCut = c.rng.IntN(150)
			c.cuts--
			c.mesh.cut(c.rng, c.silent && c.rng.IntN(4) == 0)
		}
	}
	if c.panics == 0 || !strings.Contains(c.panicIn, ctx.Component()) {
		return
	}
	if c.untilPanic--; c.untilPanic < 0 {
		c.untilPanic = c.rng.IntN(300)
		c.panics--
		p := firedPanic{ctx.Component(), method, frame, fmt.Sprintf("chaos %d", len(c.fired)), ctx.Task()}
		c.fired = append(c.fired, p)
		panic(p.text)
	}
}
