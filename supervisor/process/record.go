//go:build unix

package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// record is what a supervisor's successor has to know of a worker. It need not
// outlive the host, as no worker does, so nothing is forced onto the disk; but
// it must never be there by half.
type record struct {
	// PID is 0 until the process is there.
	PID int `json:"pid,omitempty"`
	// Start is when the process started, in clock ticks since the boot.
	Start uint64 `json:"start,omitempty"`
	// Boot tells boots of the host apart.
	Boot string   `json:"boot,omitempty"`
	Argv []string `json:"argv"`
	Logs logFiles `json:"logs"`
}

func recordPath(dir string) string { return filepath.Join(dir, "process.json") }

func (r record) write(dir string) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	name := recordPath(dir)
	if err := os.WriteFile(name+".new", b, 0o640); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// readRecord is the record in a worker's directory, if there is one that makes
// sense; the error is for the log.
func readRecord(dir string) (record, bool, error) {
	b, err := os.ReadFile(recordPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, err
	}
	r, err := parseRecord(b)
	if err != nil {
		return record{}, false, fmt.Errorf("%s: %w", recordPath(dir), err)
	}
	return r, true, nil
}

func parseRecord(b []byte) (record, error) {
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, fmt.Errorf("not a record of a worker's process: %w", err)
	}
	// Pid 1 is no worker, and 0 and below mean groups to kill.
	if r.PID < 0 || r.PID == 1 || r.PID > maxPID || r.Logs.MaxBytes < 0 || r.Logs.Keep < 0 {
		return record{}, fmt.Errorf("not a record of a worker's process: pid %d, logs %+v", r.PID, r.Logs)
	}
	return r, nil
}

// maxPID is the largest process id of any system that this runs on.
const maxPID = 1 << 30
