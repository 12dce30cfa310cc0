package multilang

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// The steps of a checkpoint that a child is told.
const (
	prepareStep  = "prepare"
	rollbackStep = "rollback"
)

// checkpoints is what a bolt knows of its state and of checkpoints.
//
// After a rollback the child still has tuples that are of no account any more,
// and perhaps memories. It is told, behind those tuples. Until it has answered,
// it speaks of the past: what it emits and puts is dropped.
type checkpoints struct {
	// asked is what the child was asked for and has not answered, in order, past
	// the number of rollbacks among them.
	asked     []request
	past      int
	rollbacks int64  // so far; their number is their transaction
	horizon   uint64 // inputs up to this one are of the past
	dropped   int    // messages of the past
	// given tells that the child has had inputs since the last checkpoint that it
	// did: what they came to may be in its memory only.
	given bool
	// spoiled is why the state lacks something until it is rolled back.
	spoiled error
	// rewinds tells that a tuple that fails has all go back, by its spout.
	rewinds bool
	ready   func() // is called when the task has listened
}

// request is a step of a checkpoint. done is nil if nobody waits for it.
type request struct {
	txID     int64
	rollback bool
	done     func(error)
}

var (
	errNoState    = errors.New("the child does not keep state, or there is none")
	errCheckpoint = errors.New("another checkpoint came before the child had done this one")
	errFailed     = errors.New("a tuple failed after the last checkpoint")
)

// prepareState makes the state of a bolt that has its own.
func (b *ShellBolt) prepareState(ctx *storm.TopologyContext) (err error) {
	makeState := b.sh.spec.State
	switch {
	case b.kept && makeState != nil:
		return fmt.Errorf("component %q has a Spec.State and keeps its state on the ring; give it only one", ctx.Component())
	case b.kept:
		b.rewinds = allRewind(ctx.Topology())
		return nil
	case makeState == nil:
		makeState = func(*storm.TopologyContext) (State, error) { return NewMemory(), nil }
	}
	if b.state, err = makeState(ctx); err != nil {
		return fmt.Errorf("the state of task %d: %w", ctx.Task(), err)
	}
	return nil
}

func allRewind(t *storm.Topology) bool {
	for _, c := range t.Components {
		if stateful, _ := storm.ConfTopologySr3Stateful.Get(c.Conf); c.IsSpout() && !stateful {
			return false
		}
	}
	return true
}

// noState is the error of a child that cannot keep state and has to.
func (b *ShellBolt) noState() error {
	return fmt.Errorf("component %q has %s, but its program (%s) does not ask for state when it starts: make it a StatefulBolt of stormring.py, .js or .rb, or set stateful=1 before bolt in sh; Storm's libraries and pystorm have no state, so that for them the key has to go",
		b.ctx.Component(), string(storm.ConfTopologySr3Stateful), b.sh.spec.Argv)
}

// serve does what a child wants of its state.
func (b *ShellBolt) serve(m *protocol.Message) {
	switch {
	case m.Err != nil:
		b.misunderstood(m)
		return
	case b.past > 0 && m.Op != protocol.StateGet:
		b.dropped++
		return
	}
	var (
		err   error
		v     storm.Value
		found bool
	)
	switch m.Op {
	case protocol.StateGet:
		v, found, err = b.state.Get(m.Name)
	case protocol.StatePut:
		err = b.state.Put(m.Name, m.Value)
	case protocol.StateDelete:
		err = b.state.Delete(m.Name)
	}
	if err != nil {
		b.child.doom(fmt.Errorf("its state: %w", err))
		return
	}
	if m.Op == protocol.StateGet {
		reply := map[string]storm.Value{"state": storm.String(m.Name), "found": storm.Bool(found), "value": v}
		if err := b.answer(reply); err != nil {
			b.child.doom(fmt.Errorf("the value of key %q cannot be sent to it: %w", m.Name, err))
		}
	}
}

// Checkpoint asks the child, behind all its inputs so far, to do action, such as
// "prepare" or "commit", for transaction txID. done is called on the goroutine
// of the task when the child has, or with an error. Call it from there.
func (b *ShellBolt) Checkpoint(action string, txID int64, done func(error)) {
	if b.child == nil || !b.child.has(featureState) {
		done(errNoState)
		return
	}
	for i := range b.asked {
		b.asked[i].end(errCheckpoint)
	}
	b.ask(action, request{txID: txID, done: done})
}

// end tells whoever waits for a request, once.
func (r *request) end(err error) {
	if done := r.done; done != nil {
		r.done = nil
		done(err)
	}
}

func (b *ShellBolt) ask(action string, r request) {
	message := map[string]storm.Value{"checkpoint": storm.String(action), "txid": storm.Int(r.txID)}
	out := b.child.out
	if err := out.send(false, func(dst []byte) ([]byte, error) { return out.enc.Object(dst, message) }); err != nil {
		r.end(err)
		return
	}
	b.asked = append(b.asked, r)
	b.extend()
}

