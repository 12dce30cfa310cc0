// Package assert checks invariants: what must be true unless our own code is
// wrong. A broken one panics, since nothing that runs on from there can be
// trusted. What a peer, a file or a user can cause is not an invariant but an
// error to return.
package assert

import "fmt"

// That panics unless cond holds. format and args say what is broken, with the
// values that show it. Arguments are evaluated always: keep them cheap, and on
// a hot path write the if yourself.
func That(cond bool, format string, args ...any) {
	if !cond {
		broken(format, args)
	}
}

// Costly checks what takes longer than a comparison, such as a walk through a
// whole table: check runs only in builds with the tag "invariants" or with the
// race detector, that is in our tests. It returns nil or what is broken.
func Costly(check func() error) {
	if !Thorough {
		return
	}
	if err := check(); err != nil {
		broken("%v", []any{err})
	}
}

func broken(format string, args []any) {
	panic("broken invariant: " + fmt.Sprintf(format, args...))
}
