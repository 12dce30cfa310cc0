package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Codes of a RemoteError that the transport itself sets. Handlers choose theirs
// from 100 on.
const (
	// CodeFailed is any error of a handler that set no code.
	CodeFailed uint16 = 1
	// CodeCanceled says that the other side gave up: it closed the stream, or
	// its handler ended with its context.
	CodeCanceled uint16 = 2
	// CodeBusy says that the other side has no room: too many streams or
	// request bytes. Try again later or elsewhere.
	CodeBusy uint16 = 3
	// CodeTooLarge says that a request or reply is above the MaxCall of a side.
	CodeTooLarge uint16 = 4
)

var (
	// ErrClosed says that this side closed the Endpoint or the Stream.
	ErrClosed = errors.New("closed")
	// ErrLost says that the connection broke or was cut. Whether the other side
	// got what was sent before is unknown.
	ErrLost = errors.New("connection lost")
	// ErrEnded is what Send says once the other side has ended the stream and
	// reads no more.
	ErrEnded = errors.New("the other side has ended the stream")
	// ErrTooLarge says that a message, request or header is above its limit;
	// nothing was sent.
	ErrTooLarge = errors.New("too large")

	// errNotSent says that a connection closed before anything was sent on it,
	// so that another may be tried.
	errNotSent = errors.New("connection closed before the send")
)

// RemoteError is an error that the other side reported.
type RemoteError struct {
	// Code tells errors apart: below 100 the Code constants, above the
	// handler's own.
	Code uint16
	// Text is for people, at most 1 KiB.
	Text string
}

// Error is the text with its code.
func (e *RemoteError) Error() string {
	return fmt.Sprintf("remote error %d: %s", e.Code, e.Text)
}

// VersionError says that the other side speaks another format of the wire.
type VersionError struct {
	// Addr is the other side.
	Addr string
	// Theirs and Ours are the format versions.
	Theirs, Ours uint16
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s speaks format version %d, this endpoint speaks %d: run the same release on both",
		e.Addr, e.Theirs, e.Ours)
}

// protocolError is what a peer did against the format; its connection is cut.
type protocolError struct{ what string }

func (e *protocolError) Error() string { return "protocol broken: " + e.what }

func broken(format string, args ...any) error {
	return &protocolError{what: fmt.Sprintf(format, args...)}
}

// noEOF keeps the end of a connection from being taken for the clean end of a
// stream, which io.EOF means to callers.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errHungUp
	}
	return err
}

var errHungUp = errors.New("closed by the other side")

// outcome is what the other side is told of a handler's error.
func outcome(err error) (code uint16, text string) {
	switch {
	case err == nil:
		return 0, ""
	case errors.Is(err, context.Canceled):
		code = CodeCanceled
	default:
		code = CodeFailed
	}
	text = err.Error()
	if remote, ok := errors.AsType[*RemoteError](err); ok {
		if remote.Code != 0 {
			code = remote.Code
		}
		if error(remote) == err { //nolint:errorlint // only the very error needs no words around it
			text = remote.Text
		}
	}
	if len(text) > maxText {
		text = text[:maxText]
	}
	return code, strings.ToValidUTF8(text, "")
}
