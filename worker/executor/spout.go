package executor

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// SpoutSpec is an executor of a spout.
type SpoutSpec struct {
	Spec
	Inbox *OutcomeInbox
	New   func() (storm.Spout, error)
	// MaxPending bounds the trees in flight per task; 0 is no bound.
	MaxPending int
	// FirstSeq is where the sequence numbers of roots begin. Incarnations of
	// a task must differ in it, so that no late ack meets a new tree.
	FirstSeq uint64
	// Timed tells that Rotate is called once a message time-out, here and in
	// the ackers. Then the only tuple of a tree announces it, see track.First.
	Timed bool
	// IdleWait is the longest rest after a NextTuple that emitted nothing.
	IdleWait time.Duration
}

// Spout runs the tasks of one executor of a spout.
type Spout struct {
	core
	inbox    *OutcomeInbox
	create   func() (storm.Spout, error)
	limit    int
	firstSeq uint64
	idleWait time.Duration
	timed    bool
	tasks    []*spoutTask
	first    storm.TaskID
	empties  []*OutcomeBatch
	timer    *time.Timer
	idles    int // NextTuple rounds in a row that emitted nothing
	opened   bool
	active   bool
	paused   bool // deactivated on demand, not just not yet activated

	state atomic.Pointer[SpoutState]
}

var _ Executor = (*Spout)(nil)

// SpoutState is what others may know of a spout executor. It is true of a
// moment at which everything emitted before was visible in Flow.
type SpoutState struct {
	Pending   int
	Exhausted bool // every task is a storm.Bounded that has come to its end
	Paused    bool // deactivated, and NextTuple has returned
}

// spoutTask is one task; it is the SpoutEmitter of its collector.
type spoutTask struct {
	task
	x         *Spout
	spout     storm.Spout
	bounded   storm.Bounded
	pending   *acker.Pending[tree]
	seq       uint64
	emittedNo uint64 // emissions so far
	done      []doneCounts
	instant   []instant // trees that ended as they began
	sampler   sampler
	ended     bool
}

type doneCounts struct{ acked, failed uint64 }

// tree is what a spout task knows of a tree in flight.
type tree struct {
	id     storm.Value
	start  time.Duration // since the epoch of the package; 0 if not timed
	stream int32
}

type instant struct {
	id     storm.Value
	stream int32
}

var _ storm.SpoutEmitter = (*spoutTask)(nil)

// NewSpout makes the executor; nothing of the user's runs before Run, and the
// spouts are opened when SetActive first activates them.
func NewSpout(s SpoutSpec) *Spout {
	x := &Spout{
		inbox: s.Inbox, create: s.New, limit: s.MaxPending,
		firstSeq: s.FirstSeq, timed: s.Timed, idleWait: max(s.IdleWait, time.Microsecond), first: s.Tasks[0].ID,
		timer: time.NewTimer(time.Hour),
	}
	x.init(s.Spec)
	x.state.Store(&SpoutState{})
	return x
}

// QueueLen implements Executor.
func (x *Spout) QueueLen() int { return x.inbox.Len() }

// QueueLimit implements Executor.
func (x *Spout) QueueLimit() int { return x.inbox.Limit() }

// Close implements Executor.
func (x *Spout) Close() { x.inbox.Close() }

// State is what the executor last published.
func (x *Spout) State() SpoutState { return *x.state.Load() }

// SetActive activates or deactivates the spouts; the first activation opens
// them.
func (x *Spout) SetActive(active bool) { x.inbox.Urge(func() { x.setActive(active) }) }

// Rotate lets one message time-out pass: trees that have not been settled
// since the last but one call fail.
func (x *Spout) Rotate() { x.inbox.Urge(x.rotate) }

// Observe has the executor publish its State at once.
func (x *Spout) Observe() { x.inbox.Urge(func() {}) }

// Run implements Executor.
func (x *Spout) Run() error {
	err := x.guard(x.loop)
	x.inbox.Close()
	x.timer.Stop()
	if err != nil {
		return err
	}
	return x.guard(x.cleanup)
}

