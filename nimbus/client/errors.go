package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/thrift"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// What a call can end with. Compare with errors.Is; the first seven are kinds
// of an [Error].
var (
	ErrAlreadyAlive    = errors.New("there is a topology of that name")
	ErrNotAlive        = errors.New("no such topology is alive")
	ErrInvalidTopology = errors.New("invalid topology")
	ErrAuthorization   = errors.New("not authorized")
	ErrKeyNotFound     = errors.New("no such blob")
	ErrKeyExists       = errors.New("the blob exists already")
	ErrIllegalState    = errors.New("not in this state")
	// ErrRefused is the kind of an Error of which Storm's interface has none.
	ErrRefused = errors.New("nimbus could not do that")

	// ErrUnreachable: no nimbus that leads was found in time.
	ErrUnreachable = errors.New("no nimbus can be reached")
	// ErrUncertain: the connection broke, or the time was over, before nimbus
	// answered. What was asked for may have been done.
	ErrUncertain = errors.New("nimbus did not answer, so it may or may not have been done: look before you try again")
	// ErrClosed: the Client is closed.
	ErrClosed = errors.New("the client is closed")
)

// Error is nimbus's refusal. Its text is nimbus's own.
type Error struct {
	Kind error
	Text string
}

// Error is what nimbus said.
func (e *Error) Error() string { return e.Text }

// Unwrap is the kind.
func (e *Error) Unwrap() error { return e.Kind }

// exception is one of Storm's interface.
type exception interface {
	error
	GetMsg() string
}

// refusal is the answer that err is, if it is one.
func refusal(err error) (*Error, bool) {
	if e, ok := errors.AsType[exception](err); ok {
		return &Error{kindOf(e), e.GetMsg()}, true
	}
	e, ok := errors.AsType[apache.TApplicationException](err)
	if !ok {
		return nil, false
	}
	text := e.Error()
	if rest, ok := strings.CutPrefix(text, "Internal error processing "); ok {
		method, why, _ := strings.Cut(rest, ": ")
		text = why
		if why == "" {
			text = fmt.Sprintf("nimbus failed in %s: its log says why", method)
		}
	}
	return &Error{ErrRefused, text}, true
}

func kindOf(e exception) error {
	switch e.(type) {
	case *gen.AlreadyAliveException:
		return ErrAlreadyAlive
	case *gen.NotAliveException:
		return ErrNotAlive
	case *gen.InvalidTopologyException:
		return ErrInvalidTopology
	case *gen.AuthorizationException:
		return ErrAuthorization
	case *gen.KeyNotFoundException:
		return ErrKeyNotFound
	case *gen.KeyAlreadyExistsException:
		return ErrKeyExists
	case *gen.IllegalStateException:
		return ErrIllegalState
	default:
		return ErrRefused
	}
}

// sendsElsewhere reports whether a nimbus refused because it does not lead:
// in our words or in Storm's.
func sendsElsewhere(e *Error) bool {
	return errors.Is(e, ErrRefused) && (strings.Contains(e.Text, "not the leader") || strings.Contains(e.Text, "not a leader"))
}

// broken reports whether err is that of a connection that broke, so that
// another may do better.
func broken(err error) bool {
	if _, ok := errors.AsType[final](err); ok || late(err) {
		return false
	}
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, thrift.ErrConnClosed) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// late reports whether err says that the time was over.
func late(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// final is a failure that another connection does not make good.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// unsent reports whether err says that nothing was sent.
func unsent(err error) bool { return errors.Is(err, thrift.ErrConnClosed) }
