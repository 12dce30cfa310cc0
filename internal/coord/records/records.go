// Package records has what daemons keep in the coordination store, as values
// of package cluster: topologies and their assignments, supervisors, nimbuses,
// errors, credentials, log levels, who holds which blob, and Stormring's own
// records. Paths and payloads are Storm's, so that its own tools can read
// them; what is our own lies below <root>/stormring.
//
// Begin at Store. It keeps nothing in memory and starts no goroutine: each
// method is one or a few calls of a coord.Session. What holds for all of them:
//
//   - A record that is not there is coord.ErrNoNode. Removing it is no error.
//   - A record that cannot be read is a *CorruptError. A method that reads
//     several returns those that it could read beside it.
//   - Methods in W set a watch, as those of coord.Watcher do. They return it
//     with a *CorruptError too, and with coord.ErrNoNode, when it tells of the
//     record's creation.
//   - Extra operations of a put are performed with it or not at all, and before
//     it: a leader's check that it still is one, for example.
package records

import (
	"context"
	"strings"

	"github.com/stormring/stormring/internal/coord"
)

// Version is how often a znode's data was set; coord.AnyVersion matches all.
type Version = int32

// Absent as the expected version of a put says that there must not be such a
// record yet.
const Absent Version = -2

// Store reads and writes records below one root. It is safe for use by several
// goroutines.
type Store struct {
	s    coord.Session
	root string
}

// New is the store below root, such as "/storm", in session s. It does no I/O;
// see Init.
func New(s coord.Session, root string) *Store {
	return &Store{s: s, root: strings.TrimSuffix(root, "/")}
}

// Session is the session that the store uses.
func (s *Store) Session() coord.Session { return s.s }

// Init makes all parents of records that are not there yet.
func (s *Store) Init(ctx context.Context) error {
	for _, dir := range parents() {
		if err := s.makeDir(ctx, s.dir(dir)); err != nil {
			return err
		}
	}
	return nil
}

// CorruptError is a record that cannot be read. It concerns that one record
// alone.
type CorruptError struct {
	Path string
	Err  error
}

// Error says which record and why.
func (e *CorruptError) Error() string {
	return "records: " + e.Path + " cannot be read: " + e.Err.Error()
}

// Unwrap is the reason.
func (e *CorruptError) Unwrap() error { return e.Err }
