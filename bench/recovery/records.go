package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stormring/stormring/sr3/protocol"
)

// records are the commit records, in a folder that all processes of the lab see: a
// file a topology, under one lock.
type records struct {
	dir string
}

const recordSuffix = ".json"

// locked runs f while nobody else does anything with the records.
func (r records) locked(f func() error) error {
	lock, err := os.OpenFile(filepath.Join(r.dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // unlocks
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return f()
}

func (r records) path(topology string) string {
	return filepath.Join(r.dir, topology+recordSuffix)
}

func (r records) read(topology string) (protocol.Record, error) {
	var record protocol.Record
	body, err := os.ReadFile(r.path(topology))
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil
	}
	if err != nil {
		return record, err
	}
	if err := json.Unmarshal(body, &record); err != nil {
		return record, fmt.Errorf("%s: %w", r.path(topology), err)
	}
	return record, nil
}

// Get implements node.Records.
func (r records) Get(_ context.Context, topology string) (record protocol.Record, err error) {
	err = r.locked(func() error {
		record, err = r.read(topology)
		return err
	})
	return record, err
}

// Swap implements node.Records.
func (r records) Swap(_ context.Context, topology string, expect, next protocol.Record) (written bool, err error) {
	err = r.locked(func() error {
		is, err := r.read(topology)
		if err != nil || is != expect {
			return err
		}
		body, err := json.Marshal(next)
		if err != nil {
			return err
		}
		written = true
		return os.WriteFile(r.path(topology), body, 0o600)
	})
	return written && err == nil, err
}

// Topologies implements node.Records.
func (r records) Topologies(context.Context) ([]string, error) {
	files, err := os.ReadDir(r.dir)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), recordSuffix); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
