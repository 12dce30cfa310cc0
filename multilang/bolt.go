package multilang

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// ShellBolt is a bolt in another language.
type ShellBolt struct {
	task
	out   *storm.OutputCollector
	state State
	// pending are the inputs that the child has not settled, old those of them
	// that are older than a turn, which are forgotten at the next.
	pending, old map[uint64]input
	turn         time.Time
	turns        uint // calls of turned
	refs         uint64
	ticks        []uint64 // that the child has, oldest first
	anchors      []storm.Tuple
	staged       storm.Tuple // that is being encoded
	checkpoints
}

var (
	_ storm.Bolt       = (*ShellBolt)(nil)
	_ storm.Configured = (*ShellBolt)(nil)
)

// input is a tuple that a child has. Of its values nothing is kept.
type input struct {
	tuple storm.Tuple
	epoch uint64 // of the outbox
	over  bool   // it was failed; the child does not know
}

// keptTicks is how many ticks a child may have. Children need not ack them.
const keptTicks = 64

// NewBolt makes a bolt whose tasks run the processes that s describes.
func NewBolt(s Spec) *ShellBolt {
	b := &ShellBolt{}
	b.describe(s)
	return b
}

func (b *ShellBolt) describe(s Spec) {
	b.pending = map[uint64]input{}
	b.sh.spec = s
	b.sh.beats = true
}

// DeclareOutputFields implements storm.Bolt.
func (b *ShellBolt) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { b.sh.spec.declare(d) }

// ComponentConfiguration implements storm.Configured.
func (b *ShellBolt) ComponentConfiguration() storm.Config { return b.sh.spec.Conf }

// Prepare implements storm.Bolt. It returns when the first process has answered
// the handshake; the error is that of a process that cannot be started.
func (b *ShellBolt) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	b.turn = time.Now()
	if err := b.prepareState(ctx); err != nil {
		return err
	}
	if err := b.begin(ctx, b, out.Do, out.ReportError); err != nil {
		return err
	}
	b.sh.held.Store(b.kept) // until InitState
	return nil
}

// Execute implements storm.Bolt. It waits while the child has as many tuples as
// it may.
func (b *ShellBolt) Execute(t storm.Tuple) error {
	if err := b.look(); err != nil {
		return err
	}
	for b.child == nil || b.child.out.full() {
		stopping, err := b.wait()
		if err != nil {
			return err
		}
		if stopping {
			b.out.Fail(&t)
			return nil
		}
	}
	b.refs++
	ref, tick := b.refs, t.IsTick()
	out := b.child.out
	b.staged = t
	out.mu.Lock()
	rest, err := out.enc.Tuple(out.rest, ref, &b.staged)
	if err == nil {
		out.rest = rest
		out.sent()
		out.rouse()
	}
	epoch := out.epoch
	out.mu.Unlock()
	b.staged.SetValues(nil)
	if err != nil {
		b.report(fmt.Errorf("the tuple %s cannot be sent to the child: %w", b.describeInput(&t), nameField(err, t.Fields())))
		b.fail(&t)
		return nil
	}
	b.given = true
	b.pending[ref] = input{tuple: b.staged, epoch: epoch}
	if tick {
		b.forgetTicks(ref)
	}
	return nil
}

// Cleanup implements storm.Bolt. It returns when the process is gone.
func (b *ShellBolt) Cleanup() error {
	b.sh.close()
	return nil
}

func (b *ShellBolt) describeInput(t *storm.Tuple) string {
	return fmt.Sprintf("from component %q, stream %q", t.SourceComponent(), t.SourceStream())
}

// nameField gives a value that cannot be carried the name of its field.
func nameField(err error, fields storm.Fields) error {
	f, ok := errors.AsType[*protocol.FieldError](err)
	if !ok || f.Index >= len(fields) {
		return err
	}
	return fmt.Errorf("field %q: %s", fields[f.Index], f.Reason)
}

func (b *ShellBolt) forgetTicks(ref uint64) {
	b.ticks = append(b.ticks, ref)
	if len(b.ticks) > keptTicks {
		b.take(b.ticks[0], false)
		b.ticks = b.ticks[1:]
	}
}

// take removes an input that is settled, by the child or by us.
func (b *ShellBolt) take(ref uint64, byChild bool) (input, bool) {
	in, ok := b.pending[ref]
	if ok {
		delete(b.pending, ref)
	} else if in, ok = b.old[ref]; ok {
		delete(b.old, ref)
	}
	if ok && b.child != nil {
		out := b.child.out
		out.mu.Lock()
		out.settled(in.epoch)
		if byChild && !out.settles {
			out.settles, out.limit = true, out.maxPending
		}
		out.mu.Unlock()
	}
	return in, ok
}

func (b *ShellBolt) find(ref uint64) (storm.Tuple, bool) {
	in, ok := b.pending[ref]
	if !ok {
		in, ok = b.old[ref]
	}
	return in.tuple, ok && !in.over
}

