package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/stormring/stormring/local"
)

const (
	liveEvery  = 200 * time.Millisecond // on a terminal
	plainEvery = 5 * time.Second        // elsewhere
)

// screen is stderr with a progress line: one that changes in place on a
// terminal, a new one now and then elsewhere. Log lines go above it.
type screen struct {
	out   io.Writer
	quiet bool
	live  bool

	mu   sync.Mutex
	line string // what stands in the last line now
}

func newScreen(out io.Writer, quiet bool) *screen {
	f, ok := out.(*os.File)
	return &screen{out: out, quiet: quiet, live: ok && term.IsTerminal(int(f.Fd()))}
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

// show prints progress until the returned function is called.
func (s *screen) show(progress func() local.Progress) (stop func()) {
	if s.quiet {
		return func() {}
	}
	every := plainEvery
	if s.live {
		every = liveEvery
	}
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		var last local.Progress
		for {
			select {
			case <-done:
				return
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
		s.mu.Lock()
		defer s.mu.Unlock()
		s.erase()
		s.line = ""
	}
}

func (s *screen) put(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live {
		fmt.Fprintln(s.out, line)
		return
	}
	s.erase()
	s.line = line
	fmt.Fprint(s.out, line)
}

func progressLine(p, last local.Progress) string {
	var parts []string
	if p.Read >= 0 {
		parts = append(parts, fmt.Sprintf("%3.0f %% read", 100*p.Read))
	}
	rate := 0.0
	if span := (p.Elapsed - last.Elapsed).Seconds(); span > 0 {
		rate = float64(p.Executed-last.Executed) / span
	}
	parts = append(parts, perSecond(rate), fmt.Sprintf("%d pending", p.Pending))
	if p.P50 > 0 {
		parts = append(parts, fmt.Sprintf("latency p50 %s p99 %s", round(p.P50), round(p.P99)))
	}
	if p.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", p.Failed))
	}
	return strings.Join(parts, ", ")
}

// perSecond shows a rate with three digits.
func perSecond(rate float64) string {
	switch {
	case rate >= 1e6:
		return fmt.Sprintf("%.3g M tuples/s", rate/1e6)
	case rate >= 1e4:
		return fmt.Sprintf("%.3g k tuples/s", rate/1e3)
	default:
		return fmt.Sprintf("%.0f tuples/s", rate)
	}
}

// round keeps three digits or so of a duration.
func round(d time.Duration) time.Duration {
	for unit := time.Second; unit >= time.Microsecond; unit /= 10 {
		if d >= unit*10 {
			return d.Round(unit / 100)
		}
	}
	return d.Round(10 * time.Nanosecond)
}

func summary(res local.Result) string {
	p := res.Totals
	text := fmt.Sprintf("%d tuples executed in %s", p.Executed, round(res.Took))
	if s := res.Took.Seconds(); s > 0 {
		text += ", " + perSecond(float64(p.Executed)/s)
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d trees failed", p.Failed)
	}
	if res.Restarts > 0 {
		text += fmt.Sprintf(", workers restarted %d times", res.Restarts)
	}
	return text
}
