package slot

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/assert"
	"github.com/stormring/stormring/internal/cluster"
)

// dice are what a world decides by: a seeded source, or rapid.
type dice interface{ IntN(n int) int }

// proc is a process of a world. It does not know of its supervisor.
type proc struct {
	launch Serial
	pid    int
	told   bool // Started was sent
	stubborn,
	silent bool
	dying int // 0: no; 1: softly; 2: dead at the next look
}

// world is a host with one slot: a disk, processes, blobs, and a supervisor
// that may die between any two effects.
type world struct {
	dice   dice
	slot   *Slot
	now    time.Time
	calm   bool // nothing goes wrong any more
	wanted *Assignment
	begun  time.Time // the supervisor, if it is not the first
	read   bool      // it was told what is wanted now

	// On disk, and in the blob store.
	record  Record
	procs   []*proc
	newest  map[cluster.TopologyID]int
	fetched map[Serial]int // version by request
	// In the supervisor's memory.
	held     map[Serial]cluster.TopologyID
	fetching []Serial
	exits    []Serial // deaths that it has not been told of
	failed   []Serial // launches that came to nothing
	launched map[Serial]bool
	nextPID  int
	log      []any // times, events and effects
}

func newWorld(d dice) *world {
	return &world{
		dice: d, slot: New(DefaultConfig()), now: start(), read: true,
		held: map[Serial]cluster.TopologyID{}, launched: map[Serial]bool{},
		newest: map[cluster.TopologyID]int{}, fetched: map[Serial]int{},
	}
}

func (w *world) chance(n int) bool { return !w.calm && w.dice.IntN(n) == 0 }

// step feeds an event and performs what comes of it; the supervisor may die on
// the way. It returns what is wrong.
func (w *world) step(ev Event) error {
	w.log = append(w.log, w.now.Sub(start()), ev)
	effects := w.slot.Step(w.now, ev)
	crash := -1
	if w.chance(40) {
		crash = w.dice.IntN(len(effects) + 1)
	}
	for i, e := range effects {
		if i == crash {
			return w.restart()
		}
		w.log = append(w.log, e)
		if l, ok := e.(Launch); ok && reflect.TypeOf(ev) == reflect.TypeFor[Adopt]() {
			return fmt.Errorf("to adopt is to launch %d", l.Worker.Launch)
		}
		if _, ok := e.(Note); !ok && reflect.TypeOf(ev) == reflect.TypeFor[Shutdown]() {
			return fmt.Errorf("a shutdown is not just that: %T%+v", e, e)
		}
		if err := w.perform(e); err != nil {
			return err
		}
	}
	if crash == len(effects) {
		return w.restart()
	}
	if _, over := ev.(Shutdown); over {
		return w.restart()
	}
	return w.check()
}

func (w *world) perform(e Effect) error {
	switch e := e.(type) {
	case Persist:
		w.record = e.Record
	case Localise:
		if _, ok := w.held[e.Request]; ok {
			return fmt.Errorf("request %d is made twice", e.Request)
		}
		w.held[e.Request] = e.Assignment.Topology
		w.fetching = append(w.fetching, e.Request)
		w.fetched[e.Request] = w.newest[e.Assignment.Topology]
	case Release:
		if _, ok := w.held[e.Request]; !ok {
			return fmt.Errorf("request %d is released but not held", e.Request)
		}
		delete(w.held, e.Request)
		w.fetching = slices.DeleteFunc(w.fetching, func(s Serial) bool { return s == e.Request })
	case Launch:
		return w.launch(e.Worker)
	case SoftKill:
		if p := w.proc(e.Launch); p != nil && !p.stubborn {
			p.dying = max(p.dying, 1)
		}
	case HardKill:
		if p := w.proc(e.Launch); p != nil && !w.chance(4) {
			p.dying = 2
		}
	case Clear:
		if w.proc(e.Launch) != nil {
			return fmt.Errorf("launch %d is cleared alive", e.Launch)
		}
	case Note:
	}
	return nil
}

func (w *world) launch(worker Worker) error {
	switch {
	case !w.read && w.now.Before(w.begun.Add(DefaultConfig().AssignmentWait)):
		return fmt.Errorf("launch %d, and nobody has read whether it is still assigned", worker.Launch)
	case len(w.procs) > 0:
		return fmt.Errorf("launch %d while %d runs", worker.Launch, w.procs[0].launch)
	case w.launched[worker.Launch]:
		return fmt.Errorf("launch %d is used twice", worker.Launch)
	case w.record.Worker == nil || w.record.Worker.Launch != worker.Launch:
		return fmt.Errorf("launch %d is not on record", worker.Launch)
	case w.held[worker.Blobs] != worker.Assignment.Topology || slices.Contains(w.fetching, worker.Blobs):
		return fmt.Errorf("launch %d has no blobs", worker.Launch)
	}
	w.launched[worker.Launch] = true
	if w.chance(8) {
		w.failed = append(w.failed, worker.Launch)
		return nil
	}
	w.nextPID++
	w.procs = append(w.procs, &proc{launch: worker.Launch, pid: w.nextPID, stubborn: w.chance(4), silent: w.chance(6)})
	return nil
}

