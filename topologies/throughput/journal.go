package throughput

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// The kinds of journals, with which the names of their files begin. The number of
// the process comes next.
const (
	// Counts has how many tuples a task has counted.
	Counts = "count"
	// Latencies has how long each tuple took from its emission until it was acked,
	// in nanoseconds.
	Latencies = "latency"
	// Commits has how many tuples were executed when a checkpoint was committed.
	Commits = "commit"
)

const (
	// pause is the least time between two lines of counts.
	pause = 50 * time.Millisecond
	// batch is how many notes are written at once, unless that takes longer than
	// notePause.
	batch     = 500
	notePause = 200 * time.Millisecond
)

// Journal is a file that one task writes for whoever measures, a line at a time:
// when, in microseconds of Unix time, and numbers. What is compared with Storm is
// written the same way in Java (bench/compare/java). A nil Journal takes nothing.
type Journal struct {
	file   *os.File
	last   time.Time // when it was last written
	notes  []byte
	noted  int
	failed error
}

// OpenJournal makes a file in a folder.
func OpenJournal(dir, kind string) (*Journal, error) {
	name := fmt.Sprintf("%s-%d-%x", kind, os.Getpid(), time.Now().UnixNano())
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open a journal: %w", err)
	}
	return &Journal{file: f}, nil
}

// Tell writes numbers, unless the last were written just before; the very first
// ones are written at once.
func (j *Journal) Tell(numbers ...int64) {
	if j == nil {
		return
	}
	if now := time.Now(); now.Sub(j.last) >= pause {
		j.last = now
		j.write(line(nil, now, numbers...))
	}
}

// Note keeps a number, and writes when many have come together.
func (j *Journal) Note(number int64) {
	if j == nil {
		return
	}
	now := time.Now()
	j.notes = line(j.notes, now, number)
	if j.noted++; j.noted == batch || now.Sub(j.last) >= notePause {
		j.last = now
		j.write(j.notes)
		j.notes, j.noted = j.notes[:0], 0
	}
}

func line(dst []byte, at time.Time, numbers ...int64) []byte {
	dst = strconv.AppendInt(dst, at.UnixMicro(), 10)
	for _, n := range numbers {
		dst = strconv.AppendInt(append(dst, ' '), n, 10)
	}
	return append(dst, '\n')
}

// write writes lines in one piece. The first failure is told by Close.
func (j *Journal) write(lines []byte) {
	if _, err := j.file.Write(lines); err != nil && j.failed == nil {
		j.failed = fmt.Errorf("write a journal: %w", err)
	}
}

// Close ends the journal, and tells whether all was written.
func (j *Journal) Close() error {
	if j == nil {
		return nil
	}
	if err := j.file.Close(); err != nil && j.failed == nil {
		j.failed = err
	}
	return j.failed
}
