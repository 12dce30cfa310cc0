//go:build unix

package process

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// logFiles is where a worker's output goes.
type logFiles struct {
	Dir      string `json:"dir"`
	MaxBytes int64  `json:"maxBytes,omitempty"`
	Keep     int    `json:"keep,omitempty"`
}

// logs looks after a worker's output files. The worker writes to them by
// itself, always at their end, and holds them open all its life. So a file that
// has become too long is copied and then made empty; what the worker writes
// between the last read and that is lost, which is a moment. A supervisor that
// dies there leaves some output twice, never less.
type logs struct {
	files logFiles

	mu sync.Mutex
	// ill names the files that could not be rotated, which is said once.
	ill map[string]bool
}

func newLogs(files logFiles) *logs { return &logs{files: files, ill: make(map[string]bool)} }

func (l *logs) open() (stdout, stderr *os.File, err error) {
	if err := os.MkdirAll(l.files.Dir, 0o750); err != nil {
		return nil, nil, fmt.Errorf("make the log directory: %w", err)
	}
	const flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	stdout, err = os.OpenFile(filepath.Join(l.files.Dir, StdoutName), flags, 0o640)
	if err != nil {
		return nil, nil, fmt.Errorf("open the worker's output: %w", err)
	}
	stderr, err = os.OpenFile(filepath.Join(l.files.Dir, StderrName), flags, 0o640)
	if err != nil {
		stdout.Close()
		return nil, nil, fmt.Errorf("open the worker's output: %w", err)
	}
	return stdout, stderr, nil
}

// rotate rotates the files that are too long.
func (l *logs) rotate(log *slog.Logger) {
	if l.files.MaxBytes == 0 || l.files.Dir == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range []string{StdoutName, StderrName} {
		path := filepath.Join(l.files.Dir, name)
		err := rotateFile(path, l.files.MaxBytes, l.files.Keep)
		if err != nil && !l.ill[path] {
			log.Warn("a worker's output cannot be rotated and grows; make room on its disk", "file", path, "err", err)
		}
		l.ill[path] = err != nil
	}
}

// rotateFile moves what is in a file that is longer than limit to path.1, what
// was there to path.2, and so on up to keep.
func rotateFile(path string, limit int64, keep int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // somebody cleaned up; the worker writes on to nowhere
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() <= limit {
		return err
	}
	if keep == 0 {
		return f.Truncate(0)
	}
	// First make room.
	if err := os.Remove(numbered(path, keep)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return copyAway(f, path, keep)
}

func copyAway(f *os.File, path string, keep int) (err error) {
	temp := path + ".rotating"
	to, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, to.Close())
		if err != nil {
			os.Remove(temp)
		}
	}()
	if _, err := io.Copy(to, f); err != nil {
		return err
	}
	for n := keep - 1; n >= 1; n-- {
		if err := os.Rename(numbered(path, n), numbered(path, n+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(temp, numbered(path, 1)); err != nil {
		return err
	}
	// What came in the meantime, down to the last.
	for {
		n, err := io.Copy(to, f)
		if err != nil {
			return err
		}
		if n == 0 {
			return f.Truncate(0)
		}
	}
}

func numbered(path string, n int) string { return fmt.Sprintf("%s.%d", path, n) }
