package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/stormring/stormring/local"
)

const (
	liveEvery  = 200 * time.Millisecond // on a terminal
	plainEvery = 5 * time.Second        // elsewhere
	// anyWidth is the width of a terminal that does not tell.
	anyWidth = 80
)

// screen is stderr with a progress line: one that changes in place on a
// terminal, a new one now and then elsewhere. Log lines go above it.
type screen struct {
	out   io.Writer
	quiet bool
	width func() int // columns of the terminal; nil if out is none

	mu   sync.Mutex
	line string // what stands in the last line now
}

func newScreen(out io.Writer, quiet bool) *screen {
	s := &screen{out: out, quiet: quiet}
	f, ok := out.(*os.File)
	if ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.width = func() int {
			width, _, err := term.GetSize(int(f.Fd()))
			if err != nil || width <= 0 {
				return anyWidth
			}
			return width
		}
	}
	return s
}

// Write prints log lines.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	n, err := s.out.Write(p)
	if s.line != "" {
		fmt.Fprint(s.out, s.line)
	}
	return n, err
}

func (s *screen) erase() {
	if s.line != "" {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

// put shows a line in place of the one before, or below it.
func (s *screen) put(line string) {
	if s.quiet {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.width == nil {
		fmt.Fprintln(s.out, line)
		return
	}
	s.erase()
	s.line = cut(line, s.width())
	fmt.Fprint(s.out, s.line)
}

// clear takes the line away.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.line = ""
}

// cut shortens a line so that it leaves the last column free: a line that
// wraps cannot be erased. All its characters are one column wide.
func cut(line string, width int) string {
	if r := []rune(line); len(r) >= width {
		return string(r[:width-1])
	}
	return line
}

// show prints progress until the returned function is called, and says so when
// ctx ends.
func (s *screen) show(ctx context.Context, progress func() local.Progress) (stop func()) {
	if s.quiet {
		return func() {}
	}
	every := plainEvery
	if s.width != nil {
		every = liveEvery
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		interrupted := ctx.Done()
		var last local.Progress
		for {
			select {
			case <-done:
				return
			case <-interrupted:
				interrupted = nil
				fmt.Fprintln(s, "interrupted: finishing what is under way; once more ends at once")
			case <-ticker.C:
				p := progress()
				s.put(progressLine(p, last))
				last = p
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
		s.clear()
	}
}