func (x *Spout) loop() error {
	for {
		if x.inbox.Ready() {
			batches, posts, ok := x.inbox.Take(x.empties)
			if !ok {
				return nil
			}
			x.empties = x.empties[:0]
			runPosts(posts)
			for _, b := range batches {
				x.settle(b)
			}
			// What was emitted by calls and from Ack and Fail.
			for _, t := range x.tasks {
				t.settleInstants()
			}
		}
		emitted, err := x.round()
		if err != nil {
			return err
		}
		if emitted {
			x.idles = 0
			if x.flushIfDue() {
				x.publish()
			}
			continue
		}
		x.rest()
	}
}

// roundsPerLook is how often NextTuple is called before the executor looks at
// anything else than its inbox.
const roundsPerLook = 32

// round calls NextTuple in every task that may emit: once, or many times if
// there is only one task and nothing else to do.
func (x *Spout) round() (emitted bool, err error) {
	if !x.active {
		return false, nil
	}
	for _, t := range x.tasks {
		ok, err := t.next()
		if err != nil {
			return false, err
		}
		emitted = emitted || ok
		if len(x.tasks) > 1 {
			continue
		}
		for n := 1; ok && n < roundsPerLook && !x.inbox.Ready() && !x.due(); n++ {
			if ok, err = t.next(); err != nil {
				return false, err
			}
		}
	}
	return emitted, nil
}

// next calls NextTuple if the task may emit, and tells whether it did.
func (t *spoutTask) next() (emitted bool, err error) {
	x := t.x
	if t.ended || x.limit > 0 && t.pending.Len() >= x.limit {
		return false, nil
	}
	x.current, x.doing = t.id, atNextTuple
	before := t.emittedNo
	if err := t.spout.NextTuple(); err != nil {
		return false, x.failure(err, "")
	}
	if len(t.instant) > 0 {
		t.settleInstants()
	}
	if t.emittedNo != before {
		return true, nil
	}
	if t.bounded != nil {
		t.ended = t.bounded.Exhausted()
	}
	return false, nil
}

// FailAll fails all trees in flight. It is for a loss that no time-out will
// ever tell of.
func (x *Spout) FailAll() {
	x.inbox.Urge(func() {
		for _, t := range x.tasks {
			t.pending.Drain(func(_ uint64, tr tree) { t.end(tr, false) })
		}
	})
}

// rest flushes, publishes and waits for something to happen.
func (x *Spout) rest() {
	x.flush()
	x.publish()
	for _, t := range x.tasks {
		t.sampler.rest()
	}
	if x.inbox.Ready() {
		return
	}
	if !x.active || !x.mayEmit() {
		x.inbox.Wait(nil, 0)
		return
	}
	// Short rests first: what a source lacked this moment it may have the next.
	x.idles++
	x.inbox.Wait(x.timer, min(x.idleWait, 50*time.Microsecond<<min(x.idles, 16)))
}

// mayEmit reports whether NextTuple can be called without an outcome first.
func (x *Spout) mayEmit() bool {
	for _, t := range x.tasks {
		if !t.ended && (x.limit <= 0 || t.pending.Len() < x.limit) {
			return true
		}
	}
	return false
}

func (x *Spout) publish() {
	x.flow.Sent.Store(x.sent)
	state := SpoutState{Paused: x.paused, Exhausted: x.opened}
	for _, t := range x.tasks {
		t.publishEmitted()
		t.publishDone()
		state.Pending += t.pending.Len()
		state.Exhausted = state.Exhausted && t.ended
	}
	if *x.state.Load() != state {
		x.state.Store(&state)
	}
}

func (x *Spout) setActive(active bool) {
	x.paused = !active
	if active == x.active && x.opened {
		return
	}
	if active && !x.opened {
		x.open()
	}
	x.active = active
	for _, t := range x.tasks {
		a, ok := t.spout.(storm.Activator)
		if !ok {
			continue
		}
		if active {
			x.enter(t.id, atActivate)
			a.Activate()
		} else {
			x.enter(t.id, atDeactivate)
			a.Deactivate()
		}
	}
}

func (x *Spout) open() {
	for _, spec := range x.Tasks {
		x.enter(spec.ID, atOpen)
		spout, err := x.create()
		if err != nil {
			panic(x.failure(err, ""))
		}
		t := &spoutTask{
			task: newTask(&x.core, spec), x: x, spout: spout, pending: acker.NewPending[tree](),
			seq: x.firstSeq, done: make([]doneCounts, len(spec.Streams)),
		}
		t.bounded, _ = spout.(storm.Bounded)
		x.tasks = append(x.tasks, t)
		if err := spout.Open(spec.Context, storm.NewSpoutOutputCollector(t, x.Component, spec.StreamIndex)); err != nil {
			panic(x.failure(err, ""))
		}
		t.prepareHooks()
	}
	x.opened = true
}

