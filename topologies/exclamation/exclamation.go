// Package exclamation is the smallest topology with two bolts in a row: words
// get three exclamation marks, and then three more.
//
// Begin at Definition and build; the spout is in words.go.
package exclamation

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/stormring/stormring/storm"
)

const (
	marks = "!!!"
	// maxPending is how many words a spout task may have under way.
	maxPending = 2000
)

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "exclamation",
		Summary: "Append exclamation marks to random words, twice",
		Setup:   setup,
	}
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	count := flags.Int64("count", 0, "end after `N` words; 0 goes on for ever")
	return func(env storm.Env) (*storm.Instance, error) {
		if *count < 0 {
			return nil, fmt.Errorf("%w: --count is %d; it must not be negative (0 goes on for ever)", storm.ErrUsage, *count)
		}
		if len(env.Args) > 0 {
			return nil, fmt.Errorf("%w: exclamation takes no arguments, but got %q", storm.ErrUsage, env.Args[0])
		}
		return build(*count)
	}
}

func build(count int64) (*storm.Instance, error) {
	r := &result{}
	b := storm.NewTopologyBuilder()
	b.SetSpout("word", func() storm.Spout { return &spout{count: count} }, 1)
	b.SetBasicBolt("exclaim1", func() storm.BasicBolt { return &exclaimer{} }, 2).ShuffleGrouping("word")
	b.SetBasicBolt("exclaim2", func() storm.BasicBolt { return &exclaimer{result: r} }, 2).ShuffleGrouping("exclaim1")
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	return &storm.Instance{Topology: t, Conf: conf, Report: r.report}, nil
}

// exclaimer appends marks to each word.
type exclaimer struct {
	storm.BaseBasicBolt
	// result is set in the last bolt of the row, which checks its words.
	result *result
	seen   int64
	wrong  int64
	sample string // a wrong word
}

func (b *exclaimer) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

func (b *exclaimer) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	word := t.String(0) + marks
	if b.result != nil {
		b.check(word)
	}
	out.Emit(storm.String(word))
	return nil
}

// check counts a word that has come to its end.
func (b *exclaimer) check(word string) {
	b.seen++
	if plain, ok := strings.CutSuffix(word, marks+marks); !ok || !slices.Contains(dictionary(), plain) {
		b.wrong++
		b.sample = word
	}
}

func (b *exclaimer) Cleanup() error {
	if b.result != nil {
		b.result.add(b)
	}
	return nil
}

// result is what the tasks of the last bolt have seen together.
type result struct {
	mu     sync.Mutex
	seen   int64
	wrong  int64
	sample string
}

func (r *result) add(b *exclaimer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen += b.seen
	r.wrong += b.wrong
	if b.wrong > 0 {
		r.sample = b.sample
	}
}

func (r *result) report(w io.Writer, _ bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.wrong > 0 {
		return fmt.Errorf("exclamation: %d of %d words came out wrong, such as %q", r.wrong, r.seen, r.sample)
	}
	_, err := fmt.Fprintf(w, "%d words exclaimed\n", r.seen)
	return err
}
