package demo

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// timeline prints what happens, a line each with the seconds since the start. On a
// terminal a last line says how things are.
type timeline struct {
	out   io.Writer
	live  bool
	begin time.Time

	mu    sync.Mutex
	state string // what stands in the last line now
	last  time.Time
}

func newTimeline(out io.Writer, live bool, begin time.Time) *timeline {
	return &timeline{out: out, live: live, begin: begin}
}

// liveWidth is what a line that changes may have, so that it does not wrap.
const liveWidth = 78

// plainEvery is how often a state is a line of its own where no line changes.
const plainEvery = 5 * time.Second

// add adds what has happened just now.
func (t *timeline) add(format string, args ...any) { t.addAt(time.Now(), format, args...) }

func (t *timeline) addAt(at time.Time, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	fmt.Fprintf(t.out, "%7.2f s  %s\n", at.Sub(t.begin).Seconds(), fmt.Sprintf(format, args...))
	if t.state != "" {
		fmt.Fprint(t.out, t.state)
	}
}

// show says how things are.
func (t *timeline) show(format string, args ...any) {
	line := fmt.Sprintf("%7.2f s  %s", time.Since(t.begin).Seconds(), fmt.Sprintf(format, args...))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live {
		t.erase()
		if r := []rune(line); len(r) > liveWidth {
			line = string(r[:liveWidth])
		}
		t.state = line
		fmt.Fprint(t.out, line)
		return
	}
	if now := time.Now(); now.Sub(t.last) >= plainEvery {
		t.last = now
		fmt.Fprintln(t.out, line)
	}
}

func (t *timeline) erase() {
	if t.state != "" {
		fmt.Fprint(t.out, "\r\x1b[K")
	}
}

// close takes the changing line away.
func (t *timeline) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.erase()
	t.state = ""
}
