package blobstore

import (
	"errors"
	"fmt"
)

// What can go wrong. Compare with errors.Is.
var (
	ErrKeyNotFound   = errors.New("no such blob")
	ErrKeyExists     = errors.New("the blob exists already")
	ErrAuthorization = errors.New("not authorised")
	// ErrSession: the session or the location of an upload is unknown, over, or
	// of another kind. Begin anew.
	ErrSession    = errors.New("no such session; begin a new one")
	ErrInvalidKey = errors.New("not a key of a blob")
	// ErrTooMany: a limit on what is open at once; the text names it.
	ErrTooMany = errors.New("too many at once; try again later")
	// ErrDamaged: the bytes on disk are not those that were stored.
	ErrDamaged = errors.New("the blob is damaged on this nimbus's disk; upload it again, or let it come from another nimbus")
	// ErrStale: an import of a version that is not newer than what is here.
	ErrStale = errors.New("this nimbus has a newer version")
	// ErrUncertain: the change has been made and can be seen, but the disk did
	// not confirm it. All other errors of a change mean that it was not made.
	ErrUncertain = errors.New("the change may be lost in a crash: the disk did not confirm it")
	ErrClosed    = errors.New("the blob store is closed")
	// ErrInUse: another process has the directory open.
	ErrInUse = errors.New("the directory is in use by another nimbus; give each its own")
)

// KeyError says that there is no blob with a key, or that there is one.
type KeyError struct {
	Key  string
	Kind error // ErrKeyNotFound or ErrKeyExists
}

// Error names the key.
func (e *KeyError) Error() string { return fmt.Sprintf("blob %q: %v", e.Key, e.Kind) }

// Unwrap is the kind.
func (e *KeyError) Unwrap() error { return e.Kind }
