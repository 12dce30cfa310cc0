package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestWordcount(t *testing.T) {
	t.Setenv("STORM_CONF_DIR", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	path := write(t, "text", "b a\nc \"a\" b a\xff b\n")
	cases := []struct{ args, want string }{
		{"--input " + path, "COUNT  WORD\n    3  b\n    1  \"a\"\n    1  a\n    1  a\\xff\n    1  c\n"},
		{"--top 1 --input " + path, "COUNT  WORD\n    3  b\n"},
		{"--format tsv --top 0 --input " + path, "b\t3\n\"a\"\t1\na\t1\na\xff\t1\nc\t1\n"},
		{"--format tsv --top 2 --workers 2 " + path, "b\t3\n\"a\"\t1\n"},
		{"--format json --spouts 2 --splitters 2 --counters 3 --top 4 --input " + path, `[
  {"word": "b", "count": 3},
  {"word": "\"a\"", "count": 1},
  {"word": "a", "count": 1},
  {"word": "a\udcff", "count": 1}
]
`},
		{"--input - --format tsv", "in\t2\n"},
		{"--input - --input " + path + " --top 2 --format tsv -c topology.workers=2", "b\t3\nin\t2\n"},
	}
	summary := regexp.MustCompile(`\d+ tuples executed in [0-9.]+m?s, [0-9.]+( [kM])? tuples/s\n$`)
	for _, c := range cases {
		got := cli(t.Context(), samples(), "in in", strings.Fields("local wordcount "+c.args)...)
		if got.code != 0 || got.stdout != c.want || !summary.MatchString(got.stderr) {
			t.Errorf("%s: got %+v\nwant %q", c.args, got, c.want)
		}
		got = cli(t.Context(), samples(), "in in", strings.Fields("local --quiet wordcount "+c.args)...)
		if got.code != 0 || got.stdout != c.want || summary.MatchString(got.stderr) {
			t.Errorf("%s, quiet: got %+v", c.args, got)
		}
	}
}

// TestQuietRun: nothing but the result.
func TestQuietRun(t *testing.T) {
	if got := cli(t.Context(), samples(), "b", "local", "wordcount", "-q", "--input", "-", "--format", "tsv"); got != (shown{0, "b\t1\n", ""}) {
		t.Errorf("got %+v", got)
	}
}

// TestInterrupted: what is under way ends, the result is there, and marked.
func TestInterrupted(t *testing.T) {
	const partial = "the result is partial: the run was interrupted before all input was processed\n"
	for _, quiet := range []bool{false, true} {
		ctx, interrupt := context.WithCancel(t.Context())
		p := storm.Program{Topologies: []storm.Definition{ticking(func(n int64) {
			if n == 100 {
				interrupt()
			}
		})}}
		got := cli(ctx, p, "", "local", "ticking", fmt.Sprintf("--quiet=%t", quiet))
		if got.code != 130 || got.stdout != "some: true, partial: true\n" || !strings.Contains(got.stderr, partial) {
			t.Errorf("quiet %t: got %+v", quiet, got)
		}
		if quiet != (got.stderr == partial) {
			t.Errorf("quiet %t: stderr %q", quiet, got.stderr)
		}
	}
}

// TestInterruptedAtStart: a signal that comes before the run is not lost.
func TestInterruptedAtStart(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	got := cli(ctx, samples(), "", "local", "-q", "wordcount", "--format", "json", "--input", "-")
	if got.code != 130 || got.stdout != "[]\n" {
		t.Errorf("got %+v", got)
	}
}

func TestRunFor(t *testing.T) {
	got := cli(t.Context(), samples(), "", "local", "ticking", "--run-for", "1s")
	if got.code != 0 || got.stdout != "some: true, partial: false\n" || strings.Contains(got.stderr, "partial") {
		t.Errorf("a topology without an end: got %+v", got)
	}
	// Standard input that does not end is input that was not all processed.
	in, out := io.Pipe()
	defer out.Close()
	var stdout, stderr strings.Builder
	code := Run(t.Context(), samples(), []string{"local", "wordcount", "--input", "-", "--run-for", "30ms"}, in, &stdout, &stderr)
	if code != 0 || !strings.HasPrefix(stderr.String(), "the result is partial: --run-for ended the run") {
		t.Errorf("exit %d, stderr %q", code, stderr.String())
	}
}

// TestMetricsAddr: the address is told where the port was left open.
func TestMetricsAddr(t *testing.T) {
	got := cli(t.Context(), samples(), "a", "local", "wordcount", "--input", "-", "--metrics-addr", "127.0.0.1:0")
	if got.code != 0 || !strings.Contains(got.stderr, "url=http://127.0.0.1:") {
		t.Errorf("got %+v", got)
	}
}

func TestFinish(t *testing.T) {
	const (
		interrupted = "the result is partial: the run was interrupted before all input was processed\n"
		limited     = "the result is partial: --run-for ended the run before all input was processed\n"
		undrained   = "3 tuples were still being processed when the run ended\n"
		all         = "8 tuples executed in 2s, 4 tuples/s\n"
	)
	totals := local.Result{Took: 2 * time.Second, Totals: local.Progress{Executed: 8}}
	with := func(change func(r *local.Result)) local.Result {
		r := totals
		change(&r)
		return r
	}
	cases := []struct {
		res    local.Result
		stderr string
		quiet  string
		err    error
	}{
		{totals, all, "", nil},
		{with(func(r *local.Result) { r.Partial = true }), limited + all, "", nil},
		{with(func(r *local.Result) { r.Partial, r.Undrained = true, 3 }), limited + undrained + all, undrained, nil},
		{with(func(r *local.Result) { r.Interrupted = true }), all, "", errInterrupted},
		{with(func(r *local.Result) { r.Interrupted, r.Partial = true, true }), interrupted + all, interrupted, errInterrupted},
	}
	for _, c := range cases {
		for _, quiet := range []bool{false, true} {
			var stdout, stderr strings.Builder
			e := &env{stdout: &output{w: &stdout}, stderr: &stderr}
			instance := &storm.Instance{Report: func(w io.Writer, partial bool) error {
				_, err := fmt.Fprintln(w, partial)
				return err
			}}
			err := e.finish(instance, c.res, quiet)
			want := c.stderr
			if quiet {
				want = c.quiet
			}
			if !errors.Is(err, c.err) || stdout.String() != fmt.Sprintln(c.res.Partial) || stderr.String() != want {
				t.Errorf("%+v, quiet %t: %v, %q, %q\nwant %q", c.res, quiet, err, stdout.String(), stderr.String(), want)
			}
		}
	}
}

// TestTuneGC: the user's GOGC wins, and what was set comes back.
func TestTuneGC(t *testing.T) {
	read := func() int {
		old := debug.SetGCPercent(100)
		debug.SetGCPercent(old)
		return old
	}
	before := read()
	t.Setenv("GOGC", "100")
	restore := tuneGC()
	if got := read(); got != before {
		t.Errorf("GOGC is set: %d, want %d", got, before)
	}
	restore()
	os.Unsetenv("GOGC")
	restore = tuneGC()
	if got := read(); got != gcPercent {
		t.Errorf("got %d", got)
	}
	restore()
	if got := read(); got != before {
		t.Errorf("afterwards %d, want %d", got, before)
	}
}
