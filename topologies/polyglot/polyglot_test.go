package polyglot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
)

// result is what came of a run.
type result struct {
	counts map[string]int64
	err    error // of the report
	local.Result
	errs []string // that components reported
}

// begin starts a topology; the function that is returned waits for its end.
func begin(t *testing.T, o *options, paths ...string) (progress func() float64, end func() result) {
	t.Helper()
	in, err := o.build(storm.Env{Args: paths})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var r result
	top, err := local.New(local.Options{
		Name: "polyglot", Instance: in, Logger: slog.New(slog.DiscardHandler),
		OnError: func(e worker.ErrorInfo) {
			mu.Lock()
			defer mu.Unlock()
			r.errs = append(r.errs, fmt.Sprint(e))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	go func() {
		defer close(done)
		defer cancel()
		r.Result, err = top.Run(ctx)
	}()
	return in.Progress, func() result {
		<-done
		if err != nil || r.Partial {
			t.Fatalf("%+v, %v", r, err)
		}
		var out strings.Builder
		if r.err = in.Report(&out, false); r.err == nil {
			r.counts = parse(t, out.String())
		}
		return r
	}
}

// run runs a topology to its end.
func run(t *testing.T, o *options, paths ...string) result {
	t.Helper()
	_, end := begin(t, o, paths...)
	return end()
}

func all(splitter, counter string) *options {
	o := newOptions()
	o.splitter.name, o.counter.name, o.format.name, o.top = splitter, counter, "tsv", 0
	return o
}

// parse reads what --format tsv prints.
func parse(t *testing.T, text string) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for line := range strings.Lines(text) {
		word, num, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, err := strconv.ParseInt(num, 10, 64)
		if _, double := counts[word]; double || !ok || err != nil {
			t.Fatalf("bad line %.100q", line)
		}
		counts[word] = n
	}
	return counts
}

// expect compares counts with those of Python.
func expect(t *testing.T, got map[string]int64, paths ...string) {
	t.Helper()
	want := pythonCounts(t, paths...)
	if maps.Equal(got, want) {
		return
	}
	for _, word := range slices.Compact(slices.Sorted(func(yield func(string) bool) {
		maps.Keys(got)(yield)
		maps.Keys(want)(yield)
	})) {
		if got[word] != want[word] {
			t.Errorf("%.100q: counted %d, Python has %d", word, got[word], want[word])
		}
	}
}

func write1(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// oddTexts are contents that break careless counting.
func oddTexts() map[string]string {
	return map[string]string{
		"empty":            "",
		"no final newline": "a b\nc a",
		"crlf":             "a b\r\nc a\r\n",
		"space only":       strings.Repeat(" \n\t", 200),
		"unicode":          "na\u00efve \u00e9t\u00e9 \u65e5\u672c \U0001f600\u200d\U0001f600 e\u0301 \u00e9 \u2028x \ue000 \uffff\n",
		"unicode space":    "a\u00a0b\u0085c\u1680d\u2000e\u200ae\u200bf\u2028g\u2029h\u202fi\u205fj\u3000k\ufeffl\u180em\x1cb\x1dc\x1ed\x1fe\x1bf\vg\fh",
		"for a shell":      "$HOME `x` * -n -j \\n \\\\ it's \"q\" \x7f \x07 $(y) ;z #c ~ !! %s\n",
		"for JSON":         "end\nend \"a\\u0041\" </script> \u2028 {} [] null\n",
		"long line":        strings.Repeat("abc de ", 150_000),
		"long word":        strings.Repeat("xyz", 350_000) + " y",
	}
}

func TestEveryLanguageSplitsAsPythonDoes(t *testing.T) {
	for language := range languages {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			need(t, language)
			var paths []string
			for name, text := range oddTexts() {
				paths = append(paths, write1(t, name, text))
			}
			if language != "shell" {
				paths = append(paths, write1(t, "nul", "a\x00b \x00 a\x00b\x00"))
			}
			o := all(language, goCounter)
			o.splitters = 2
			r := run(t, o, paths...)
			if r.err != nil || r.Restarts > 0 || len(r.errs) > 0 {
				t.Fatalf("%v, %+v", r.err, r)
			}
			expect(t, r.counts, paths...)
		})
	}
}

// TestEveryLanguageCounts has the counts in the state of bolts that are no Go.
func TestEveryLanguageCounts(t *testing.T) {
	for _, language := range newOptions().counter.names {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			need(t, language)
			path := write1(t, "text", strings.Repeat("the cow jumped over the moon\nan apple a day\r\nd\u00e9j\u00e0 vu\n", 100))
			o := all("python", language)
			r := run(t, o, path)
			if r.err != nil || r.Restarts > 0 || len(r.errs) > 0 {
				t.Fatalf("%v, %+v", r.err, r)
			}
			expect(t, r.counts, path)
		})
	}
}

