package simulation

import (
	"context"
	"errors"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/worker/acker"
)

// ackerPart makes a task an acker.
type ackerPart struct {
	ledger *acker.Ledger
	one    [1]acker.Message
}

func (a *ackerPart) start(w *World) {
	a.ledger = acker.NewTimedLedger()
	if w.announce {
		a.ledger = acker.NewLedger()
	}
}

// tell sends m, which is about root, to the acker that follows root.
func (w *World) tell(from *task, root track.Root, m message) {
	w.send(from, w.ackers[acker.Choose(root, len(w.ackers))], m)
}

func (w *World) tellAck(from *task, root track.Root, val uint64) {
	w.tell(from, root&^acker.InitFlag, message{kind: ackMessage, ack: acker.Message{Root: root, Val: val}})
}

// count books a message and sends what follows from it.
func (w *World) count(t *task, m *message) {
	l := t.acker.ledger
	switch m.kind {
	case ackMessage:
		t.acker.one[0] = m.ack
		l.Apply(t.acker.one[:])
	case failMessage:
		l.Fail(m.root)
	case resetMessage:
		l.ResetTimeout(m.root)
	default:
		w.broken("acker task %d gets a message of kind %d", t.id, m.kind)
	}
	for _, o := range l.Outcomes() {
		w.checkOutcome(o)
		w.send(t, w.tasks[o.Root.Task()], message{kind: outcomeMessage, outcome: o})
	}
	l.ClearOutcomes()
}

// hands are what collectors want of a task besides emitting.
type hands struct{ w *World }

// ReportError implements storm.Task.
func (h hands) ReportError(err error) { h.w.broken("a component reports: %v", err) }

// Post implements storm.Task.
func (h hands) Post(context.Context, func()) error { return errors.New("nobody posts here") }