// extend gives the child time for the step that it owes.
func (b *ShellBolt) extend() {
	b.child.due.Store(time.Now().Add(b.sh.set.checkpoint).UnixNano())
}

// moved notes that a child that owes a step has done something on the way there.
func (b *ShellBolt) moved(m *protocol.Message) {
	if len(b.asked) == 0 {
		return
	}
	switch m.Kind {
	case protocol.Emit, protocol.Ack, protocol.Fail, protocol.State, protocol.Checkpointed:
		b.extend()
	default:
	}
}

func (b *ShellBolt) checkpointed(m *protocol.Message) {
	if m.Err != nil {
		b.misunderstood(m)
		return
	}
	if len(b.asked) == 0 || b.asked[0].txID != m.TxID {
		b.complain(fmt.Errorf("the child sent checkpointed for %d, which is not the step that it owes", m.TxID))
		return
	}
	r := b.asked[0]
	b.asked = b.asked[1:]
	if len(b.asked) == 0 {
		b.child.due.Store(0)
	}
	if !r.rollback {
		b.given = false
		r.end(nil)
		return
	}
	if b.past--; b.past == 0 {
		b.log.Debug("a child has gone back to the last checkpoint", "dropped", b.dropped)
		b.dropped = 0
	}
}

// isPast reports whether an emission comes from before a rollback: the child has
// not heard of that, or kept an input all the same.
func (b *ShellBolt) isPast(m *protocol.Message) bool {
	return b.past > 0 || slices.ContainsFunc(m.Anchors, func(ref uint64) bool { return ref != 0 && ref <= b.horizon })
}

// fail fails an input. If that leads to a rollback, nothing may be saved before
// it: the state lacks the input, behind which the spouts have got.
func (b *ShellBolt) fail(t *storm.Tuple) {
	b.out.Fail(t)
	if b.kept && b.rewinds && b.spoiled == nil && (t.IsTracked() || t.Anchors() != nil) {
		b.spoiled = errFailed
	}
}

// bereft notes that the child is gone.
func (b *ShellBolt) bereft(err error) {
	if b.kept && b.given && b.spoiled == nil {
		b.spoiled = err
	}
	asked := b.asked
	b.asked, b.past, b.given = nil, 0, false
	for i := range asked {
		asked[i].end(err)
	}
}

// finish calls whoever waits until the task has listened.
func (b *ShellBolt) finish() {
	if f := b.ready; f != nil {
		b.ready = nil
		f()
	}
}

// StatefulShellBolt is a ShellBolt that keeps its state on the ring, with
// checkpoints. Its program has to ask for state in the handshake. It is for
// components that have topology.sr3.stateful; storm.TopologyBuilder sets that.
type StatefulShellBolt struct{ ShellBolt }

var (
	_ storm.Bolt          = (*StatefulShellBolt)(nil)
	_ storm.Configured    = (*StatefulShellBolt)(nil)
	_ storm.Stateful      = (*StatefulShellBolt)(nil)
	_ storm.PreRollbacker = (*StatefulShellBolt)(nil)
)

// NewStatefulBolt makes a bolt whose tasks run the processes that s describes,
// and keep their state on the ring. Spec.State must be nil.
func NewStatefulBolt(s Spec) *StatefulShellBolt {
	b := &StatefulShellBolt{}
	b.describe(s)
	b.kept = true
	return b
}

// PreRollback implements storm.PreRollbacker. From now on nothing that the child
// does with the inputs that it has counts any more.
func (b *StatefulShellBolt) PreRollback() error {
	b.sh.held.Store(true)
	b.failAll()
	b.horizon, b.given, b.spoiled = b.refs, false, nil
	if b.child != nil {
		b.rollbacks++
		b.past++
		b.ask(rollbackStep, request{txID: b.rollbacks, rollback: true})
	}
	return nil
}

// InitState implements storm.Stateful. What the child has said since PreRollback
// is heard after it.
func (b *StatefulShellBolt) InitState(s storm.State) error {
	if !b.sh.held.Load() {
		if err := b.PreRollback(); err != nil {
			return err
		}
	}
	b.state = storm.NewKeyValueState(s, storm.StringCodec, storm.ValueCodec)
	if len(b.asked) > 0 {
		b.extend()
	}
	b.sh.held.Store(false)
	b.sh.notify()
	return nil
}

// Drain asks the child to put what it has in hand, behind all its inputs so far.
// done is called once, later, on the goroutine of the task: without an error if
// everything that those inputs did is in the state. No input may come meanwhile.
func (b *StatefulShellBolt) Drain(txID int64, done func(error)) {
	later := func(err error) {
		b.ready = func() {
			if b.spoiled != nil {
				err = fmt.Errorf("the state has to go back to the last checkpoint: %w", b.spoiled)
			}
			done(err)
		}
		b.sh.notify()
	}
	switch {
	case b.spoiled != nil, b.child == nil:
		later(nil) // if a child is gone and nothing is spoiled, it had nothing in hand
	default:
		b.Checkpoint(prepareStep, txID, later)
	}
}
