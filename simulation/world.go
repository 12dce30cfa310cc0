package simulation

import (
	"fmt"
	"math/rand/v2"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
)

// Config says what a world is like. Rates are in thousandths.
type Config struct {
	Seed uint64
	// Steps is how many steps there are before faults stop.
	Steps int
	// Messages is how many messages each spout task has to emit.
	Messages int

	// What users do to a tuple instead of acking it at once.
	Fail, Forget, Hold, Reset int
	// What happens to the world in a step: a worker dies and is started anew,
	// or a link is cut.
	Crash, Cut int
	// Lose is how many of the messages between workers get lost on the way
	// though both ends live. The transport promises that none does; acking is
	// to be safe without that promise.
	Lose int

	// EdgesAtOnce has bolts tell the acker of a child when it is emitted and
	// not when its parent is acked. That is unsafe if messages are lost; it
	// shows that the checks find it.
	EdgesAtOnce bool
}

// World is one run. Make it with New.
type World struct {
	cfg    Config
	rng    *rand.Rand
	layout *layout.Layout
	// timeout is the message time-out, in ticks.
	timeout int
	now     int
	steps   int
	calm    bool // faults have stopped
	// announce has spouts announce all trees, and not leave those with a
	// single first tuple to the ack of that tuple. Every other world does.
	announce bool

	processes []*process
	tasks     []*task // by id; the first is nil
	spouts    []*task
	bolts     []*task
	ackers    []*task
	net       network
	truth     truth

	trace func(string)
	err   error
	// Counts tells what happened, to judge whether it was enough.
	Counts Counts
}

// Counts are numbers of events of a run.
type Counts struct {
	Emitted, Acked, Failed, TimedOut, Crashes, Cuts, Lost, Joins, Resets int
}

// process is a worker. It is started anew as soon as it dies.
type process struct {
	index int
	lives int
	phase int // when in a time-out its tables are rotated
	tasks []*task
}

// task is one task; exactly one of the parts is there.
type task struct {
	id        storm.TaskID
	component string
	home      *process
	streams   []stream // by index
	queues    []*queue // to other tasks, by id; made when needed

	spout *spoutPart
	bolt  *boltPart
	acker *ackerPart
}

// New makes a world. The error is one of the topology, which is our own.
func New(cfg Config) (*World, error) {
	w := &World{cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x73746f726d)), announce: cfg.Seed%2 == 0}
	w.timeout = 2 + w.rng.IntN(20)
	w.truth.trees = map[track.Root]*tree{}
	if err := w.build(); err != nil {
		return nil, fmt.Errorf("seed %d: %w", cfg.Seed, err)
	}
	return w, nil
}

// Trace has f called with a line for each event from now on.
func (w *World) Trace(f func(line string)) { w.trace = f }

func (w *World) note(format string, args ...any) {
	if w.trace != nil {
		w.trace(fmt.Sprintf("%5d %4d  %s", w.steps, w.now, fmt.Sprintf(format, args...)))
	}
}

// broken notes that something that must hold does not; the first counts.
func (w *World) broken(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("seed %d, step %d, time %d: %s", w.cfg.Seed, w.steps, w.now, fmt.Sprintf(format, args...))
	}
	w.note("BROKEN: "+format, args...)
}

// chance is true in so many of a thousand cases.
func (w *World) chance(thousandths int) bool { return w.rng.IntN(1000) < thousandths }

// fault is chance, until faults stop.
func (w *World) fault(thousandths int) bool { return !w.calm && w.chance(thousandths) }

// Run runs the world to its end. The error tells what did not hold.
func (w *World) Run() error {
	for range w.cfg.Steps {
		if w.step(); w.err != nil {
			return w.err
		}
	}
	w.heal()
	// More than enough: each message needs a few dozen steps, and a time-out
	// now and then.
	for patience := 1000 * (1 + w.cfg.Messages) * len(w.spouts); !w.truth.complete(); patience-- {
		if w.step(); w.err != nil {
			return w.err
		}
		if patience == 0 {
			w.broken("not every message is acked though faults have stopped: %s", w.truth.missing())
			return w.err
		}
	}
	w.settleAll()
	w.checkEmpty()
	return w.err
}

// step does one thing.
func (w *World) step() {
	w.steps++
	switch {
	case w.fault(w.cfg.Crash):
		w.crash(w.processes[w.rng.IntN(len(w.processes))])
		return
	case w.fault(w.cfg.Cut):
		w.cut()
		return
	}
	switch n := w.rng.IntN(100); {
	case n < 12:
		w.next(w.spouts[w.rng.IntN(len(w.spouts))])
	case n < 85:
		w.deliver()
	case n < 95:
		w.settleHeld(w.bolts[w.rng.IntN(len(w.bolts))])
	case n < 98:
		w.restore()
	case !w.calm || w.idle():
		w.tick()
	}
}

// idle tells that nothing is under way. Once faults have stopped only then does
// time pass, or a world that is busy enough would time out for ever.
func (w *World) idle() bool { return len(w.net.busy) == 0 && !w.anyHeld() }

// tick lets time pass. Each worker rotates its tables once a time-out, each
// when it likes.
func (w *World) tick() {
	w.now++
	w.note("tick")
	for _, p := range w.processes {
		if (w.now-p.phase)%w.timeout != 0 {
			continue
		}
		for _, t := range p.tasks {
			switch {
			case t.spout != nil:
				w.rotateSpout(t)
			case t.bolt != nil:
				w.rotateBolt(t)
			default:
				t.acker.ledger.Rotate()
			}
		}
	}
	w.checkAges()
}

// crash kills a worker and starts it anew: its tables, and what its tasks
// held, are gone.
func (w *World) crash(p *process) {
	w.Counts.Crashes++
	w.note("worker %d dies", p.index)
	w.net.crash(w, p)
	for _, t := range p.tasks {
		if t.spout != nil {
			w.loseSpout(t)
		}
	}
	w.startProcess(p)
}

// startProcess gives a worker's tasks what they have when they are new.
func (w *World) startProcess(p *process) {
	p.lives++
	p.phase = w.rng.IntN(w.timeout)
	for _, t := range p.tasks {
		if err := w.startTask(t); err != nil {
			w.broken("%v", err)
		}
	}
}

// heal stops all faults.
func (w *World) heal() {
	w.note("faults stop")
	w.calm = true
	for _, l := range w.net.links {
		w.net.join(w, l)
	}
}

// settleAll lets everything under way arrive and time pass until nothing can
// be left.
func (w *World) settleAll() {
	for range 8 * w.timeout {
		for w.err == nil && !w.idle() {
			w.steps++
			w.deliver()
			for _, t := range w.bolts {
				w.settleHeld(t)
			}
		}
		w.tick()
	}
}

func (w *World) anyHeld() bool {
	for _, t := range w.bolts {
		if len(t.bolt.held) > 0 {
			return true
		}
	}
	return false
}

// checkEmpty checks that nothing is left in the end.
func (w *World) checkEmpty() {
	for _, t := range w.spouts {
		if n := t.spout.pending.Len(); n != 0 {
			w.broken("spout task %d has %d trees in flight in the end", t.id, n)
		}
	}
	for _, t := range w.bolts {
		for a := range t.bolt.children {
			if a.Root&track.First == 0 {
				w.broken("bolt task %d keeps the children of %x in the end", t.id, a)
			}
		}
	}
	for _, t := range w.ackers {
		if n := t.acker.ledger.Len(); n != 0 {
			w.broken("acker task %d has %d entries in the end", t.id, n)
		}
	}
}
