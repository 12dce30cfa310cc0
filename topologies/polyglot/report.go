package polyglot

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stormring/stormring/storm"
)

// shownInLog is how many words a line of the log shows.
const shownInLog = 10

// reporter keeps the newest count of each word, and writes all to a file, or the
// most frequent to the log.
type reporter struct {
	storm.BaseBasicBolt
	job     *job
	output  string // a path
	log     bool
	counts  map[string]int64
	changed bool // since the last writing
	logger  *slog.Logger
}

// ComponentConfiguration implements storm.Configured.
func (b *reporter) ComponentConfiguration() storm.Config {
	conf := storm.Config{}
	if b.output != "" || b.log {
		conf.SetTickTupleFreqSecs(1)
	}
	return conf
}

// Prepare implements storm.BasicBolt.
func (b *reporter) Prepare(ctx *storm.TopologyContext) error {
	b.counts, b.logger = map[string]int64{}, ctx.Logger()
	b.job.enter(ctx.Task())
	return nil
}

// Execute implements storm.BasicBolt.
func (b *reporter) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	if t.IsTick() {
		return b.tell()
	}
	// A count that comes late, from a line that came again, is lower.
	if word, n := t.String(0), t.Int(1); n > b.counts[word] {
		b.counts[word] = n
		b.changed = true
	}
	return nil
}

// Cleanup implements storm.BasicBolt.
func (b *reporter) Cleanup() error {
	b.job.handOver(b.counts)
	return b.tell()
}

// tell writes the counts if they have changed.
func (b *reporter) tell() error {
	if !b.changed {
		return nil
	}
	if b.output != "" {
		if err := b.write(); err != nil {
			return err
		}
	}
	if b.log {
		var words []string
		for _, c := range most(b.counts, shownInLog) {
			words = append(words, c.Word+" "+strconv.FormatInt(c.Count, 10))
		}
		b.logger.Info("the most frequent words", "words", strings.Join(words, ", "))
	}
	b.changed = false
	return nil
}

// write replaces the file as a whole, so that nobody reads half of it.
func (b *reporter) write() (err error) {
	f, err := os.CreateTemp(filepath.Dir(b.output), ".polyglot-")
	if err != nil {
		return fmt.Errorf("polyglot: write the counts: %w", err)
	}
	err = errors.Join(write(f, most(b.counts, 0), "tsv"), f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), b.output)
	}
	if err != nil {
		return fmt.Errorf("polyglot: write the counts to %s: %w", b.output, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// count is a word and how often it came.
type count struct {
	Word  string `json:"word"`
	Count int64  `json:"count"`
}

// most is the n most frequent words, or all if n is 0; equal ones are in the
// order of their bytes.
func most(counts map[string]int64, n int) []count {
	all := make([]count, 0, len(counts))
	for word, n := range counts {
		all = append(all, count{word, n})
	}
	slices.SortFunc(all, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	if n == 0 {
		return all
	}
	return all[:min(n, len(all))]
}

// printers are the formats.
var printers = map[string]func(io.Writer, []count) error{"table": table, "tsv": tsv, "json": jsonList}

func write(w io.Writer, counts []count, format string) error {
	b := bufio.NewWriter(w)
	if err := errors.Join(printers[format](b, counts), b.Flush()); err != nil {
		return fmt.Errorf("polyglot: print the counts: %w", err)
	}
	return nil
}

// table is for people: what a terminal cannot show is escaped.
func table(w io.Writer, counts []count) error {
	fmt.Fprintln(w, "  COUNT  WORD")
	for _, c := range counts {
		word := c.Word
		if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) }) {
			word = strings.Trim(strconv.Quote(word), `"`)
		}
		fmt.Fprintf(w, "%7d  %s\n", c.Count, word)
	}
	return nil
}

// tsv has words as they are; none has a tab or line end.
func tsv(w io.Writer, counts []count) error {
	for _, c := range counts {
		fmt.Fprintf(w, "%s\t%d\n", c.Word, c.Count)
	}
	return nil
}

func jsonList(w io.Writer, counts []count) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(counts)
}
