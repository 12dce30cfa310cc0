package nimbus

import (
	"context"
	"io"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/nimbus/blobstore"
)

// Blobs is where code lies. Not-there is an error that wraps ErrKeyNotFound.
type Blobs interface {
	// Put writes a blob, new or not, that belongs to owner, and returns its
	// version.
	Put(ctx context.Context, key, owner string, data io.Reader) (int64, error)
	// Get reads a blob; the caller closes it.
	Get(ctx context.Context, key string) (io.ReadCloser, int64, error)
	// Version is a blob's version.
	Version(ctx context.Context, key string) (int64, error)
	// Delete removes a blob; it is no error if there is none.
	Delete(ctx context.Context, key string) error
	// Keys are all keys.
	Keys(ctx context.Context) ([]string, error)
	// Head is how an uploaded file begins.
	Head(location string) ([]byte, error)
	// Adopt makes an uploaded file a blob.
	Adopt(ctx context.Context, location, key, owner string) error
	// Sweep removes what was uploaded and is not wanted any more.
	Sweep(ctx context.Context) error
}

// Latch is this nimbus's part in an election.
type Latch interface {
	// Term is the check that a leader puts into its writes: it fails with
	// coord.ErrNoNode once the term is over. It is false while another leads.
	Term() (coord.CheckOp, bool)
	// Changes gets a value when Term may have changed.
	Changes() <-chan struct{}
	// Resign ends a term.
	Resign(term coord.CheckOp)
	// Close withdraws.
	Close(ctx context.Context) error
}

// Elect stands for election under an id, such as host:port, in a session.
type Elect func(s coord.Session, root, id string) (Latch, error)

// Replicator keeps this nimbus's blobs like those of the others. Its Sync is
// not called twice at once.
type Replicator interface {
	// Sync fetches and announces whatever is new.
	Sync(ctx context.Context) (blobstore.Report, error)
	// Announce tells the others of a blob that has changed here.
	Announce(ctx context.Context, key string) error
	// Copies is on how many nimbuses a blob is, in its newest version.
	Copies(ctx context.Context, key string) (int, error)
}
