//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Clear removes the directory of a worker that is gone, or gives [ErrAlive]. It
// is no error if there is none. It tries for a while if something keeps it from
// that, or until ctx is done.
func (m *Manager) Clear(ctx context.Context, worker string) error {
	if err := checkID(worker); err != nil {
		return err
	}
	switch h, alive, err := m.Find(worker); {
	case err != nil:
		return fmt.Errorf("clear: %w", err)
	case alive:
		return fmt.Errorf("clear worker %s, process %d: %w; kill it before", worker, h.PID(), ErrAlive)
	}
	const tries, pause = 5, 50 * time.Millisecond
	for i := 1; ; i++ {
		err := m.clearOnce(worker)
		if err == nil {
			return nil
		}
		if i == tries || !rest(ctx, m.clock, pause) {
			return fmt.Errorf("clear worker %s: %w; remove %s by hand", worker, err, m.Dir(worker))
		}
	}
}

// clearOnce cannot leave the root, whatever links there are.
func (m *Manager) clearOnce(worker string) error {
	root, err := os.OpenRoot(m.root)
	if err != nil {
		return err
	}
	defer root.Close()
	err = root.RemoveAll(worker)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// Somebody left a directory there in which nothing can be removed.
	walkErr := fs.WalkDir(root.FS(), worker, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return root.Chmod(filepath.FromSlash(path), 0o700)
		}
		return err
	})
	if err := root.RemoveAll(worker); err != nil {
		return errors.Join(err, walkErr)
	}
	return nil
}
