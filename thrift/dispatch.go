package thrift

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	apache "github.com/apache/thrift/lib/go/thrift"
)

var errSilent = errors.New("the method wrote no answer")

// dispatch gives a request to its method when it is its turn and returns the
// answer, which is always one.
func (s *server) dispatch(ctx, running context.Context, call head, args []byte) *outgoing {
	if call.kind != apache.CALL {
		return exception(call, apache.INVALID_MESSAGE_TYPE_EXCEPTION,
			fmt.Sprintf("%s: the message is no call (type %d)", call.name, call.kind))
	}
	method, ok := s.methods[call.name]
	if !ok {
		return exception(call, apache.UNKNOWN_METHOD, fmt.Sprintf("there is no method %q", call.name))
	}
	if why := s.acquire(ctx); why != "" {
		return exception(call, apache.INTERNAL_ERROR, why)
	}
	defer func() { <-s.slots }()
	return s.call(running, method, call, args)
}

// acquire waits for one of the Threads slots; it says why there is none.
func (s *server) acquire(ctx context.Context) string {
	const stopping = "the server is stopping"
	if ctx.Err() != nil {
		return stopping
	}
	select {
	case s.slots <- struct{}{}:
		return ""
	default:
	}
	defer s.waiting.Add(-1)
	if s.waiting.Add(1) > int64(s.cfg.Queue) {
		s.refused.note("reason", "requests", "threads", s.cfg.Threads, "queue", s.cfg.Queue)
		return fmt.Sprintf("the server is busy: %d requests are being worked on and %d wait; try again later",
			s.cfg.Threads, s.cfg.Queue)
	}
	select {
	case s.slots <- struct{}{}:
		return ""
	case <-ctx.Done():
		return stopping
	}
}

// call runs a method.
func (s *server) call(ctx context.Context, method apache.TProcessorFunction, call head, args []byte) (out *outgoing) {
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Logger.Error("a method panicked", "method", call.name, "panic", v, "stack", string(debug.Stack()))
			out = internal(call, "")
		}
	}()
	out = newOutgoing(s.cfg.MaxFrame)
	var err error
	_, failure := method.Process(ctx, call.seq, Widen(reader(args), widened(call.name)...), out.protocol())
	if failure != nil {
		err = failure
	}
	if out.tooLong() {
		s.tooLong.note("answer of", call.name, "bytes", out.size, "limit", s.cfg.MaxFrame, "key", s.cfg.Key)
		return exception(call, apache.INTERNAL_ERROR,
			fmt.Sprintf("the answer has %d bytes, more than the %d that %s allows", out.size, s.cfg.MaxFrame, s.cfg.Key))
	}
	if out.size == 0 && err == nil {
		err = errSilent
	}
	if err == nil || declared(out) {
		return out
	}
	text, public := publicText(err)
	if public {
		s.cfg.Logger.Debug("a method failed", "method", call.name, "error", err)
	} else {
		s.cfg.Logger.Error("a method failed", "method", call.name, "error", err)
	}
	return internal(call, text)
}

// declared reports whether an answer may leave as it is though the method
// failed: the error is one of the interface, or it is about the arguments.
// Else the generated code has put the whole text of the error into it.
func declared(out *outgoing) bool {
	answer, rest, err := parseHead(out.message())
	if err != nil {
		return false
	}
	if answer.kind != apache.EXCEPTION {
		return true
	}
	e := apache.NewTApplicationException(0, "")
	return e.Read(context.Background(), reader(rest)) == nil && e.TypeId() == apache.PROTOCOL_ERROR
}

// publicText is what a client may know of an undeclared error.
func publicText(err error) (string, bool) {
	if e, ok := errors.AsType[PublicError](err); ok {
		return e.Public(), true
	}
	// An exception of the interface, though not of this method.
	type stormException interface {
		error
		GetMsg() string
	}
	if e, ok := errors.AsType[stormException](err); ok {
		return e.GetMsg(), true
	}
	return "", false
}

func internal(call head, text string) *outgoing {
	message := "Internal error processing " + call.name
	if text != "" {
		message += ": " + text
	}
	return exception(call, apache.INTERNAL_ERROR, message)
}

// exception is an answer that is none of the interface's.
func exception(call head, code int32, text string) *outgoing {
	// maxText keeps it below any sensible limit of a client.
	const maxText = 16 << 10
	out := newOutgoing(maxText + 2*maxName)
	p, ctx := out.protocol(), context.Background()
	if len(text) > maxText {
		text = text[:maxText]
	}
	// Writing into memory does not fail.
	_ = p.WriteMessageBegin(ctx, call.name, apache.EXCEPTION, call.seq)
	_ = apache.NewTApplicationException(code, text).Write(ctx, p)
	_ = p.WriteMessageEnd(ctx)
	return out
}
