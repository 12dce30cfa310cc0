package coord

import (
	"errors"
	"fmt"
)

// What can go wrong. Compare with errors.Is.
var (
	ErrNoNode                  = errors.New("no such znode")
	ErrNodeExists              = errors.New("the znode exists already")
	ErrNotEmpty                = errors.New("the znode has children; delete them first")
	ErrBadVersion              = errors.New("the znode is in another version; read it again")
	ErrNoChildrenForEphemerals = errors.New("ephemeral znodes have no children")
	ErrSessionExpired          = errors.New("the session has expired; open a new one")
	ErrSessionClosed           = errors.New("the session is closed")
	ErrConnectionLoss          = errors.New("the coordination store cannot be reached")
	ErrInvalidPath             = errors.New("not a path of a znode")
	ErrInvalidMode             = errors.New("not a mode of a znode")
	ErrTooLarge                = errors.New("too much data for a znode")
)

// NoIndex is the OpError.Index of an operation by itself.
const NoIndex = -1

// OpError says which operation on which znode failed, and why.
type OpError struct {
	Op    string // such as "create"
	Path  string // as it was asked for; empty for operations on sessions
	Index int    // which of a Multi's operations, from 0; else NoIndex
	Err   error  // a sentinel of this package, or what wraps one
}

// Error says what failed, where and why.
func (e *OpError) Error() string {
	what := e.Op
	if e.Path != "" {
		what += " " + e.Path
	}
	if e.Index != NoIndex {
		what = fmt.Sprintf("operation %d of multi: %s", e.Index, what)
	}
	return "coord: " + what + ": " + e.Err.Error()
}

// Unwrap is the reason.
func (e *OpError) Unwrap() error { return e.Err }

// Failed is err as an *OpError of an operation by itself; nil stays nil.
func Failed(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &OpError{Op: op, Path: path, Index: NoIndex, Err: err}
}

// CheckSize returns ErrTooLarge with both sizes if size is more than limit
// bytes.
func CheckSize(size, limit int) error {
	if size <= limit {
		return nil
	}
	return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, size, limit)
}
