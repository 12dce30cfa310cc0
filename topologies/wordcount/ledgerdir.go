package wordcount

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// The files of a ledger. Each is written whole and then named, or by a single
// writer that only appends; so nobody ever sees half of one, but for the last
// line of a counts file whose writer was killed.
const (
	jobFile        = "job.json"
	countsPrefix   = "counts-"   // and a rank among the counters, ".", a number
	progressPrefix = "progress-" // and a rank among the spout tasks, "-of-", their number
	donePrefix     = "done-"     // likewise
)

// manifest says what a ledger is about. Ledgers whose manifests differ have
// different blocks.
type manifest struct {
	Version    int    `json:"version"`
	BlockBytes int64  `json:"blockBytes"`
	Blocks     int64  `json:"blocks"`
	Inputs     int    `json:"inputs"`
	SHA256     string `json:"sha256"` // of paths and sizes of the inputs
}

// ledgerVersion is of the format of the files.
const ledgerVersion = 1

func newManifest(blocks *blockList) manifest {
	h := sha256.New()
	for _, in := range blocks.inputs {
		fmt.Fprintf(h, "%q %d\n", in.path, in.size)
	}
	return manifest{
		Version: ledgerVersion, BlockBytes: blocks.size, Blocks: blocks.total(),
		Inputs: len(blocks.inputs), SHA256: hex.EncodeToString(h.Sum(nil)),
	}
}

// readManifest wraps fs.ErrNotExist if dir is no ledger (yet).
func readManifest(dir string) (manifest, error) {
	var m manifest
	data, err := os.ReadFile(filepath.Join(dir, jobFile))
	if err != nil {
		return m, fmt.Errorf("%s is no ledger of wordcount: %w", dir, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&m); err != nil {
		return m, fmt.Errorf("%s of the ledger %s is damaged: %w", jobFile, dir, err)
	}
	if m.Version != ledgerVersion || m.BlockBytes < 1 || m.Blocks < 0 {
		return m, fmt.Errorf("the ledger %s is of another version of wordcount: %s", dir, bytes.TrimSpace(data))
	}
	return m, nil
}

// ledger is the folder that the tasks of a topology share, in whatever process
// they run. It is exact because it is a set: an entry says that a word, the
// index-th different one of a block, is in that block n times. Blocks and their
// words are always numbered alike, so an entry that is written twice, by a
// replay, a restarted task or one that should be gone, is one entry.
type ledger struct {
	dir    string
	blocks *blockList
	job    manifest
	sync   bool

	mu      sync.Mutex
	settled map[int]int64 // blocks settled, by rank of the spout task
}

func newLedger(dir string, blocks *blockList, sync bool) *ledger {
	return &ledger{dir: dir, blocks: blocks, job: newManifest(blocks), sync: sync, settled: map[int]int64{}}
}

// check refuses a folder that holds another ledger. It writes nothing.
func (l *ledger) check() error {
	have, err := readManifest(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && have != l.job {
		err = fmt.Errorf("the ledger %s is of other inputs, or they have changed: it has %+v, here are %+v; give the same inputs again or an empty folder",
			l.dir, have, l.job)
	}
	return err
}

// enter makes the ledger if it is not there. Every task that uses it calls it.
func (l *ledger) enter() error {
	if err := os.MkdirAll(l.dir, 0o777); err != nil {
		return fmt.Errorf("make the ledger: %w", err)
	}
	if err := l.check(); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := json.Marshal(l.job)
	if err != nil {
		return fmt.Errorf("describe the ledger: %w", err)
	}
	// A link, unlike a rename, replaces nothing that came in between.
	if err := l.publish(jobFile, append(data, '\n'), os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return l.check()
}

// publish writes a file under a name of its own and then puts it in its place.
func (l *ledger) publish(name string, data []byte, put func(from, to string) error) error {
	f, err := os.CreateTemp(l.dir, name+".*.tmp")
	if err != nil {
		return fmt.Errorf("write to the ledger: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644))
	if l.sync {
		err = errors.Join(err, f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = put(f.Name(), filepath.Join(l.dir, name))
	}
	// After a rename it is gone already; one that stays behind does no harm.
	_ = os.Remove(f.Name())
	if err != nil {
		return fmt.Errorf("write %s of the ledger: %w", name, err)
	}
	return nil
}

// newCounts makes a counts file that no process has written to before. A task
// that is started again, perhaps while its predecessor lives on somewhere, so
// never meets a torn line or another writer.
func (l *ledger) newCounts(rank int) (*os.File, error) {
	for k := 1; ; k++ {
		name := fmt.Sprintf("%s%d.%d", countsPrefix, rank, k)
		f, err := os.OpenFile(filepath.Join(l.dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// spoutFile is the name of a file of a spout task.
func spoutFile(prefix string, rank, tasks int) string {
	return fmt.Sprintf("%s%d-of-%d", prefix, rank, tasks)
}

// readProgress tells how many blocks of a spout task were settled, of those
// that come first for it; 0 if nobody has noted it. What it tells stays true.
func (l *ledger) readProgress(rank, tasks int) (int64, error) {
	name := spoutFile(progressPrefix, rank, tasks)
	data, err := os.ReadFile(filepath.Join(l.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the ledger: %w", err)
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(string(data), "\n"), 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s of the ledger %s is damaged; without it the task begins anew, which is safe", name, l.dir)
	}
	return n, nil
}

func (l *ledger) writeProgress(rank, tasks int, settled int64) error {
	return l.publish(spoutFile(progressPrefix, rank, tasks), fmt.Appendf(nil, "%d\n", settled), os.Rename)
}

// markDone notes that all blocks of a spout task are settled.
func (l *ledger) markDone(rank, tasks int, blocks int64) error {
	return l.publish(spoutFile(donePrefix, rank, tasks), fmt.Appendf(nil, "%d blocks\n", blocks), os.Rename)
}

// note keeps how far a spout task of this process has come.
func (l *ledger) note(rank int, settled int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled[rank] = settled
}

// progress is the share of the blocks that this process knows to be settled.
func (l *ledger) progress() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := int64(0)
	for _, n := range l.settled {
		sum += n
	}
	return float64(sum) / float64(max(l.job.Blocks, 1))
}