// rotate forgets the inputs that have timed out long ago.
func (b *ShellBolt) rotate() {
	forget := b.sh.set.forget
	if forget <= 0 || time.Since(b.turn) < forget {
		return
	}
	b.turn = time.Now()
	for ref := range b.old {
		b.take(ref, false)
	}
	b.old, b.pending = b.pending, map[uint64]input{}
}

// message implements speaker.
func (b *ShellBolt) message(m *protocol.Message) {
	b.moved(m)
	switch m.Kind {
	case protocol.Emit:
		b.emit(m)
	case protocol.Ack, protocol.Fail:
		b.settle(m)
	case protocol.State:
		b.serve(m)
	case protocol.Checkpointed:
		b.checkpointed(m)
	default:
		b.common(m)
	}
}

// settle acks or fails an input.
func (b *ShellBolt) settle(m *protocol.Message) {
	if m.Err != nil {
		b.misunderstood(m)
		return
	}
	in, ok := b.take(m.Ref, true)
	switch {
	case ok && in.over:
	case ok && m.Kind == protocol.Ack:
		b.out.Ack(&in.tuple)
	case ok:
		b.fail(&in.tuple)
	case m.Ref == 0 || m.Ref > b.refs:
		b.complain(fmt.Errorf("the child sent %s of %s, which is the id of no input", m.Kind, m.ID))
	default:
		b.log.Debug("a child settled an input that is settled or was forgotten", "id", m.Ref, "how", m.Kind.String())
	}
}

// emit emits a tuple of the child's. If it cannot be, its anchors fail.
func (b *ShellBolt) emit(m *protocol.Message) {
	err := m.Err
	var tasks []storm.TaskID
	switch {
	case b.isPast(m):
		b.dropped++
		err = nil
	case err == nil:
		tasks, err = b.tryEmit(m)
	default:
		err = b.nameOutput(err, m.Stream)
	}
	if err != nil {
		b.complain(fmt.Errorf("the child's tuple for stream %q cannot be emitted, so its anchors fail: %w", m.Stream, err))
		for _, ref := range m.Anchors {
			b.failInput(ref)
		}
	}
	if m.NeedTaskIDs && !m.Direct {
		b.answerTasks(tasks)
	}
}

// failInput fails an input that the child still has.
func (b *ShellBolt) failInput(ref uint64) {
	for _, inputs := range []map[uint64]input{b.pending, b.old} {
		if in, ok := inputs[ref]; ok && !in.over {
			b.fail(&in.tuple)
			in.over = true
			inputs[ref] = in
		}
	}
}

func (b *ShellBolt) tryEmit(m *protocol.Message) (tasks []storm.TaskID, err error) {
	defer func() { err = usage(recover(), err) }()
	var anchor *storm.Tuple
	b.anchors = b.anchors[:0]
	for _, ref := range m.Anchors {
		t, ok := b.find(ref)
		if !ok {
			if ref > b.refs {
				return nil, fmt.Errorf("anchor %d is the id of no input", ref)
			}
			continue // its tree has ended, and needs to wait for nothing
		}
		b.anchors = append(b.anchors, t)
	}
	if len(b.anchors) == 1 {
		anchor = &b.anchors[0]
	}
	switch {
	case m.Direct && len(b.anchors) > 1:
		b.out.EmitDirectAnchors(m.Task, m.Stream, b.anchors, m.Tuple...)
	case m.Direct:
		b.out.EmitDirect(m.Task, m.Stream, anchor, m.Tuple...)
	case len(b.anchors) > 1:
		return b.out.EmitAnchors(m.Stream, b.anchors, m.Tuple...), nil
	default:
		return b.out.EmitStream(m.Stream, anchor, m.Tuple...), nil
	}
	return nil, nil
}

// usage makes what was recovered an error if it was a mistake of the child.
func usage(recovered any, err error) error {
	switch r := recovered.(type) {
	case nil:
		return err
	case *storm.UsageError:
		return r
	default:
		panic(r)
	}
}

// started implements speaker.
func (b *ShellBolt) started() error {
	if b.kept && !b.child.has(featureState) {
		return b.noState()
	}
	return nil
}

// lost implements speaker: it fails all that the child had.
func (b *ShellBolt) lost(err error) {
	n := len(b.pending) + len(b.old)
	b.failAll()
	b.pending, b.old, b.ticks = map[uint64]input{}, nil, nil
	b.bereft(err)
	if n > 0 {
		b.log.Info("the tuples that a child had were failed", slog.Int("tuples", n))
	}
}

// failAll fails all inputs that the child has.
func (b *ShellBolt) failAll() {
	for _, inputs := range []map[uint64]input{b.old, b.pending} {
		for _, ref := range slices.Sorted(maps.Keys(inputs)) {
			if in := inputs[ref]; !in.over {
				b.out.Fail(&in.tuple)
				in.over = true
				inputs[ref] = in
			}
		}
	}
}

// turnsPerLook is how many calls of turned there are for one look at the clock,
// which costs more than to send a tuple.
const turnsPerLook = 16

// turned implements speaker.
func (b *ShellBolt) turned() {
	if b.turns++; b.turns%turnsPerLook == 0 {
		b.rotate()
	}
	b.finish()
}
