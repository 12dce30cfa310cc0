package multilang

import (
	"bytes"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// maxLine bounds a line of standard error.
	maxLine = 4096
	// keptLines is how many of the last lines an error tells, each up to
	// keptLine bytes.
	keptLines, keptLine = 20, 500
	// linesPerSecond of one stream of one child are logged.
	linesPerSecond = 100
)

// lineCutter cuts a stream into lines of bounded length.
type lineCutter struct{ part []byte }

func (l *lineCutter) add(b []byte, say func(string)) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		piece := b
		if i >= 0 {
			piece = b[:i]
		}
		piece = piece[:min(len(piece), maxLine-len(l.part))]
		l.part = append(l.part, piece...)
		b = b[len(piece):]
		switch {
		case i >= 0 && len(piece) == i:
			b = b[1:]
			l.end(say)
		case len(l.part) == maxLine:
			l.end(say)
		}
	}
}

// end says what is left.
func (l *lineCutter) end(say func(string)) {
	if line := strings.TrimRight(strings.ToValidUTF8(string(l.part), string(utf8.RuneError)), "\r\n\t "); line != "" {
		say(line)
	}
	l.part = l.part[:0]
}

// lastWords keeps the last lines.
type lastWords struct {
	mu    sync.Mutex
	lines []string
}

func (w *lastWords) add(line string) {
	if len(line) > keptLine {
		line = strings.ToValidUTF8(line[:keptLine], "") + "…"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) == keptLines {
		copy(w.lines, w.lines[1:])
		w.lines = w.lines[:keptLines-1]
	}
	w.lines = append(w.lines, line)
}

// String is the lines, for the end of an error; "" if there were none.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) == 0 {
		return ""
	}
	return "; the last of its standard error:\n" + strings.Join(w.lines, "\n")
}

// limiter lets so many lines through in each second.
type limiter struct {
	second  int64
	n       int
	skipped int
}

// allow reports whether a line may pass, and how many did not since the last
// that did.
func (l *limiter) allow(now time.Time) (ok bool, skipped int) {
	if s := now.Unix(); s != l.second {
		l.second, l.n = s, 0
	}
	if l.n >= linesPerSecond {
		l.skipped++
		return false, 0
	}
	l.n++
	skipped, l.skipped = l.skipped, 0
	return true, skipped
}

// left is how many lines did not pass and were not told of.
func (l *limiter) left() int { return l.skipped }
