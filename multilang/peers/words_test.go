package peers_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// words counts words, and takes note when the spout has had all its acks.
type words struct {
	mu     sync.Mutex
	n      map[string]int
	failed int64 // as the spout has counted; -1 if it has not
	errs   []string
	done   func()
}

// count is the bolt that counts.
type count struct {
	storm.BaseBasicBolt
	*words
}

func (c count) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.SourceStream() == "done" {
		c.failed = t.Int(0)
		c.done()
		return nil
	}
	c.n[t.String(0)]++
	return nil
}

// run has a spout of lines, a bolt that splits them and one that counts.
func (w *words) run(t *testing.T, source, split multilang.Spec, conf storm.Config) local.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	w.n, w.failed, w.done = map[string]int{}, -1, cancel
	source.Streams = map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"line", "n"}}, "done": {Fields: storm.Fields{"failed"}}}
	if slices.Contains(split.Argv, "batch") {
		split.Conf = storm.Config{"topology.tick.tuple.freq.secs": 1}
	}
	split.Streams = map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word"}}}
	b := storm.NewTopologyBuilder()
	b.SetSpout("lines", func() storm.Spout { return multilang.NewSpout(source) }, 1)
	b.SetBolt("split", func() storm.Bolt { return multilang.NewBolt(split) }, 2).ShuffleGrouping("lines")
	b.SetBasicBolt("count", func() storm.BasicBolt { return count{words: w} }, 1).FieldsGrouping("split", "word").
		Grouping("lines", "done", storm.Grouping{Kind: storm.GroupGlobal})
	topology, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	top, err := local.New(local.Options{
		Name: "words", Logger: slog.New(slog.DiscardHandler), DrainFor: 5 * time.Second,
		Instance: &storm.Instance{Topology: topology, Conf: conf},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(ctx)
	for component, errs := range top.Errors() {
		for _, e := range errs {
			w.errs = append(w.errs, component+": "+e.Text)
		}
	}
	if err != nil {
		t.Fatalf("%v, errors %q", err, w.errs)
	}
	return res
}

// check compares the counts of n lines with what they hold.
func (w *words) check(t *testing.T, n int, res local.Result) {
	t.Helper()
	a, b := n/2, n/2
	want := map[string]int{"the": 2 * a, "cow": a, "jumped": a, "over": a, "moon": a, "an": b, "apple": b, "a": b, "day": b}
	if !maps.Equal(w.n, want) || res.Restarts != 0 || res.Undrained != 0 {
		t.Errorf("counted %v, %+v, errors %q", w.n, res, w.errs)
	}
}

// TestWords has a spout and bolts of each library in a topology. One bolt
// crashes once; what it had is replayed by the spout, and the counts are right.
func TestWords(t *testing.T) {
	each(t, all, func(t *testing.T, p peer) {
		crash(t, p)
	})
	t.Run("storm.py basic", func(t *testing.T) {
		t.Parallel()
		w := crash(t, python, "basic")
		if w.failed != 1 {
			t.Errorf("%d tuples failed", w.failed)
		}
	})
}

// TestPystormWords is TestWords with pystorm; the batches are of real ticks.
func TestPystormWords(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"json"}, {"msgpack", "stay"}, {"json", "batch"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			conf := storm.Config{"topology.max.spout.pending": 1000}
			maps.Copy(conf, codecs[args[0]])
			w := crashWith(t, pystorm, conf, args...)
			if args[len(args)-1] == "stay" && w.failed != 1 {
				t.Errorf("%d tuples failed", w.failed)
			}
		})
	}
}

func crash(t *testing.T, p peer, args ...string) *words {
	t.Helper()
	return crashWith(t, p, storm.Config{}, args...)
}

func crashWith(t *testing.T, p peer, conf storm.Config, args ...string) *words {
	t.Helper()
	const n = 200
	conf["test.lines"] = n
	var w words
	res := w.run(t, p.spec(t, "lines", args...), p.spec(t, "split", args...), conf)
	w.check(t, n, res)
	if w.failed < 1 {
		t.Errorf("%d tuples failed", w.failed)
	}
	if all := strings.Join(w.errs, "\n"); !strings.Contains(all, "split: ") || !strings.Contains(all, "on purpose") {
		t.Errorf("errors %q", w.errs)
	}
	return &w
}
