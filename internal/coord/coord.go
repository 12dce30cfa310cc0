// Package coord is the port to the coordination store: a tree of small znodes
// with ZooKeeper's semantics. Start at Session. What a user needs of it is
// seldom all: take a Reader, a Watcher, a Writer or a Lease.
//
// The embedded package has the store of one process, for local mode and tests;
// coordtest has the suite that every implementation passes. Names follow
// ZooKeeper's own and those of its Go client, so that an adapter over that
// stays thin.
//
// Every error is an *OpError around one of this package's sentinels or the
// context's error. After ErrConnectionLoss a write may or may not have
// happened; after all others it has not.
package coord

import (
	"context"
	"time"
)

// Opener starts sessions.
type Opener interface {
	// Open starts a session that expires when the store has not heard of it for
	// timeout. The store may choose a time-out nearest to that within its own
	// bounds; see Lease.Timeout.
	Open(ctx context.Context, timeout time.Duration) (Session, error)
}

// Session is one client's standing with the store. It is safe for use by
// several goroutines. Its owner closes it.
type Session interface {
	Reader
	Watcher
	Writer
	Lease
}

// Lease is the life of a session.
type Lease interface {
	// ID tells the session from all others of the store; it is the
	// EphemeralOwner of the session's ephemeral znodes.
	ID() int64
	// Timeout is the time-out that the store has granted.
	Timeout() time.Duration
	// Done is closed when the session is over and the client knows it. While
	// the store cannot be reached a client cannot learn that it has expired.
	Done() <-chan struct{}
	// Err is nil until Done is closed, then ErrSessionExpired or
	// ErrSessionClosed.
	Err() error
	// Close ends the session: its ephemeral znodes are deleted, its watches
	// lost. If the store cannot be reached the session is over for the client
	// alone, and expires in the store. The session is over for the client even
	// if ctx is: a session that nobody wants must not live on. Closing again
	// does nothing.
	Close(ctx context.Context) error
}

// Reader looks at znodes. What it returns belongs to the caller.
type Reader interface {
	// Get is a znode's data. Errors: ErrNoNode.
	Get(ctx context.Context, path string) ([]byte, Stat, error)
	// Exists tells whether there is such a znode; Stat is zero if not.
	Exists(ctx context.Context, path string) (bool, Stat, error)
	// Children is the names of a znode's children, without their path, sorted.
	// Errors: ErrNoNode.
	Children(ctx context.Context, path string) ([]string, Stat, error)
}

// Syncer is a Reader whose store has copies that may be behind.
type Syncer interface {
	// Sync waits until what is read of the znode is as new as it was anywhere when
	// it was called.
	Sync(ctx context.Context, path string) error
}

// Watcher looks at znodes and is told, once, when that changes. The channel
// gets one Event and is closed; nobody has to read it. A session sees the
// event of a watch before it sees the change itself. A call that fails sets
// no watch. A watch ends only with its event: set one anew after the last has
// fired, not in a loop.
type Watcher interface {
	// GetW is Get with a watch that fires with EventNodeDataChanged or
	// EventNodeDeleted.
	GetW(ctx context.Context, path string) ([]byte, Stat, <-chan Event, error)
	// ExistsW is Exists with a watch as that of GetW, or, if there is no such
	// znode, one that fires with EventNodeCreated.
	ExistsW(ctx context.Context, path string) (bool, Stat, <-chan Event, error)
	// ChildrenW is Children with a watch that fires with
	// EventNodeChildrenChanged, or EventNodeDeleted for the znode itself. New
	// data of a child is no change.
	ChildrenW(ctx context.Context, path string) ([]string, Stat, <-chan Event, error)
}

// Writer changes znodes. A version is what Stat.Version has to be, or
// AnyVersion. Data is not kept: the caller may reuse it.
type Writer interface {
	// Create makes a znode and returns its path, which for a sequential one has
	// the number at its end. Errors: ErrNodeExists, ErrNoNode for the parent,
	// ErrNoChildrenForEphemerals, ErrTooLarge.
	Create(ctx context.Context, path string, data []byte, mode Mode) (string, error)
	// Set replaces a znode's data. Errors: ErrNoNode, ErrBadVersion,
	// ErrTooLarge.
	Set(ctx context.Context, path string, data []byte, version int32) (Stat, error)
	// Delete removes a znode. Errors: ErrNoNode, ErrBadVersion, ErrNotEmpty.
	Delete(ctx context.Context, path string, version int32) error
	// Multi performs all ops, each seeing those before it, or none. The error
	// is that of the first that cannot be; OpError.Index says which. The data
	// of all ops together is limited as that of one znode.
	Multi(ctx context.Context, ops ...Op) ([]Result, error)
}