func (w *world) proc(launch Serial) *proc {
	for _, p := range w.procs {
		if p.launch == launch {
			return p
		}
	}
	return nil
}

// restart is a new supervisor with the old one's disk.
func (w *world) restart() error {
	w.log = append(w.log, "RESTART")
	w.slot = New(DefaultConfig())
	clear(w.held)
	w.fetching, w.exits, w.failed = nil, nil, nil
	w.now = w.now.Add(time.Duration(w.dice.IntN(50)) * time.Second)
	w.begun, w.read = w.now, false
	ev := Adopt{Record: w.record}
	if r := w.record.Worker; r != nil {
		w.held[r.Blobs] = r.Assignment.Topology
		ev.Alive = w.proc(r.Launch) != nil
		if w.dice.IntN(2) == 0 {
			ev.LastHeartbeat = w.now.Add(-40 * time.Second)
		}
	} else if len(w.procs) > 0 {
		return fmt.Errorf("launch %d runs and is not on record", w.procs[0].launch)
	}
	if err := w.step(ev); err != nil {
		return err
	}
	if r := w.record.Worker; r != nil && w.fetched[r.Blobs] < w.newest[r.Assignment.Topology] {
		if err := w.step(BlobsChanged{r.Assignment.Topology}); err != nil {
			return err
		}
	}
	if w.chance(2) {
		return nil // the store is away
	}
	return w.tellWish()
}

// tellWish says what is wanted now, as read.
func (w *world) tellWish() error {
	w.read = true
	return w.step(Assign{w.wanted, true})
}

// check is what holds after every step.
func (w *world) check() error {
	got := w.slot.Record()
	// Numbers of requests need not outlive the supervisor.
	if got.Last = w.record.Last; !reflect.DeepEqual(got, w.record) {
		return fmt.Errorf("the record is %+v, on disk is %+v", got, w.record)
	}
	if len(w.procs) > 1 {
		return errors.New("two processes")
	}
	st := w.slot.State()
	if len(w.procs) == 1 {
		r := w.slot.Record().Worker
		if r == nil || r.Launch != w.procs[0].launch {
			return fmt.Errorf("process of launch %d is not known", w.procs[0].launch)
		}
		if _, ok := w.held[r.Blobs]; !ok {
			return fmt.Errorf("launch %d runs without its blobs", r.Launch)
		}
		if (st == Running || st == WaitingForWorkerStart) && (got.Want == nil || !r.Assignment.Same(*got.Want)) {
			return fmt.Errorf("%v with %v, wanted is %v", st, r.Assignment, got.Want)
		}
	}
	if n := len(w.held); n > 2 {
		return fmt.Errorf("%d requests are held", n)
	}
	if st != Empty && w.slot.Deadline().IsZero() && len(w.fetching) == 0 {
		return fmt.Errorf("%v for ever", st)
	}
	if !w.slot.Deadline().IsZero() && w.slot.Deadline().Before(w.now) {
		return fmt.Errorf("overdue since %v", w.slot.Deadline())
	}
	if got.Want != nil && st != Running && w.slot.Why() == "" {
		return fmt.Errorf("no reason for %v", st)
	}
	return nil
}

// act lets one thing happen in the world.
func (w *world) act() error {
	switch w.dice.IntN(14) {
	case 0:
		w.wanted = w.anyAssignment()
		return w.tellWish()
	case 1:
		topology := []cluster.TopologyID{"a", "b"}[w.dice.IntN(2)]
		w.newest[topology]++
		return w.step(BlobsChanged{topology})
	case 2:
		return w.step(w.stale())
	case 3:
		return w.step(Shutdown{})
	case 4:
		if len(w.procs) > 0 && w.dice.IntN(2) == 0 {
			w.procs[0].dying = 2
		}
		return nil
	case 5:
		if len(w.procs) > 0 && w.dice.IntN(4) == 0 {
			w.procs[0].silent = true
		}
		return nil
	default:
		w.now = w.now.Add(time.Duration(w.dice.IntN(4000)) * time.Millisecond)
		return w.turn()
	}
}

// stale is news of what is over, or no news; 0 is never used.
func (w *world) stale() Event {
	return []Event{
		BlobsReady{}, BlobsFailed{}, Started{PID: 1}, LaunchFailed{}, Exited{}, Heartbeat{At: w.now}, Tick{}, Assign{Assignment: w.slot.Record().Want},
	}[w.dice.IntN(8)]
}

