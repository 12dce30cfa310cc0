package statefulwordcount

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// The events of a journal.
const (
	// EventState: a task has its state, at its start or after it went back.
	EventState = "state"
	// EventFirst: it has then counted its first word.
	EventFirst = "first"
	// EventCommit: it will commit what it has saved.
	EventCommit = "commit"
)

// Event is a line of a journal.
type Event struct {
	Event string `json:"event"`
	// AtMicros is when, in microseconds of Unix time.
	AtMicros int64 `json:"atMicros"`
	// Task is the rank of the task that counts, Process its worker's.
	Task    int `json:"task"`
	Process int `json:"process"`
	// Transaction is that of EventCommit.
	Transaction int64 `json:"transaction,omitempty"`
	// Keys are those of the state, or of what is committed of it, Words what it has
	// counted.
	Keys  int64 `json:"keys"`
	Words int64 `json:"words"`
}

// note writes a line to the journal.
func (b *counter) note(event string, tx int64, of sums) error {
	if b.log == nil {
		return nil
	}
	line, err := json.Marshal(Event{
		Event: event, AtMicros: time.Now().UnixMicro(), Task: b.rank, Process: os.Getpid(), Transaction: tx,
		Keys: of.keys, Words: of.words,
	})
	if err == nil {
		_, err = b.log.Write(append(line, '\n')) // in one piece: others write too
	}
	if err != nil {
		return fmt.Errorf("statefulwordcount: write to the journal: %w", err)
	}
	return nil
}

// write writes the counts to the folder of --output: a new file in the place of
// the old one, so that nobody ever sees half of it.
func (b *counter) write() error {
	if b.output == "" {
		return nil
	}
	if err := b.replace(); err != nil {
		return fmt.Errorf("statefulwordcount: write counts to the folder of --output: %w", err)
	}
	return nil
}

func (b *counter) replace() error {
	if err := os.MkdirAll(b.output, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(b.output, "*.tmp")
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 256<<10)
	var line []byte
	err = b.each(func(e entry, n int64) error {
		line = append(append(append(append(line[:0], e.page...), '\t'), e.word...), '\t')
		line = append(strconv.AppendInt(line, n, 10), '\n')
		_, err := w.Write(line)
		return err
	})
	err = errors.Join(err, w.Flush(), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(b.output, fmt.Sprintf("counts-%d.tsv", b.rank)))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// ReadCounts calls f for each count in the files of a folder of --output; page is
// "" if pages were not told apart. It refuses damaged files by name and line, and
// ends with the first error of f.
func ReadCounts(dir string, f func(page, word string, n int64) error) error {
	paths, err := filepath.Glob(filepath.Join(dir, "counts-*.tsv"))
	if err != nil {
		return fmt.Errorf("statefulwordcount: look for counts: %w", err)
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err == nil {
			err = errors.Join(readLines(file, f), file.Close())
		}
		if err != nil {
			return fmt.Errorf("statefulwordcount: read %s: %w", path, err)
		}
	}
	return nil
}

func readLines(r io.Reader, f func(page, word string, n int64) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 2*maxLine)
	for i := 1; lines.Scan(); i++ {
		page, rest, ok := strings.Cut(lines.Text(), "\t")
		word, number, more := strings.Cut(rest, "\t")
		n, err := strconv.ParseInt(number, 10, 64)
		if !ok || !more || err != nil || word == "" {
			return fmt.Errorf("line %d is not a page, a word and a number with tabs between them", i)
		}
		if err := f(page, word, n); err != nil {
			return err
		}
	}
	return lines.Err()
}

// progressStep is after how many lines the spout tells where it is.
const progressStep = 1024

// job is what the tasks of one process share: what a local run shows while it
// runs and at its end.
type job struct {
	counters int
	before   []int64 // bytes of the files before each
	total    int64

	mu    sync.Mutex
	at    position
	parts map[int]map[string]int64 // counts of words by rank of the task
}

func newJob(files []source, counters int) *job {
	j := &job{counters: counters, parts: map[int]map[string]int64{}}
	for _, f := range files {
		j.before = append(j.before, j.total)
		j.total += f.size()
	}
	j.before = append(j.before, j.total)
	return j
}

// note keeps how far the input is read.
func (j *job) note(at position) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.at = at
}

// progress is the share of the input that was read.
func (j *job) progress() float64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return min(1, float64(j.before[j.at.File]+j.at.Offset)/float64(max(j.total, 1)))
}

// handOver takes what a task has counted, which may be one that was started
// again.
func (j *job) handOver(rank int, counts map[string]int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.parts[rank] = counts
}

// report prints the most frequent words.
func (j *job) report(w io.Writer, top int) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.parts) < j.counters {
		return fmt.Errorf("statefulwordcount: %d of %d tasks that count came to an orderly end; see the errors above and run again", len(j.parts), j.counters)
	}
	sums, total := map[string]int64{}, int64(0)
	for _, part := range j.parts {
		for word, n := range part {
			sums[word] += n
			total += n
		}
	}
	words := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	if top > 0 {
		words = words[:min(top, len(words))]
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COUNT\tWORD")
	for _, word := range words {
		fmt.Fprintf(t, "%d\t%s\n", sums[word], word)
	}
	fmt.Fprintf(t, "%d words, %d different\n", total, len(sums))
	if err := t.Flush(); err != nil {
		return fmt.Errorf("statefulwordcount: print the result: %w", err)
	}
	return nil
}
