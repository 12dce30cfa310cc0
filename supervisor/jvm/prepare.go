package jvm

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Prepare makes the worker's folder: what the worker writes to, and links to
// its logs, the topology's resources and its blobs. It may be done again.
func (s Spec) Prepare() error {
	links := s.links()
	dirs := []string{links["artifacts"]}
	for _, name := range []string{"pids", "heartbeats", "tmp"} {
		dirs = append(dirs, filepath.Join(s.dir(), name))
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return fmt.Errorf("the folder of worker %s: %w", s.WorkerID, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(links)) {
		to := links[name]
		if name == "resources" {
			if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
				continue // the topology brings none
			}
		}
		if err := s.link(name, to); err != nil {
			return fmt.Errorf("the folder of worker %s: %w", s.WorkerID, err)
		}
	}
	return nil
}

func (s Spec) link(name, to string) error {
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
		return fmt.Errorf("the blob %q is no plain name", name)
	}
	path := filepath.Join(s.dir(), name)
	if now, err := os.Readlink(path); err == nil && now == to {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(to, path)
}
