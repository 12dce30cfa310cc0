//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package blobstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lockFile takes the lock that keeps a second process out; closing it, or the
// end of the process, gives it back.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrInUse
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return f, nil
}
