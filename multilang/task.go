package multilang

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// speaker is what ShellBolt and ShellSpout do on the goroutine of their task.
type speaker interface {
	// message acts on a message of the current child.
	message(m *protocol.Message)
	// started is called when a child is ready for input. The error is final.
	started() error
	// lost is called when the current child, if any, is gone.
	lost(err error)
	// turned is called now and then.
	turned()
}

// task is what ShellBolt and ShellSpout share: the side of a shell that runs on
// the goroutine of the task.
type task struct {
	sh      shell
	speaker speaker
	ctx     *storm.TopologyContext
	log     *slog.Logger
	child   *child // that takes input; nil between two
	final   error  // no child will come any more
	kept    bool   // the state is what InitState is given
	report  func(error)
	gauges  map[string]*atomic.Uint64 // that children have reported
}

// Strays is how many lines a task's children have written to their standard
// output that were no messages. It may be called from any goroutine.
func (t *task) Strays() int64 { return t.sh.counters.strays.Value() }

// begin starts the first child and waits until it is ready.
func (t *task) begin(ctx *storm.TopologyContext, s speaker, do func(context.Context, func()) error, report func(error)) error {
	t.ctx, t.log, t.speaker, t.report = ctx, ctx.Logger(), s, report
	if keeps, _ := storm.ConfTopologySr3Stateful.Get(ctx.Conf()); keeps && !t.kept {
		return t.notKept()
	}
	t.sh.do = do
	t.sh.drain = func() {
		t.sh.called.Store(false)
		if err := t.look(); err != nil {
			panic(&storm.UsageError{Reason: err.Error()})
		}
	}
	if err := t.sh.open(ctx); err != nil {
		return err
	}
	for t.child == nil {
		stopping, err := t.wait()
		if err != nil {
			t.sh.close()
			return err
		}
		if stopping {
			return nil
		}
	}
	return nil
}

// notKept is the error of a component that is to keep state on the ring and was
// made as one that does not.
func (t *task) notKept() error {
	key, id := string(storm.ConfTopologySr3Stateful), t.ctx.Component()
	if t.sh.syncs {
		return fmt.Errorf("component %q has %s, but spouts in other languages cannot keep state on the ring: take the key away", id, key)
	}
	return fmt.Errorf("component %q has %s, but was not made to keep state on the ring: set the key for the component itself and not for the whole topology, or in Go make it with multilang.NewStatefulBolt", id, key)
}

// look acts on everything that has come. The error is final.
func (t *task) look() error {
	for !t.sh.held.Load() {
		select {
		case e := <-t.sh.events:
			if err := t.on(e); err != nil {
				return err
			}
		default:
			t.speaker.turned()
			return t.final
		}
	}
	t.speaker.turned()
	return t.final
}

// wait waits for something to happen and acts on it. The error is final.
func (t *task) wait() (stopping bool, err error) {
	if t.final != nil {
		return false, t.final
	}
	var room chan struct{}
	if t.child != nil {
		room = t.child.out.room
	}
	select {
	case e := <-t.sh.events:
		return false, t.on(e)
	case <-room:
		return false, nil
	case <-t.sh.ctx.Done():
		return true, nil
	}
}

// on acts on an event. The error is final.
func (t *task) on(e event) error {
	switch {
	case e.up:
		t.child = e.child
		if err := t.speaker.started(); err != nil {
			t.final = err
			return err
		}
	case e.err != nil:
		t.speaker.lost(e.err)
		t.child = nil
		if e.final {
			t.final = e.err
			return e.err
		}
		t.report(e.err)
	default:
		for i := range e.messages {
			t.hear(e.child, &e.messages[i])
		}
		t.sh.giveBack(e.messages)
	}
	return nil
}

// hear acts on a message. Before the handshake is done a child may only say
// what needs no answer.
func (t *task) hear(c *child, m *protocol.Message) {
	if t.child == nil && m.Kind != protocol.Broken && m.Kind != protocol.Log && m.Kind != protocol.Error && m.Kind != protocol.Metrics {
		t.complain(fmt.Errorf("the child sent %s before it had answered the handshake", m.Kind))
		return
	}
	if t.child != nil && asks(m) && t.child.out.choked() {
		c.doom(errors.New("it asks for task ids or state, and does not read the answers; let it say need_task_ids false"))
		return
	}
	t.speaker.message(m)
}

// common acts on messages that bolts and spouts send alike.
func (t *task) common(m *protocol.Message) {
	if m.Err != nil && m.Kind != protocol.Log && m.Kind != protocol.Error {
		t.misunderstood(m)
		return
	}
	switch m.Kind {
	case protocol.Log:
		t.log.Log(t.ctx.Context(), levelOf(m.Level), m.Text, "from", "child") //nolint:sloglint // the child's words
	case protocol.Error:
		t.report(fmt.Errorf("the child reports: %s", m.Text))
	case protocol.Metrics:
		if f := t.sh.spec.OnMetric; f != nil {
			f(m.Name, m.Value)
		} else {
			t.metric(m)
		}
	default:
		t.complain(fmt.Errorf("the child sent %s, which a component of its kind may not", m.Kind))
	}
}

// levelOf is a level of Storm's in Go's numbers.
func levelOf(level int) slog.Level {
	const trace = slog.LevelDebug - 4
	levels := [...]slog.Level{trace, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	if level < 0 || level >= len(levels) {
		return slog.LevelInfo
	}
	return levels[level]
}

// misunderstood reports a message that cannot be used.
func (t *task) misunderstood(m *protocol.Message) {
	if m.Text != "" {
		t.complain(fmt.Errorf("the child sent what cannot be used: %w: %s", m.Err, m.Text))
		return
	}
	t.complain(fmt.Errorf("the child sent %s that cannot be used: %w", m.Kind, m.Err))
}

// complain reports a mistake of the child, which ends it if the topology is
// strict.
func (t *task) complain(err error) {
	if t.sh.set.strict && t.child != nil {
		t.child.doom(err)
		return
	}
	t.report(err)
}

// nameOutput gives a value that cannot be emitted the name of its field.
func (t *task) nameOutput(err error, stream string) error {
	fields, _ := t.ctx.OutputFields(t.ctx.Component(), stream)
	return nameField(err, fields)
}

// answerTasks tells the child where its emission went.
func (t *task) answerTasks(tasks []storm.TaskID) {
	out := t.child.out
	_ = out.send(true, func(dst []byte) ([]byte, error) { return out.enc.TaskIDs(dst, tasks), nil })
}

// answer sends the child what it asked for.
func (t *task) answer(m map[string]storm.Value) error {
	out := t.child.out
	return out.send(true, func(dst []byte) ([]byte, error) { return out.enc.Object(dst, m) })
}

// has reports whether the child asked for an extension.
func (c *child) has(feature string) bool { return slices.Contains(c.wants, feature) }
