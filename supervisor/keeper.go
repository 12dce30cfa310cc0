package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/supervisor/slot"
)

// inboxSize is how much may have happened to a slot that it has not looked at.
// Beyond that those who tell it wait.
const inboxSize = 16

// keeper owns a slot: a goroutine that steps its machine and performs what
// comes of it.
type keeper struct {
	s       *Supervisor
	port    cluster.Port
	slot    cluster.Slot
	retired bool // the slot is not among the supervisor's any more
	path    string
	log     *slog.Logger
	clock   clock.Clock
	// inbox has what happened; each is run by the keeper's goroutine, with a
	// context that ends with the keeper.
	inbox chan func(context.Context)
	// wants has the newest wish, if that is news.
	wants chan wish
	ended chan struct{}

	// What follows is the keeper's goroutine's.
	machine *slot.Slot
	helpers sync.WaitGroup // others that work for the keeper
	// todo are answers to effects of the step under way.
	todo  []slot.Event
	file  slotFile
	blobs map[slot.Serial]*blobs
	// handle is of the machine's worker; nil if there is none.
	handle  Handle
	killed  bool   // the worker, by us
	failure string // what a worker said last that is about to end, and its launch
	failed  slot.Serial
	timeout time.Duration
	patient cluster.TopologyID // whose timeout that is
	// stale is a topology of which newer blobs came up while it was fetched.
	stale cluster.TopologyID
	// wanted is the newest assignment.
	wanted *slot.Assignment
	// outage is why a worker has to be started, silent what the one that is being
	// killed has done, beat when it was last heard of.
	outage outage
	silent outage
	beat   time.Time
}

// wish is what should run in a slot, nil for nothing, and what nimbus knows of how
// that came about.
type wish struct {
	assignment *slot.Assignment
	loss       records.Loss
}

// outage is when it became known that there must be a worker, and how long there was
// none by then; 0 if that is not known, or if none was lost.
type outage struct {
	noticed time.Time
	detect  time.Duration
}

// blobs are what a request has asked for.
type blobs struct {
	topology cluster.TopologyID
	dir      string
	ready    bool
	cancel   context.CancelFunc
}

func newKeeper(s *Supervisor, port cluster.Port) *keeper {
	return &keeper{
		s: s, port: port, slot: cluster.Slot{Supervisor: s.id, Port: port}, path: slotPath(s.cfg.LocalDir, port),
		log: s.log.With("port", port), clock: s.cfg.Clock,
		inbox: make(chan func(context.Context), inboxSize), wants: make(chan wish, 1), ended: make(chan struct{}),
		machine: slot.New(s.slots), blobs: map[slot.Serial]*blobs{},
	}
}

// assign says what should run, in place of what was said before. It is called
// by one goroutine at a time, and never waits.
func (k *keeper) assign(w wish) {
	select {
	case <-k.wants:
	default:
	}
	k.wants <- w
}

// tell has f run by the keeper, unless it has ended.
func (k *keeper) tell(f func(context.Context)) {
	select {
	case k.inbox <- f:
	case <-k.ended:
	}
}

// heard tells of a sign of life. failure is why the worker is about to end, if
// it is.
func (k *keeper) heard(launch slot.Serial, failure string) {
	now := k.clock.Now()
	k.tell(func(ctx context.Context) {
		w := k.file.Record.Worker
		if w == nil || w.Launch != launch {
			return
		}
		k.failure, k.failed = failure, launch
		if !k.file.Heard {
			k.file.Heard = true
			k.save()
		}
		k.beat = now
		k.step(ctx, slot.Heartbeat{Launch: launch, At: now})
	})
}

// run keeps the slot until stop ends. Then it leaves the worker running, or ends
// it first if the supervisor is to do that.
func (k *keeper) run(stop context.Context) {
	defer close(k.ended)
	defer k.helpers.Wait()
	ctx, cancel := context.WithCancel(context.WithoutCancel(stop))
	defer cancel()
	k.begin(ctx)
	timer := k.clock.NewTimer(time.Hour)
	defer timer.Stop()
	stopping := stop.Done()
	for {
		k.s.hub.explain(k.port, k.why())
		wait := time.Hour
		if due := k.machine.Deadline(); !due.IsZero() {
			wait = due.Sub(k.clock.Now())
		}
		timer.Reset(wait)
		select {
		case <-stopping:
			stopping = nil
			if k.s.cfg.StopWorkers {
				k.step(ctx, slot.Assign{})
			}
		case f := <-k.inbox:
			f(ctx)
		case w := <-k.wants:
			a := w.assignment
			if a != nil && (k.wanted == nil || !a.Same(*k.wanted)) {
				k.outage = outage{k.clock.Now().Add(-w.loss.Place), w.loss.Detect}
			}
			k.wanted = a
			if stopping != nil {
				k.step(ctx, slot.Assign{Assignment: k.withTimeout(a), Read: true})
			}
		case <-timer.C():
			k.step(ctx, slot.Tick{})
		}
		if stopping == nil && (!k.s.cfg.StopWorkers || k.machine.State() == slot.Empty) {
			k.step(ctx, slot.Shutdown{})
			return
		}
	}
}

