package wordcount

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ReadLedger adds up the ledger in dir, the folder given with --ledger. complete
// tells that all input is in it; otherwise the counts are of the blocks, or
// parts of blocks, that have been counted so far. It may be called while the
// topology runs, and changes nothing. The error wraps fs.ErrNotExist if no task
// has begun a ledger in dir yet.
func ReadLedger(dir string) (counts map[string]int64, complete bool, err error) {
	job, err := readManifest(dir)
	if err != nil {
		return nil, false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, false, fmt.Errorf("read the ledger: %w", err)
	}
	complete = markedDone(entries)
	// Listed again: what was there before the marks may be missing in a list
	// that was begun before them.
	if entries, err = os.ReadDir(dir); err != nil {
		return nil, false, fmt.Errorf("read the ledger: %w", err)
	}
	s := newSum(job)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), countsPrefix) {
			continue
		}
		if err := s.addFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, false, err
		}
	}
	return s.result(), complete, nil
}

// markedDone reports whether the marks of all tasks of a spout are there. The
// spout may have run with different numbers of tasks; one of them is enough.
func markedDone(entries []os.DirEntry) bool {
	marks := map[int]int{}
	for _, e := range entries {
		var rank, tasks int
		rest, ok := strings.CutPrefix(e.Name(), donePrefix)
		if !ok {
			continue
		}
		if _, err := fmt.Sscanf(rest, "%d-of-%d", &rank, &tasks); err != nil || e.Name() != spoutFile(donePrefix, rank, tasks) {
			continue // being written
		}
		if marks[tasks]++; marks[tasks] == tasks {
			return true
		}
	}
	return false
}

// entry is one line of a counts file: a word is n times in a block, in which it
// is the index-th different word.
type entry struct {
	block, index, n int64
	word            []byte
}

// appendEntry writes what parseEntry reads. No word has a tab or a line end.
func appendEntry(b []byte, block, index, n int64, word string) []byte {
	b = strconv.AppendInt(b, block, 10)
	b = append(b, '\t')
	b = strconv.AppendInt(b, index, 10)
	b = append(b, '\t')
	b = strconv.AppendInt(b, n, 10)
	b = append(b, '\t')
	b = append(b, word...)
	return append(b, '\n')
}

var errEntry = errors.New("it is not block, index, count and word, with tabs between them")

// parseEntry reads a line without its end.
func parseEntry(line []byte) (e entry, err error) {
	for _, to := range []*int64{&e.block, &e.index, &e.n} {
		field, rest, ok := bytes.Cut(line, []byte{'\t'})
		if !ok {
			return e, errEntry
		}
		n, err := strconv.ParseUint(string(field), 10, 63)
		if err != nil {
			return e, errEntry
		}
		*to, line = int64(n), rest
	}
	if e.n == 0 || len(line) == 0 || afterSpace(line) >= 0 {
		return e, errEntry
	}
	e.word = line
	return e, nil
}

// sum adds up entries, each of them once.
type sum struct {
	job    manifest
	seen   map[int64][]uint64 // bits of indexes, by block
	index  map[string]int     // into counts
	counts []count
	long   []byte
}

func newSum(job manifest) *sum {
	return &sum{job: job, seen: map[int64][]uint64{}, index: map[string]int{}}
}

func (s *sum) result() map[string]int64 {
	byWord := make(map[string]int64, len(s.counts))
	for _, c := range s.counts {
		byWord[c.word] = c.n
	}
	return byWord
}

func (s *sum) addFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	defer f.Close()
	if err := s.add(f); err != nil {
		return fmt.Errorf("read %s of the ledger: %w", path, err)
	}
	return nil
}

// add adds a counts file. A last line without an end is one that is being
// written, or whose writer was killed; it was not acked, so another file has it
// if it matters.
func (s *sum) add(r io.Reader) error {
	lines := bufio.NewReaderSize(r, 256<<10)
	for number := 1; ; number++ {
		line, err := s.line(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		e, err := parseEntry(line)
		if err == nil && (e.block >= s.job.Blocks || e.index >= s.job.BlockBytes) {
			err = errors.New("there is no such block or word")
		}
		if err != nil {
			return fmt.Errorf("line %d is damaged: %w: %.100q", number, err, line)
		}
		s.count(e)
	}
}

// line reads a whole line, valid until the next call, without its end.
func (s *sum) line(r *bufio.Reader) ([]byte, error) {
	part, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		s.long = s.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			s.long = append(s.long, part...)
			part, err = r.ReadSlice('\n')
		}
		s.long = append(s.long, part...)
		part = s.long
	}
	if err != nil {
		return nil, err
	}
	return part[:len(part)-1], nil
}

func (s *sum) count(e entry) {
	bits := s.seen[e.block]
	word, bit := int(e.index/64), uint64(1)<<(e.index%64)
	if word >= len(bits) {
		bits = append(bits, make([]uint64, word+1-len(bits))...)
		s.seen[e.block] = bits
	}
	if bits[word]&bit != 0 {
		return
	}
	bits[word] |= bit
	if i, ok := s.index[string(e.word)]; ok {
		s.counts[i].n += e.n
		return
	}
	c := count{string(e.word), e.n}
	s.index[c.word] = len(s.counts)
	s.counts = append(s.counts, c)
}
