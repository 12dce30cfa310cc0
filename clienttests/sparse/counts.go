package sparse

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
)

// The names that quickstart gives its components.
const (
	WordSpout = "word_spout"
	CountBolt = "count_bolt"
)

// cycle are the words of quickstart's spout, over and over.
var cycle = []string{"dog", "cat", "zebra", "elephant"}

// share are the words that a task among n gets, in the order in which they
// come: Java's hash of a list with one string decides.
func share(task, n int) []string {
	var words []string
	for _, word := range cycle {
		hash := int32(0)
		for _, c := range word {
			hash = 31*hash + c
		}
		if index := int(31+hash) % n; (index+n)%n == task {
			words = append(words, word)
		}
	}
	return words
}

// totals are those that quickstart's bolt logs, which is every one that is a
// multiple of 1000, while it counts. The first word may be any of its words.
func totals(words []string, first int) func(yield func(counted, total int) bool) {
	return func(yield func(counted, total int) bool) {
		total := 0
		for i := 0; len(words) > 0; i++ {
			if words[(first+i)%len(words)] == "dog" {
				total += 9
			}
			total++
			if total%1000 == 0 && !yield(i+1, total) {
				return
			}
		}
	}
}

// LogsBefore are the totals that a task of quickstart's two bolts has logged
// when it has counted so many words from the first one on.
func LogsBefore(task int, words int64) []int {
	var out []int
	for counted, total := range totals(share(task, 2), 0) {
		if int64(counted) > words {
			break
		}
		out = append(out, total)
	}
	return out
}

// IsRun reports whether these totals, in this order, are what a task among
// quickstart's two bolts logs that has got every one of its words since it
// began, neither lost nor doubled nor out of order.
func IsRun(task int, got []int) bool {
	words := share(task, 2)
	for first := range words {
		var want []int
		for _, total := range totals(words, first) {
			if len(want) == len(got) {
				break
			}
			want = append(want, total)
		}
		if slices.Equal(got, want) {
			return true
		}
	}
	return false
}

var counted = regexp.MustCompile(`counted \[([0-9,]+)\] words \[pid=(\d+)\]`)

// Logged are the totals in logs of quickstart's bolts, by process. A file that
// is not there has none.
func Logged(tb testing.TB, files ...string) map[int][]int {
	tb.Helper()
	found := map[int][]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			tb.Fatal(err)
		}
		for _, m := range counted.FindAllStringSubmatch(string(text), -1) {
			total, err1 := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
			pid, err2 := strconv.Atoi(m[2])
			if err1 != nil || err2 != nil {
				tb.Fatalf("%s: %s", file, m[0])
			}
			found[pid] = append(found[pid], total)
		}
	}
	return found
}

// Flow is how many tuples an executor has had.
type Flow struct{ Emitted, Executed, Acked, Failed int64 }

// Flows are those of all executors of a component, by first task; also which
// tasks there are at all.
func Flows(ctx context.Context, c *client.Client, topology, component string) (map[int]Flow, error) {
	info, err := c.Topology(ctx, topology, cluster.NoErrors)
	if err != nil {
		return nil, err
	}
	out := map[int]Flow{}
	for _, e := range info.ExecutorList {
		if e.Component != component || e.Stats == nil {
			continue
		}
		const window = ":all-time"
		f := Flow{Emitted: sum(e.Stats.Emitted[window])}
		switch {
		case e.Stats.Bolt != nil:
			f.Executed, f.Acked, f.Failed = sum(e.Stats.Bolt.Executed[window]), sum(e.Stats.Bolt.Acked[window]), sum(e.Stats.Bolt.Failed[window])
		case e.Stats.Spout != nil:
			f.Acked, f.Failed = sum(e.Stats.Spout.Acked[window]), sum(e.Stats.Spout.Failed[window])
		}
		out[int(e.Executor.First)] = f
	}
	return out, nil
}

// sum leaves out Storm's own streams, such as ticks.
func sum[K comparable](counts map[K]int64) int64 {
	var n int64
	for stream, count := range counts {
		if !strings.Contains(fmt.Sprint(stream), "__") {
			n += count
		}
	}
	return n
}

// Text writes a text of so many lines to a file: words that come up unevenly,
// some not of ASCII, and lines without words.
func Text(tb testing.TB, lines int) string {
	tb.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	some := []string{"the", "sea", "łódź", "köln", "слово", "it’s", "snail", "naïve"}
	var b strings.Builder
	for i := range lines {
		if i%17 != 5 {
			for range 1 + random.IntN(10) {
				word := some[min(int(random.ExpFloat64()*3), len(some)-1)]
				if random.IntN(3) == 0 {
					word = fmt.Sprintf("word%c%c", 'a'+random.IntN(26), 'a'+random.IntN(10))
				}
				b.WriteString(word + " ")
			}
		}
		b.WriteString("\n")
	}
	file := filepath.Join(tb.TempDir(), "text.txt")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// blankLines is how the sample's report calls them.
const blankLines = "(blank lines)"

// truth is the program of Python that counts a file of words between blanks.
const truth = `
import collections, json, sys
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
counts = collections.Counter(word for line in lines for word in line.split())
counts["` + blankLines + `"] = sum(not line.split() for line in lines)
print(json.dumps(counts))
`

// Truth is what Python's Counter finds in a file of Text.
func Truth(tb testing.TB, tool, file string) map[string]int {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), filepath.Join(filepath.Dir(tool), "python"), "-c", truth, file)
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("count %s with Python: %v", file, err)
	}
	counts := map[string]int{}
	if err := json.Unmarshal(out, &counts); err != nil {
		tb.Fatal(err)
	}
	return counts
}

// Report is what the sample has counted so far, and whether that is all. output
// is its wordcount.output, in which a single run has been.
func Report(tb testing.TB, output string) (counts map[string]int, done bool) {
	tb.Helper()
	finished, _ := filepath.Glob(filepath.Join(output, "*", "done"))
	files, _ := filepath.Glob(filepath.Join(output, "*", "counts.txt"))
	if len(files) > 1 {
		tb.Fatalf("there are several runs: %v", files)
	}
	counts = map[string]int{}
	if len(files) == 0 {
		return counts, false
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		word, count, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if counts[word], err = strconv.Atoi(count); err != nil {
			tb.Fatalf("%s: %q", files[0], line)
		}
	}
	return counts, len(finished) > 0
}

// Total is the sum of all counts.
func Total(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n += count
	}
	return n
}
