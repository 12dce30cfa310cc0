// Package rollingtopwords keeps a ranking of the words that came most often in
// the last seconds.
//
// Begin at Definition and build. Count bolts keep sliding windows (window.go)
// and send what is in them at every tick; rank bolts keep the best of their
// share, and one last bolt the best of all (ranking.go).
package rollingtopwords

import (
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stormring/stormring/storm"
)

// maxPending is how many words a spout task may have under way.
const maxPending = 2000

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "rollingtopwords",
		Summary: "Rank the words of the last seconds, with tick tuples and a sliding window",
		Setup:   setup,
	}
}

// options are the topology's flags.
type options struct {
	window int // seconds
	emit   int // seconds
	top    int
	count  int64
	rate   int // words a second
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	o := &options{}
	flags.IntVar(&o.window, "window", 9, "length of the window, in `seconds`")
	flags.IntVar(&o.emit, "emit", 3, "interval of rankings, in `seconds`; the window is a multiple of it")
	flags.IntVar(&o.top, "top", 5, "length of the ranking")
	flags.Int64Var(&o.count, "count", 0, "end after `N` words; 0 goes on for ever")
	flags.IntVar(&o.rate, "rate", 1000, "words a second; 0 is as many as possible")
	return o.build
}

func (o *options) build(env storm.Env) (*storm.Instance, error) {
	if err := o.check(env); err != nil {
		return nil, err
	}
	r := &result{window: o.window}
	b := storm.NewTopologyBuilder()
	b.SetSpout("word", func() storm.Spout { return &spout{count: o.count, rate: o.rate, now: time.Now} }, 1)
	b.SetBasicBolt("count", func() storm.BasicBolt { return newCounter(o.window / o.emit) }, 2).
		FieldsGrouping("word", "word")
	b.SetBasicBolt("rank", func() storm.BasicBolt { return &ranker{best: newRanking(o.top)} }, 2).
		FieldsGrouping("count", "word")
	b.SetBasicBolt("total", func() storm.BasicBolt { return &ranker{best: newRanking(o.top), result: r} }, 1).
		GlobalGrouping("rank")
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	conf.SetTickTupleFreqSecs(o.emit)
	return &storm.Instance{Topology: t, Conf: conf, Report: r.report}, nil
}

func (o *options) check(env storm.Env) error {
	var why string
	switch {
	case o.emit < 1:
		why = fmt.Sprintf("--emit is %d; it must be at least 1 second", o.emit)
	case o.window < o.emit || o.window%o.emit != 0:
		why = fmt.Sprintf("--window is %d; it must be a multiple of --emit, which is %d", o.window, o.emit)
	case o.top < 1:
		why = fmt.Sprintf("--top is %d; it must be at least 1", o.top)
	case o.count < 0:
		why = fmt.Sprintf("--count is %d; it must not be negative (0 goes on for ever)", o.count)
	case o.rate < 0:
		why = fmt.Sprintf("--rate is %d; it must not be negative (0 is as many as possible)", o.rate)
	case len(env.Args) > 0:
		why = fmt.Sprintf("rollingtopwords takes no arguments, but got %q", env.Args[0])
	default:
		return nil
	}
	return fmt.Errorf("%w: %s", storm.ErrUsage, why)
}

// result is the last ranking.
type result struct {
	window int // seconds
	mu     sync.Mutex
	last   []entry
}

func (r *result) set(last []entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = last
}

func (r *result) report(w io.Writer, _ bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) == 0 {
		_, err := fmt.Fprintln(w, "no ranking yet: the run ended before the first one was made")
		return err
	}
	if _, err := fmt.Fprintf(w, "the last ranking, over %d s:\n", r.window); err != nil {
		return err
	}
	for i, e := range r.last {
		if _, err := fmt.Fprintf(w, "%3d.  %8d  %s\n", i+1, e.count, e.word); err != nil {
			return err
		}
	}
	return nil
}
