package store

import (
	"errors"
	"os"
	"syscall"
)

// allocate makes a file of so many bytes that need not be written. Errors wrap
// errors.ErrUnsupported if the file system cannot do that.
func allocate(path string, bytes int64) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for {
		err = syscall.Fallocate(int(f.Fd()), 0, 0, bytes)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "allocate", Path: path, Err: err}
		}
		return f.Sync()
	}
}
