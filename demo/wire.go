package demo

import (
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// What goes over the socket of the coordination store, as a stream of gob in each
// direction: requests of one session, and messages that answer them or bring
// events. Both ends are this very program, so nothing has a version.

// The operations of a request; those of a session first.
const (
	opOpen     = "open"
	opClose    = "close"
	opGet      = "get"
	opExists   = "exists"
	opChildren = "children"
	opCreate   = "create"
	opSet      = "set"
	opDelete   = "delete"
	opMulti    = "multi"
	opCheck    = "check" // within a multi
)

// request asks for one operation.
type request struct {
	ID      uint64
	Op      string
	Path    string
	Data    []byte
	Mode    coord.Mode
	Version int32
	Ops     []request // of opMulti
	// Watch asks for a watch too.
	Watch   bool
	Timeout time.Duration // of opOpen
}

// message is what the store says: the answer to request ID, or, if that is 0,
// Event of the watch that was set by request Watch, or the end of the session.
type message struct {
	ID      uint64
	Watch   uint64
	Event   *event
	Over    *failure
	Session int64         // of opOpen
	Timeout time.Duration // of opOpen
	Data    []byte
	Stat    coord.Stat
	Exists  bool
	Names   []string
	Path    string
	Results []coord.Result
	Failure *failure
}

// event is a coord.Event.
type event struct {
	Type coord.EventType
	Path string
	Err  *failure
}

// failure is an error of package coord.
type failure struct {
	Op, Path string
	Index    int
	// Sentinel is the number of the error in sentinels, -1 if it is none.
	Sentinel int
	Text     string
	// Whole tells that it was an OpError.
	Whole bool
}

func sentinels() []error {
	return []error{
		coord.ErrNoNode, coord.ErrNodeExists, coord.ErrNotEmpty, coord.ErrBadVersion, coord.ErrNoChildrenForEphemerals,
		coord.ErrSessionExpired, coord.ErrSessionClosed, coord.ErrConnectionLoss, coord.ErrInvalidPath, coord.ErrInvalidMode,
		coord.ErrTooLarge,
	}
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Sentinel: -1, Text: err.Error(), Index: coord.NoIndex}
	if e, ok := errors.AsType[*coord.OpError](err); ok {
		f.Op, f.Path, f.Index, f.Whole, f.Text = e.Op, e.Path, e.Index, true, e.Err.Error()
	}
	for i, s := range sentinels() {
		if errors.Is(err, s) {
			f.Sentinel = i
		}
	}
	return f
}

// err is the error again.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	why := errors.New(f.Text)
	if all := sentinels(); f.Sentinel >= 0 && f.Sentinel < len(all) {
		if why = all[f.Sentinel]; why.Error() != f.Text {
			why = &detailed{why, f.Text}
		}
	}
	if !f.Whole {
		return why
	}
	return &coord.OpError{Op: f.Op, Path: f.Path, Index: f.Index, Err: why}
}

// detailed is a sentinel with more to say.
type detailed struct {
	error
	text string
}

func (d *detailed) Error() string { return d.text }
func (d *detailed) Unwrap() error { return d.error }

func (e event) event() coord.Event {
	return coord.Event{Type: e.Type, Path: e.Path, Err: e.Err.err()}
}

// ops are the operations of a multi.
func (q request) ops() ([]coord.Op, error) {
	ops := make([]coord.Op, len(q.Ops))
	for i, o := range q.Ops {
		switch o.Op {
		case opCreate:
			ops[i] = coord.CreateOp{Path: o.Path, Data: o.Data, Mode: o.Mode}
		case opSet:
			ops[i] = coord.SetOp{Path: o.Path, Data: o.Data, Version: o.Version}
		case opDelete:
			ops[i] = coord.DeleteOp{Path: o.Path, Version: o.Version}
		case opCheck:
			ops[i] = coord.CheckOp{Path: o.Path, Version: o.Version}
		default:
			return nil, fmt.Errorf("there is no operation %q in a multi", o.Op)
		}
	}
	return ops, nil
}

func requestsOf(ops []coord.Op) []request {
	out := make([]request, len(ops))
	for i, o := range ops {
		op, path := o.Name()
		out[i] = request{Op: op, Path: path}
		switch o := o.(type) {
		case coord.CreateOp:
			out[i].Data, out[i].Mode = o.Data, o.Mode
		case coord.SetOp:
			out[i].Data, out[i].Version = o.Data, o.Version
		case coord.DeleteOp:
			out[i].Version = o.Version
		case coord.CheckOp:
			out[i].Version = o.Version
		}
	}
	return out
}
