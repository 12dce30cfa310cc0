package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/supervisor/slot"
)

// slotFormat is the version of a slot's file.
const slotFormat = 1

// slotFile is what is kept of a slot.
type slotFile struct {
	Format int         `json:"format"`
	Record slot.Record `json:"record"`
	// Dir has the files that the record's worker runs on.
	Dir string `json:"dir,omitempty"`
	// Heard tells that the record's worker has been heard of.
	Heard bool `json:"heard,omitempty"`
}

// worker is the id of the record's worker; "" if it has none.
func (f slotFile) worker(port cluster.Port) string {
	if f.Record.Worker == nil {
		return ""
	}
	return workerID(port, f.Record.Worker.Launch)
}

// workerID names a launch. It is known before the launch, so that a worker is
// found of which nothing else is.
func workerID(port cluster.Port, launch slot.Serial) string {
	return fmt.Sprintf("%d-%d", port, launch)
}

func supervisorDir(localDir string) string { return filepath.Join(localDir, "supervisor") }

func slotsDir(localDir string) string { return filepath.Join(supervisorDir(localDir), "slots") }

func slotPath(localDir string, port cluster.Port) string {
	return filepath.Join(slotsDir(localDir), strconv.Itoa(int(port))+".json")
}

func (f slotFile) save(path string) error {
	f.Format = slotFormat
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("a slot's record: %w", err)
	}
	if err := writeFile(path, text); err != nil {
		return fmt.Errorf("a slot's record: %w", err)
	}
	return nil
}

// decodeSlot reads a slot's file.
func decodeSlot(text []byte) (slotFile, error) {
	var f slotFile
	if err := json.Unmarshal(text, &f); err != nil {
		return slotFile{}, err
	}
	if f.Format != slotFormat {
		return slotFile{}, fmt.Errorf("it has format %d, this release reads %d", f.Format, slotFormat)
	}
	if w := f.Record.Worker; w != nil && (w.Launch == 0 || w.Launch > f.Record.Last || w.Blobs > f.Record.Last) {
		return slotFile{}, fmt.Errorf("its worker is launch %d on blobs %d, but the last number is %d", w.Launch, w.Blobs, f.Record.Last)
	}
	return f, nil
}

// loadSlots reads the files of all slots that there have been. Those that cannot
// be read are put aside; their errors are returned beside the rest.
func loadSlots(localDir string) (map[cluster.Port]slotFile, error) {
	dir := slotsDir(localDir)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("the records of slots: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("the records of slots: %w", err)
	}
	out := map[cluster.Port]slotFile{}
	var bad []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		port, err := strconv.Atoi(name)
		if !ok || err != nil || strconv.Itoa(port) != name {
			continue
		}
		path := filepath.Join(dir, e.Name())
		text, err := os.ReadFile(path)
		if err == nil {
			out[cluster.Port(port)], err = decodeSlot(text)
		}
		if err != nil {
			delete(out, cluster.Port(port))
			aside := os.Rename(path, path+".bad")
			bad = append(bad, fmt.Errorf("the record of slot %d cannot be read, its worker starts anew: %w", port, errors.Join(err, aside)))
		}
	}
	return out, errors.Join(bad...)
}

// identity is the supervisor's id in localDir, chosen if there is none.
func identity(localDir, host string) (cluster.SupervisorID, error) {
	path := filepath.Join(supervisorDir(localDir), "id")
	text, err := os.ReadFile(path)
	switch id := strings.TrimSpace(string(text)); {
	case err == nil && id != "" && !strings.ContainsAny(id, "/\x00\n"):
		return cluster.SupervisorID(id), nil
	case err == nil:
		return "", fmt.Errorf("supervisor: %s has no id in it; remove it to get a new one", path)
	case !errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("supervisor: its id: %w", err)
	}
	id := uuid.NewString() + "-" + strings.NewReplacer("/", "_", "\x00", "_", "\n", "_").Replace(host)
	if err := writeFile(path, []byte(id+"\n")); err != nil {
		return "", fmt.Errorf("supervisor: its id: %w", err)
	}
	return cluster.SupervisorID(id), nil
}

// writeFile replaces a file, for this user alone, so that after a crash either
// the old or the new one is there, whole.
func writeFile(path string, text []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
