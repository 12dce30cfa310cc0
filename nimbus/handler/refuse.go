package handler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/nimbus/blobstore"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// declares is a set of exceptions: those that a method of the interface
// declares.
type declares uint8

const (
	alreadyAlive declares = 1 << iota
	notAlive
	invalidTopology
	unauthorized
	keyNotFound
	keyExists
	illegalState

	nothing declares = 0
)

// refusal is an error whose text a client may know though the interface
// declares no exception for it.
type refusal struct {
	text string
	err  error // nil if there is no other
}

func (r *refusal) Error() string {
	if r.err != nil {
		return r.err.Error()
	}
	return r.text
}

// Public is what the client is told.
func (r *refusal) Public() string { return r.text }

func (r *refusal) Unwrap() error { return r.err }

func refuse(format string, args ...any) error { return &refusal{text: fmt.Sprintf(format, args...)} }

// rule is an error that has an exception.
type rule struct {
	is        error
	kind      declares
	exception func(text string) error
}

func rules() []rule {
	noKey := func(text string) error { return &gen.KeyNotFoundException{Msg: text} }
	forbidden := func(text string) error { return &gen.AuthorizationException{Msg: text} }
	return []rule{
		{nimbus.ErrAlreadyAlive, alreadyAlive, func(text string) error { return &gen.AlreadyAliveException{Msg: text} }},
		{nimbus.ErrNotAlive, notAlive, func(text string) error { return &gen.NotAliveException{Msg: text} }},
		{nimbus.ErrInvalidTopology, invalidTopology, func(text string) error { return &gen.InvalidTopologyException{Msg: text} }},
		{nimbus.ErrAuthorization, unauthorized, forbidden},
		{blobstore.ErrAuthorization, unauthorized, forbidden},
		{nimbus.ErrKeyNotFound, keyNotFound, noKey},
		{blobstore.ErrKeyNotFound, keyNotFound, noKey},
		{blobstore.ErrKeyExists, keyExists, func(text string) error { return &gen.KeyAlreadyExistsException{Msg: text} }},
		{nimbus.ErrIllegalState, illegalState, func(text string) error { return &gen.IllegalStateException{Msg: text} }},
	}
}

// fail is err as a client of a method with these exceptions gets it: one of
// them, or a text that is meant for clients. Anything else stays as it is: its
// text is for the log.
func (h *handler) fail(ctx context.Context, d declares, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, nimbus.ErrNotLeader) {
		return &refusal{h.elsewhere(ctx), err}
	}
	for _, r := range rules() {
		switch {
		case !errors.Is(err, r.is):
		case d&r.kind != 0:
			return r.exception(message(err))
		default:
			return &refusal{err.Error(), err}
		}
	}
	for _, e := range []error{
		blobstore.ErrSession, blobstore.ErrInvalidKey, blobstore.ErrTooMany, blobstore.ErrDamaged, blobstore.ErrUncertain,
	} {
		if errors.Is(err, e) {
			return &refusal{err.Error(), err}
		}
	}
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, blobstore.ErrClosed):
		return &refusal{"this nimbus is stopping: try again, it may be another's turn", err}
	case errors.Is(err, coord.ErrConnectionLoss) || errors.Is(err, coord.ErrSessionExpired) || errors.Is(err, coord.ErrSessionClosed):
		return &refusal{"this nimbus has lost the coordination store (storm.zookeeper.servers): try again", err}
	}
	return err
}

// message is what an exception says. That of a key is the key alone: so it is
// with Storm, and programs read it.
func message(err error) string {
	if e, ok := errors.AsType[*blobstore.KeyError](err); ok {
		return e.Key
	}
	return err.Error()
}

// elsewhere tells a client whom to ask. Package client knows the words.
func (h *handler) elsewhere(ctx context.Context) string {
	leader, err := h.nimbus.Leader(ctx)
	if err != nil {
		return "not the leader; no nimbus leads at the moment: try again"
	}
	return "not the leader; the leader is " + net.JoinHostPort(leader.Host, strconv.Itoa(leader.Port))
}

// leads fails with ErrNotLeader if another nimbus leads. Whether a name is free
// only the leader knows, and it knows without asking anybody.
func (h *handler) leads(ctx context.Context) error {
	_, err := h.nimbus.NameAllowed(ctx, "")
	return err
}

// answer makes an answer of what nimbus said.
func answer[A, B any](ctx context.Context, h *handler, d declares, encode func(A) (B, error)) func(A, error) (B, error) {
	return func(a A, err error) (B, error) {
		if err != nil {
			var none B
			return none, h.fail(ctx, d, err)
		}
		return encode(a)
	}
}

// sure is an encoder that does not fail.
func sure[A, B any](encode func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return encode(a), nil }
}

// each is an encoder of lists, which are never absent.
func each[A, B any](encode func(A) B) func([]A) ([]B, error) {
	return func(list []A) ([]B, error) {
		out := make([]B, len(list))
		for i, a := range list {
			out[i] = encode(a)
		}
		return out, nil
	}
}

func same[A any](a A) (A, error) { return a, nil }
