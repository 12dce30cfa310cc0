package command

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/local"
)

// source is a run that executes 1,000 tuples a second of virtual time.
func source() func() local.Progress {
	start := time.Now()
	return func() local.Progress {
		elapsed := time.Since(start)
		return local.Progress{
			Elapsed: elapsed, Read: elapsed.Seconds() / 20, Executed: uint64(elapsed.Milliseconds()),
			Pending: 7, P50: 1234 * time.Microsecond, P99: 45678 * time.Microsecond,
		}
	}
}

func TestPlainProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sink
		ctx, interrupt := context.WithCancel(t.Context())
		s := newScreen(&out, false)
		stop := s.show(ctx, source())
		await := func(d time.Duration, want string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := out.take(); got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		}
		await(4900*time.Millisecond, "")
		await(200*time.Millisecond, " 25 % read, 1000 tuples/s, 7 pending, latency p50 1.23ms p99 45.7ms\n")
		fmt.Fprintln(s, "a log line")
		await(5*time.Second, "a log line\n 50 % read, 1000 tuples/s, 7 pending, latency p50 1.23ms p99 45.7ms\n")
		interrupt()
		await(time.Second, "interrupted: finishing what is under way; once more ends at once\n")
		await(4*time.Second, " 75 % read, 1000 tuples/s, 7 pending, latency p50 1.23ms p99 45.7ms\n")
		stop()
		await(time.Minute, "")
	})
}

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out sink
		s := newScreen(&out, true)
		s.width = func() int { return 80 }
		stop := s.show(t.Context(), source())
		<-time.After(time.Minute)
		s.put("progress")
		fmt.Fprintln(s, "a log line")
		stop()
		s.clear()
		if got := out.take(); got != "a log line\n" {
			t.Errorf("got %q", got)
		}
	})
}

// TestLiveProgress: the line changes in place, never wraps, is below the log
// and gone at the end.
func TestLiveProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &tty{width: 80}
		s := newScreen(out, false)
		s.width = out.columns
		log := slog.New(slog.NewTextHandler(s, nil))
		stop := s.show(t.Context(), source())
		await := func(d time.Duration, want ...string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := out.lines(); got != strings.Join(want, "\n") {
				t.Errorf("got  %q\nwant %q", got, strings.Join(want, "\n"))
			}
		}
		await(100 * time.Millisecond)
		await(200*time.Millisecond, "  1 % read, 1000 tuples/s, 7 pending, latency p50 1.23ms p99 45.7ms")
		await(time.Second, "  6 % read, 1000 tuples/s, 7 pending, latency p50 1.23ms p99 45.7ms")
		out.resize(30)
		await(time.Second, " 11 % read, 1000 tuples/s, 7 ")
		log.Warn("careful")
		warning := "time=2000-01-01T00:00:02.300Z level=WARN msg=careful"
		await(time.Nanosecond, warning, " 11 % read, 1000 tuples/s, 7 ")
		await(200*time.Millisecond, warning, " 12 % read, 1000 tuples/s, 7 ")
		stop()
		await(time.Minute, warning, "")
	})
}

// tty shows what is written to it as a terminal does. Lines that end in \n may
// be of any length; the last one must not reach the last column.
type tty struct {
	mu    sync.Mutex
	done  string // lines above
	last  string
	wraps bool
	width int
}

func (o *tty) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := string(p); rest != ""; {
		switch {
		case strings.HasPrefix(rest, "\r\x1b[K"):
			o.last, rest = "", rest[len("\r\x1b[K"):]
			continue
		case rest[0] == '\n':
			o.done += o.last + "\n"
			o.last = ""
		default:
			o.last += rest[:1]
		}
		rest = rest[1:]
	}
	o.wraps = o.wraps || len(o.last) >= o.width
	return len(p), nil
}

func (o *tty) columns() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.width
}

func (o *tty) resize(width int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.width = width
}

func (o *tty) lines() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wraps {
		return "the last line wraps: " + o.last
	}
	return o.done + o.last
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		line  string
		width int
		want  string
	}{{"", 1, ""}, {"a", 1, ""}, {"a", 2, "a"}, {"12µs", 5, "12µs"}, {"12µs", 4, "12µ"}} {
		if got := cut(c.line, c.width); got != c.want {
			t.Errorf("cut(%q, %d) = %q, want %q", c.line, c.width, got, c.want)
		}
	}
}

func TestProgressLine(t *testing.T) {
	cases := []struct {
		p, last local.Progress
		want    string
	}{
		{local.Progress{Read: -1}, local.Progress{}, "0 tuples/s, 0 pending"},
		{local.Progress{Read: 0.9999, Elapsed: time.Second, Executed: 5e6}, local.Progress{}, " 99 % read, 5.00 M tuples/s, 0 pending"},
		{local.Progress{Read: 1, Elapsed: 3 * time.Second, Executed: 45_000}, local.Progress{Elapsed: time.Second, Executed: 5_000}, "100 % read, 20.0 k tuples/s, 0 pending"},
		// A worker was started anew and counts from 0.
		{local.Progress{Read: -1, Elapsed: 2 * time.Second, Executed: 3}, local.Progress{Elapsed: time.Second, Executed: 1000}, "0 tuples/s, 0 pending"},
		{local.Progress{Read: -1, Pending: 12, Failed: 3, P50: 12 * time.Second, P99: 999 * time.Nanosecond}, local.Progress{}, "0 tuples/s, 12 pending, latency p50 12s p99 1µs, 3 failed"},
	}
	for _, c := range cases {
		if got := progressLine(c.p, c.last); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestSummary(t *testing.T) {
	res := local.Result{Took: 2345 * time.Millisecond, Restarts: 2, Totals: local.Progress{Executed: 26_067_976, Failed: 4}}
	if got, want := summary(res), "26067976 tuples executed in 2.35s, 11.1 M tuples/s, 4 trees failed, workers restarted 2 times"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := summary(local.Result{}), "0 tuples executed in 0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPerSecond(t *testing.T) {
	for rate, want := range map[float64]string{
		0: "0", 999: "999", 9_999: "9999", 10_000: "10.0 k", 99_949: "99.9 k", 99_960: "100 k", 999_499: "999 k",
		999_500: "1.00 M", 9_994_000: "9.99 M", 12_345_678: "12.3 M", 1.5e9: "1500 M",
	} {
		if got := perSecond(rate); got != want+" tuples/s" {
			t.Errorf("perSecond(%v) = %q, want %q", rate, got, want)
		}
	}
}

func TestRound(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 994: "990ns", 1234: "1.23µs", 12_345: "12.3µs", 123_456: "123µs", 1_234_567: "1.23ms",
		12_345_678: "12.3ms", 123_456_789: "123ms", 1_234_567_890: "1.23s", 12_345_678_901: "12.3s", 123_456_789_012: "2m3.5s",
	} {
		if got := round(d).String(); got != want {
			t.Errorf("round(%d) = %s, want %s", d, got, want)
		}
	}
}