// settle tells the spouts how their trees ended.
func (x *Spout) settle(b *OutcomeBatch) {
	for _, o := range b.Outcomes {
		i := int(o.Root.Task()) - int(x.first)
		if i < 0 || i >= len(x.tasks) {
			continue // of a time before this spout was opened
		}
		t := x.tasks[i]
		switch o.Kind {
		case acker.OutcomeResetTimeout:
			t.pending.Touch(o.Root.Seq())
		case acker.OutcomeAck, acker.OutcomeFail:
			if tr, ok := t.pending.Take(o.Root.Seq()); ok {
				t.end(tr, o.Kind == acker.OutcomeAck)
			}
		}
	}
	for _, t := range x.tasks {
		t.publishDone()
	}
	b.Outcomes = b.Outcomes[:0]
	x.empties = append(x.empties, b)
}

func (x *Spout) rotate() {
	for _, t := range x.tasks {
		t.pending.Rotate(func(_ uint64, tr tree) { t.end(tr, false) })
	}
}

func (x *Spout) cleanup() error {
	var errs []error
	for _, t := range x.tasks {
		x.enter(t.id, atClose)
		t.cleanupHooks()
		if err := t.spout.Close(); err != nil {
			errs = append(errs, x.failure(err, ""))
		}
	}
	x.publish()
	return errors.Join(errs...)
}

// epoch is what the starts of trees count from.
var epoch = time.Now()

// end calls the spout's Ack or Fail.
func (t *spoutTask) end(tr tree, acked bool) {
	var latency time.Duration
	if tr.start != 0 {
		latency = time.Since(epoch) - tr.start
		if acked {
			t.x.Stats.ObserveComplete(int(tr.stream), latency)
		}
	}
	if acked {
		t.done[tr.stream].acked++
		t.x.current, t.x.doing = t.id, atAck
		for _, h := range t.hooks {
			if h.SpoutAck != nil {
				h.SpoutAck(tr.id, latency)
			}
		}
		t.spout.Ack(tr.id)
		return
	}
	t.done[tr.stream].failed++
	t.ended = false // it may want to emit it again
	t.x.current, t.x.doing = t.id, atFail
	for _, h := range t.hooks {
		if h.SpoutFail != nil {
			h.SpoutFail(tr.id, latency)
		}
	}
	t.spout.Fail(tr.id)
}

func (t *spoutTask) publishDone() {
	for i := range t.done {
		if n := &t.done[i]; *n != (doneCounts{}) {
			t.x.Stats.SpoutDone(i, n.acked, n.failed)
			*n = doneCounts{}
		}
	}
}

// settleInstants acks the trees that had no acker or no receiver.
func (t *spoutTask) settleInstants() {
	for i := 0; i < len(t.instant); i++ {
		in := t.instant[i]
		t.instant[i] = instant{}
		t.end(tree{id: in.id, stream: in.stream}, true)
	}
	t.instant = t.instant[:0]
}

// Pending implements storm.SpoutEmitter.
func (t *spoutTask) Pending() int { return t.pending.Len() }

// Emit implements storm.SpoutEmitter. The most common stream, with one
// subscriber and one task for each tuple, is served here; emitMany is the rule.
func (t *spoutTask) Emit(index int, id storm.Value, tp *storm.Tuple) []storm.TaskID {
	s := &t.streams[index]
	in := s.only
	if in == nil || t.watched || tp.Len() != s.arity {
		return t.emitMany(s, index, id, tp)
	}
	t.emittedNo++
	s.emitted++
	s.transferred++
	tp.SetOrigin(s.origin)
	j := in.grouping.One(tp)
	to := in.tasks[j : j+1 : j+1]
	tp.SetDst(to[0])
	if id.IsNil() {
		tp.SetAnchor(track.Anchor{})
		t.c.put(in.boxes[j], tp)
		return to
	}
	if len(t.c.ackers) == 0 {
		tp.SetAnchor(track.Anchor{})
		t.c.put(in.boxes[j], tp)
		t.instant = append(t.instant, instant{id, int32(index)})
		return to
	}
	root := t.root()
	if t.x.timed {
		tp.SetAnchor(track.Anchor{Root: root | track.First})
		t.c.put(in.boxes[j], tp)
		t.begin(index, id, root)
		return to
	}
	edge := t.c.edge()
	tp.SetAnchor(track.Anchor{Root: root, Edge: edge})
	t.c.put(in.boxes[j], tp)
	t.begin(index, id, root)
	t.announce(root, edge)
	return to
}