// TestKilledChildren kills splitters and counters in the middle of the work:
// lines come again, and are counted once.
func TestKilledChildren(t *testing.T) {
	for counter, n := range map[string]int{goCounter: 3000, "python": 600} {
		t.Run(counter, func(t *testing.T) {
			t.Parallel()
			need(t)
			var text strings.Builder
			for i := range n {
				fmt.Fprintf(&text, "the word%d is of line %d the\n", i%97, i)
			}
			path := write1(t, "text", text.String())
			o := all("python", counter)
			o.splitters = 2
			pids := t.TempDir()
			o.tune = func(s *multilang.Spec) { s.PIDDir = pids }
			progress, end := begin(t, o, path)
			k := &killer{t: t, dir: pids, killed: map[string]bool{}}
			for _, share := range []float64{0.1, 0.3, 0.5} {
				k.at(func() bool { return progress() >= share })
			}
			r := end()
			if r.err != nil || r.Restarts > 0 {
				t.Fatalf("%v, %+v", r.err, r)
			}
			dead := 0
			for _, e := range r.errs {
				if strings.Contains(e, "was ended by signal: killed") {
					dead++
				}
			}
			if dead != len(k.killed) {
				t.Errorf("%d processes were killed, reported %q", len(k.killed), r.errs)
			}
			expect(t, r.counts, path)
		})
	}
}

// TestWhatIsNotUTF8 ends the run, or is replaced as Python does it.
func TestWhatIsNotUTF8(t *testing.T) {
	need(t)
	path := write1(t, "text", "a b\nb \xff c\xe2\x80 \xf0\x9f\x98 \xed\xa0\x80\n")
	o := all("python", goCounter)
	r := run(t, o, path)
	want := "line 2 of " + path + " is not UTF-8, which messages to other languages are; convert it (iconv -t UTF-8), or count with --invalid replace"
	if r.err == nil || r.err.Error() != "polyglot: "+want || len(r.errs) != 1 || !strings.Contains(r.errs[0], want) {
		t.Errorf("%v, %q", r.err, r.errs)
	}
	o = all("python", goCounter)
	o.invalid.name = replaceInvalid
	r = run(t, o, path)
	if r.err != nil {
		t.Fatal(r.err)
	}
	expect(t, r.counts, path)
}

// TestNULForAShell is refused: no shell can hold it.
func TestNULForAShell(t *testing.T) {
	need(t, "shell")
	path := write1(t, "text", "a\nb \x00\n")
	r := run(t, all("shell", goCounter), path)
	if want := "polyglot: line 2 of " + path + " has a NUL, which a shell cannot hold; take another --splitter"; r.err == nil || r.err.Error() != want {
		t.Errorf("%v", r.err)
	}
}

// TestScriptsByDefault counts the scripts themselves.
func TestScriptsByDefault(t *testing.T) {
	need(t)
	r := run(t, all("python", goCounter))
	if r.err != nil {
		t.Fatal(r.err)
	}
	paths, err := filepath.Glob("resources/*")
	if err != nil || len(paths) < 7 {
		t.Fatalf("%q, %v", paths, err)
	}
	expect(t, r.counts, paths...)
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--format", "xml"}, {"--top", "-1"}, {"--splitters", "0"}, {"--counters", "-2"},
		{"--splitter", "perl"}, {"--counter", "shell"}, {"--invalid", "drop"},
	} {
		if _, err := Definition().Instance(storm.Env{Args: args}); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
	for _, path := range []string{"/none", t.TempDir(), "/dev/null"} {
		if _, err := Definition().Instance(storm.Env{Args: []string{"--", path}}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