// begin takes over what the supervisor before has left.
func (k *keeper) begin(ctx context.Context) {
	if k.file.Format == 0 {
		return
	}
	adopt := slot.Adopt{Record: k.file.Record, Alive: k.handle != nil}
	if want := k.file.Record.Want; want != nil {
		k.patient, k.timeout = want.Topology, want.Timeout
		k.wanted = want // if it is read again, nothing has been lost
	}
	if k.file.Heard {
		adopt.LastHeartbeat = k.clock.Now()
	}
	k.beat, k.outage = k.clock.Now(), outage{noticed: k.clock.Now()}
	k.step(ctx, adopt)
	if k.handle != nil {
		k.watch(ctx, k.file.Record.Worker.Launch, k.handle)
	}
	if k.retired {
		k.step(ctx, slot.Assign{})
	} else {
		k.step(ctx, slot.Tick{})
	}
}

// watch tells of a worker's end.
func (k *keeper) watch(ctx context.Context, launch slot.Serial, h Handle) {
	k.helpers.Go(func() {
		select {
		case <-h.Done():
			ended := k.clock.Now()
			if h, ok := h.(interface{ Ended() time.Time }); ok { // which may know better
				ended = h.Ended()
			}
			k.tell(func(ctx context.Context) { k.exited(ctx, launch, h.ExitCode(), ended) })
		case <-ctx.Done():
		}
	})
}

// exited takes note of a worker's end, and when it ended.
func (k *keeper) exited(ctx context.Context, launch slot.Serial, code int, ended time.Time) {
	w := k.file.Record.Worker
	if w != nil && w.Launch == launch {
		k.lost(w, ended)
	}
	if w != nil && w.Launch == launch && !k.killed {
		text := k.failure
		if text == "" || k.failed != launch {
			text = fmt.Sprintf("worker %s ended %s", workerID(k.port, launch), ending(code))
		}
		k.s.sorrows.blame(w.Assignment.Topology, k.port, text)
	}
	k.step(ctx, slot.Exited{Launch: launch, Code: code})
}

// lost takes down that w has ended, if another is to come in its place.
func (k *keeper) lost(w *slot.Worker, ended time.Time) {
	if k.wanted != nil && !k.wanted.Same(w.Assignment) {
		return // it is not missed
	}
	now := k.clock.Now()
	switch {
	case !k.killed:
		k.outage = outage{now, max(0, now.Sub(ended))}
	case !k.silent.noticed.IsZero():
		k.outage = k.silent
	default:
		k.outage = outage{noticed: now}
	}
	k.silent = outage{}
}

// ending tells how a process ended.
func ending(code int) string {
	switch {
	case code < 0:
		return "in an unknown way"
	case code > 128:
		return fmt.Sprintf("by signal %d", code-128)
	default:
		return fmt.Sprintf("with code %d", code)
	}
}

// withTimeout is a with the silence that its topology is known to allow.
func (k *keeper) withTimeout(a *slot.Assignment) *slot.Assignment {
	if a == nil || a.Topology != k.patient {
		return a
	}
	patient := *a
	patient.Timeout = k.timeout
	return &patient
}

// step feeds the machine and performs what it asks for, with all that comes of
// that.
func (k *keeper) step(ctx context.Context, ev slot.Event) {
	k.todo = append(k.todo, ev)
	for len(k.todo) > 0 {
		ev := k.todo[0]
		k.todo = k.todo[1:]
		for _, e := range k.machine.Step(k.clock.Now(), ev) {
			k.perform(ctx, e)
		}
	}
}

// why tells why the slot's worker is not running; "" if it is or none is wanted.
func (k *keeper) why() string {
	why := k.machine.Why()
	if why != "" && k.failure != "" {
		why += "; the worker said: " + k.failure
	}
	return why
}