func (t *spoutTask) emitMany(s *stream, index int, id storm.Value, tp *storm.Tuple) []storm.TaskID {
	if tp.Len() != s.arity {
		s.wrongArity(tp)
	}
	tp.SetOrigin(s.origin)
	root := t.rootFor(id)
	var xor uint64
	to := t.c.scratch[:0]
	for k := range s.subs {
		in := &s.subs[k]
		if in.single {
			j := in.grouping.One(tp)
			xor ^= t.send(in.boxes[j], in.tasks[j], tp, root)
			to = append(to, in.tasks[j])
			continue
		}
		for _, j := range in.many(s, tp) {
			xor ^= t.send(in.boxes[j], in.tasks[j], tp, root)
			to = append(to, in.tasks[j])
		}
	}
	t.c.scratch = to
	t.emitted(s, index, id, root, xor, to)
	if t.watched {
		t.showEmission(s, tp, to)
	}
	return to
}

// EmitDirect implements storm.SpoutEmitter.
func (t *spoutTask) EmitDirect(index int, dst storm.TaskID, id storm.Value, tp *storm.Tuple) {
	s := &t.streams[index]
	if tp.Len() != s.arity {
		s.wrongArity(tp)
	}
	tp.SetOrigin(s.origin)
	root := t.rootFor(id)
	xor := t.send(s.direct(dst), dst, tp, root)
	t.c.scratch = append(t.c.scratch[:0], dst)
	t.emitted(s, index, id, root, xor, t.c.scratch)
	if t.watched {
		t.showEmission(s, tp, t.c.scratch)
	}
}

func (t *spoutTask) root() track.Root {
	t.seq++
	return track.MakeRoot(int32(t.id), t.seq)
}

// rootFor is the root of the tree that an emission with id starts, or 0.
func (t *spoutTask) rootFor(id storm.Value) track.Root {
	if id.IsNil() || len(t.c.ackers) == 0 {
		return 0
	}
	return t.root()
}

func (t *spoutTask) send(box *outbox, dst storm.TaskID, tp *storm.Tuple, root track.Root) (edge uint64) {
	if root != 0 {
		edge = t.c.edge()
	}
	tp.SetAnchor(track.Anchor{Root: root, Edge: edge})
	tp.SetDst(dst)
	t.c.put(box, tp)
	return edge
}

// emitted enters an emission into the books.
func (t *spoutTask) emitted(s *stream, index int, id storm.Value, root track.Root, xor uint64, to []storm.TaskID) {
	t.emittedNo++
	s.emitted++
	s.transferred += uint64(len(to))
	if root != 0 && len(to) > 0 {
		t.begin(index, id, root)
		t.announce(root, xor)
	} else if !id.IsNil() {
		t.instant = append(t.instant, instant{id, int32(index)})
	}
}

// begin notes a tree.
func (t *spoutTask) begin(index int, id storm.Value, root track.Root) {
	tr := t.pending.Put(root.Seq())
	tr.id = id
	tr.stream = int32(index)
	if t.sampler.take() {
		tr.start = time.Since(epoch)
	}
}

// announce tells the acker of a tree; xor are its first edges.
func (t *spoutTask) announce(root track.Root, xor uint64) {
	t.c.message(root, acker.Message{Root: root | acker.InitFlag, Val: xor})
}

// ReportError implements storm.Task.
func (t *spoutTask) ReportError(err error) { t.x.Report(t.id, err) }

// Post implements storm.Task.
func (t *spoutTask) Post(ctx context.Context, f func()) error {
	return postError(t.x.inbox.Post(ctx, func() {
		t.x.enter(t.id, atPost)
		f()
	}))
}
