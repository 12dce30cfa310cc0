package flux

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Place is a position in a file. Line and Column count from 1; 0 is unknown.
type Place struct {
	File         string
	Line, Column int
}

// Problem is a mistake, or something odd, at a place.
type Problem struct { //nolint:errname // a warning too
	Place
	// Key is the key that it is about, such as bolts[2].parallelism; "" for the
	// file as a whole.
	Key  string
	Text string
	// Java tells that only Java could run what stands there.
	Java bool
}

// Error is file:line:column: key: text.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	return b.String()
}

// Problems are all mistakes of a topology's files.
type Problems []Problem //nolint:errname // as of Problem

// Error has a line for each.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Java reports whether only Java could run the topology: at least one problem
// says so.
func (p Problems) Java() bool {
	for _, one := range p {
		if one.Java {
			return true
		}
	}
	return false
}

// inOrder sorts problems as their files are read and their lines stand.
func (l *loader) inOrder(all []Problem) {
	rank := map[string]int{}
	for i, file := range l.files {
		if _, ok := rank[file]; !ok {
			rank[file] = i
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank[a.File], rank[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// maxProblems bounds what is said of one topology.
const maxProblems = 100

// fail notes a mistake, once.
func (l *loader) fail(at Place, key, format string, args ...any) {
	l.note(Problem{Place: at, Key: key, Text: fmt.Sprintf(format, args...)})
}

// failJava notes what only Java could run.
func (l *loader) failJava(at Place, key, format string, args ...any) {
	l.note(Problem{Place: at, Key: key, Text: fmt.Sprintf(format, args...), Java: true})
}

func (l *loader) note(p Problem) {
	if l.seen[p] || len(l.problems) > maxProblems {
		return
	}
	l.seen[p] = true
	if len(l.problems) == maxProblems {
		p = Problem{Place: Place{File: l.o.File}, Text: fmt.Sprintf("there are more than %d mistakes; the others are not listed", maxProblems), Java: p.Java}
	}
	l.problems = append(l.problems, p)
}

// warn notes something odd, once.
func (l *loader) warn(at Place, key, format string, args ...any) {
	p := Problem{Place: at, Key: key, Text: fmt.Sprintf(format, args...)}
	if l.seen[p] || len(l.warnings) >= maxProblems {
		return
	}
	l.seen[p] = true
	l.warnings = append(l.warnings, p)
}

// nearest is a hint at the known name that is most like name; "" if none is.
func nearest(name string, known []string) string {
	n := utf8.RuneCountInString(name)
	best, least := "", min(max(2, n/3)+1, n) // something must be alike
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k), least); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of edits that make b of a, or most if it is that many
// or more.
func distance(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= most || len(y)-len(x) >= most || len(x) > 200 {
		return most
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = min(diagonal, row[j], row[j+1]) + 1
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return min(row[len(y)], most)
}

// maxShown is how many characters of a value an error shows.
const maxShown = 60

// shown is text as errors quote it.
func shown(text string) string {
	if r := []rune(text); len(r) > maxShown {
		text = string(r[:maxShown]) + "…"
	}
	return fmt.Sprintf("%q", text)
}

// among lists names for an error.
func among(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
