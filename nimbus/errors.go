package nimbus

import (
	"context"
	"errors"
	"fmt"

	"github.com/stormring/stormring/internal/coord"
)

// What a call can end with. The handler makes Storm's exceptions of them;
// compare with errors.Is.
var (
	// ErrNotLeader: another nimbus leads, or none does at the moment.
	ErrNotLeader = errors.New("this nimbus does not lead; ask again, or ask the leader")
	// ErrAlreadyAlive: there is a topology of that name.
	ErrAlreadyAlive = errors.New("there is a topology of that name")
	// ErrNotAlive: there is no such topology.
	ErrNotAlive = errors.New("is not alive")
	// ErrInvalidTopology: it, its configuration or the change asked for makes
	// no sense; the text says what to change.
	ErrInvalidTopology = errors.New("invalid topology")
	// ErrAuthorization: whoever asks may not do that.
	ErrAuthorization = errors.New("not authorized")
	// ErrKeyNotFound: there is no such blob, component or supervisor.
	ErrKeyNotFound = errors.New("not found")
	// ErrIllegalState: the status of a topology does not allow that.
	ErrIllegalState = errors.New("not in this state")
)

// problem is an error of a kind whose text is only what went wrong: clients
// show it as it is.
type problem struct {
	kind error
	text string
	err  error
}

func (p *problem) Error() string { return p.text }

func (p *problem) Unwrap() []error {
	if p.err == nil {
		return []error{p.kind}
	}
	return []error{p.kind, p.err}
}

// as is err as an error of a kind.
func as(kind, err error) error { return &problem{kind, err.Error(), err} }

func asf(kind error, format string, args ...any) error {
	return &problem{kind, fmt.Sprintf(format, args...), nil}
}

// notAlive is Storm's text.
func notAlive(what string) error { return asf(ErrNotAlive, "%s is not alive", what) }

// gone reports whether err says that the session cannot be used any more, or
// cannot be relied on: whoever leads steps down.
func gone(err error) bool {
	for _, e := range []error{coord.ErrConnectionLoss, coord.ErrSessionExpired, coord.ErrSessionClosed, errFenced, context.Canceled} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// errFenced: a write was refused because this nimbus leads no more.
var errFenced = errors.New("the znode by which this nimbus led is gone")

// fenced turns the failure of a fence into errFenced.
func fenced(path string, err error) error {
	if op, ok := errors.AsType[*coord.OpError](err); ok && op.Path == path && errors.Is(op, coord.ErrNoNode) {
		return fmt.Errorf("%w: %w", errFenced, err)
	}
	return err
}
