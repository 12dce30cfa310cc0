package compare

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// journal is what one task has written down.
type journal struct {
	pid   int
	lines []line
}

// line is one of a journal: when, and numbers.
type line struct {
	at      time.Time
	numbers []int64
}

// readJournals reads those of a kind that are in a folder.
func readJournals(dir, kind string) ([]journal, error) {
	paths, err := filepath.Glob(filepath.Join(dir, kind+"-*"))
	if err != nil {
		return nil, err
	}
	var all []journal
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		j, err := parseJournal(filepath.Base(path), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, j)
	}
	return all, nil
}

// parseJournal reads a journal by its file's name, KIND-PID-ANYTHING. The last line
// may be half written.
func parseJournal(name string, text []byte) (journal, error) {
	parts := strings.SplitN(name, "-", 3)
	if len(parts) != 3 {
		return journal{}, fmt.Errorf("a journal's name is KIND-PID-NUMBER, not %q", name)
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return journal{}, fmt.Errorf("a journal's name is KIND-PID-NUMBER, not %q", name)
	}
	j := journal{pid: pid}
	for n := 1; ; n++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return j, nil
		}
		text = rest
		l, err := parseLine(string(one))
		if err != nil {
			return j, fmt.Errorf("line %d: %w", n, err)
		}
		j.lines = append(j.lines, l)
	}
}

func parseLine(text string) (line, error) {
	var l line
	for i, field := range strings.Split(text, " ") {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return l, fmt.Errorf("a line is a time and numbers, not %q", text)
		}
		if i == 0 {
			l.at = time.UnixMicro(n)
		} else {
			l.numbers = append(l.numbers, n)
		}
	}
	if len(l.numbers) == 0 {
		return l, fmt.Errorf("a line is a time and numbers, not %q", text)
	}
	return l, nil
}

// countAt is what a journal's first number was at a time: between two lines it grows
// evenly.
func (j journal) countAt(at time.Time) float64 {
	i, found := slices.BinarySearchFunc(j.lines, at, func(l line, t time.Time) int { return l.at.Compare(t) })
	switch {
	case found:
		return float64(j.lines[i].numbers[0])
	case i == 0:
		return 0
	case i == len(j.lines):
		return float64(j.lines[i-1].numbers[0])
	}
	a, b := j.lines[i-1], j.lines[i]
	part := float64(at.Sub(a.at)) / float64(b.at.Sub(a.at))
	return float64(a.numbers[0]) + part*float64(b.numbers[0]-a.numbers[0])
}

// counted is how many tuples all tasks have counted from one time to another.
func counted(all []journal, from, to time.Time) float64 {
	sum := 0.
	for _, j := range all {
		sum += j.countAt(to) - j.countAt(from)
	}
	return sum
}

// firstOf is the earliest line of the processes that are not in known.
func firstOf(all []journal, known map[int]bool) (at time.Time, ok bool) {
	for _, j := range all {
		if len(j.lines) > 0 && !known[j.pid] && (!ok || j.lines[0].at.Before(at)) {
			at, ok = j.lines[0].at, true
		}
	}
	return at, ok
}

// between are the first numbers of all lines from one time to another, sorted.
func between(all []journal, from, to time.Time) []int64 {
	var values []int64
	for _, j := range all {
		for _, l := range j.lines {
			if !l.at.Before(from) && l.at.Before(to) {
				values = append(values, l.numbers[0])
			}
		}
	}
	slices.Sort(values)
	return values
}

// percentile is the value that a share of the sorted values does not exceed; 0 of
// none.
func percentile(sorted []int64, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(share*float64(len(sorted))+0.999999) - 1
	return float64(sorted[min(max(i, 0), len(sorted)-1)])
}
