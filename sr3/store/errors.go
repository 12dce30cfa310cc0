package store

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/syndtr/goleveldb/leveldb"
	ldberrors "github.com/syndtr/goleveldb/leveldb/errors"
	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/stormring/stormring/sr3/shard"
)

// Errors of a store; what its methods return wraps them.
var (
	// ErrFenced: a newer placement of the owner has been seen here.
	ErrFenced = errors.New("fenced")
	// ErrConflict: other bytes are stored under the same name.
	ErrConflict = errors.New("stored with other bytes")
	// ErrNotFound: it is not here.
	ErrNotFound = errors.New("not here")
	// ErrDamaged: the bytes are not those that were written. It is shard's.
	ErrDamaged = shard.ErrDamaged
	// ErrFull: nothing can be written, for want of room or of the right to.
	ErrFull = errors.New("cannot write")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("store is closed")
)

// noRoom tells whether err means that the disk or a quota is full.
func noRoom(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// noWrites tells whether err means that files must not be written.
func noWrites(err error) bool {
	// goleveldb's storage has an error of its own for this, without a name.
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, leveldb.ErrReadOnly) ||
		err != nil && err.Error() == "leveldb/storage: storage is read-only"
}

// corrupted tells whether err is about the files' content, or about files that
// are gone: something that recovery may get around.
func corrupted(err error) bool {
	if _, ok := errors.AsType[*ldberrors.ErrCorrupted](err); ok {
		return true
	}
	if _, ok := errors.AsType[*storage.ErrCorrupted](err); ok {
		return true
	}
	return errors.Is(err, syscall.EIO) || errors.Is(err, fs.ErrNotExist)
}

// explain says what a failed write means and what to do.
func explain(where string, err error) error {
	switch {
	case err == nil:
		return nil
	case noRoom(err):
		return fmt.Errorf("store %s: %w: no room: %w; free space on that disk, or raise its quota: reading goes on, writing resumes by itself", where, ErrFull, err)
	case noWrites(err):
		return fmt.Errorf("store %s: %w: read-only: %w; make that directory writable: reading goes on, writing resumes by itself", where, ErrFull, err)
	default:
		return fmt.Errorf("store %s: write failed: %w; check that disk: the store tries again with the next write", where, err)
	}
}

// lockedByUs tells whether a folder could be opened for writing but for our own
// lock on it.
func lockedByUs(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