func (w *world) anyAssignment() *Assignment {
	n := w.dice.IntN(5)
	if n == 0 {
		return nil
	}
	return &Assignment{
		Topology:  []cluster.TopologyID{"a", "b"}[n%2],
		Executors: []cluster.Executor{{First: 1, Last: 1}, {First: 2, Last: 3}}[:1+n/3],
		Timeout:   time.Duration(w.dice.IntN(2)*60) * time.Second,
	}
}

// turn lets everything in the world move on by a bit.
func (w *world) turn() error {
	w.fall()
	for _, f := range []func() error{w.tellDeaths, w.tellBlobs, w.tellLife} {
		if err := f(); err != nil {
			return err
		}
	}
	return w.step(Tick{})
}

// fall takes away those that have died.
func (w *world) fall() {
	w.procs = slices.DeleteFunc(w.procs, func(p *proc) bool {
		if p.dying == 0 || p.dying == 1 && w.chance(3) {
			return false
		}
		w.exits = append(w.exits, p.launch)
		return true
	})
}

func (w *world) tellDeaths() error {
	for len(w.exits) > 0 && !w.chance(3) {
		launch := w.exits[0]
		w.exits = w.exits[1:]
		if err := w.step(Exited{launch, 1}); err != nil {
			return err
		}
	}
	for len(w.failed) > 0 {
		launch := w.failed[0]
		w.failed = w.failed[1:]
		if err := w.step(LaunchFailed{launch, "no room"}); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) tellBlobs() error {
	for len(w.fetching) > 0 && !w.chance(3) {
		request := w.fetching[0]
		w.fetching = w.fetching[1:]
		var ev Event = BlobsReady{request}
		if w.chance(4) {
			ev = BlobsFailed{request, "no replica"}
		}
		if err := w.step(ev); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) tellLife() error {
	for _, p := range slices.Clone(w.procs) {
		if !p.told || w.chance(5) {
			p.told = true
			if err := w.step(Started{p.launch, p.pid}); err != nil {
				return err
			}
		}
		if !p.silent && !w.chance(3) {
			if err := w.step(Heartbeat{p.launch, w.now}); err != nil {
				return err
			}
		}
	}
	return nil
}

// settle lets nothing go wrong any more, and looks whether what is wanted is
// there in the end.
func (w *world) settle() error {
	w.calm = true
	if err := w.tellWish(); err != nil {
		return err
	}
	var wrong error
	for rest := range 400 {
		w.now = w.now.Add(2 * time.Second)
		if err := w.turn(); err != nil {
			return err
		}
		if wrong = w.unsettled(); wrong == nil && rest > 3 {
			return nil
		}
	}
	return wrong
}

// unsettled says what is not as it is wanted.
func (w *world) unsettled() error {
	st := w.slot.State()
	if w.wanted == nil {
		if st != Empty || len(w.procs) > 0 || len(w.held) > 0 {
			return fmt.Errorf("nothing is wanted, and there is %v, %d processes, %d held", st, len(w.procs), len(w.held))
		}
		return nil
	}
	if st != Running || len(w.procs) != 1 || len(w.held) != 1 {
		return fmt.Errorf("%v is wanted, and there is %v, %d processes, %d held", w.wanted, st, len(w.procs), len(w.held))
	}
	if w.procs[0].silent || w.procs[0].dying > 0 {
		return errors.New("the worker is sick")
	}
	if got, want := w.fetched[w.record.Worker.Blobs], w.newest[w.wanted.Topology]; got != want {
		return fmt.Errorf("it runs on version %d of its blobs, the newest is %d", got, want)
	}
	if _, ok := w.held[w.record.Worker.Blobs]; !ok || !w.record.Worker.Assignment.Same(*w.wanted) {
		return fmt.Errorf("%v is wanted, %+v runs", w.wanted, w.record.Worker)
	}
	return nil
}

func live(d dice, steps int) error {
	w := newWorld(d)
	for range steps {
		if err := w.act(); err != nil {
			return fmt.Errorf("%w\n%v", err, w.tail())
		}
	}
	if err := w.settle(); err != nil {
		return fmt.Errorf("in the end: %w\n%v", err, w.tail())
	}
	return nil
}

func (w *world) tail() string {
	text := ""
	for _, what := range w.log[max(0, len(w.log)-60):] {
		text += fmt.Sprintf("%T%+v\n", what, what)
	}
	return text
}

// TestWorlds is many hosts with all that can go wrong; a seed that fails can
// be run by itself.
func TestWorlds(t *testing.T) {
	seeds := uint64(3000)
	if assert.Thorough {
		seeds = 600 // the race detector takes its time
	}
	for seed := range seeds {
		if err := live(rand.New(rand.NewPCG(seed, 7)), 80); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// drawn are dice that rapid can shrink.
type drawn struct{ t *rapid.T }

func (d drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.t, "n") }

func TestAnyWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := live(drawn{t}, 30); err != nil {
			t.Fatal(err)
		}
	})
}
