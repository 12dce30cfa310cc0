package adapters_test

import (
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// tally is a bolt that keeps the last count of each word, and calls done when
// it has had total of them.
type tally struct {
	storm.BaseBasicBolt
	mu    sync.Mutex
	n     map[string]int64
	total int
	done  func()
}

func (c *tally) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[t.String(0)] = t.Int(1)
	if c.total--; c.total == 0 {
		c.done()
	}
	return nil
}

// TestWordCount has a spout, a bolt and a bolt with state of every language in
// a topology of our own runtime.
func TestWordCount(t *testing.T) {
	each(t, languages, func(t *testing.T, l language) {
		lines := 300
		if l.name == posix.name {
			lines = 20
		}
		part := func(component string, fields ...string) multilang.Spec {
			dir := l.install(t, component, "")
			return multilang.Spec{
				Argv: l.command(t.Context(), dir, component).Args, Dir: dir, Env: []string{"LC_ALL=C"},
				Streams: map[string]storm.StreamSpec{"default": {Fields: fields}},
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		got := &tally{n: map[string]int64{}, total: 6 * lines, done: cancel}
		b := storm.NewTopologyBuilder()
		source, split, count := part("lines", "line"), part("split", "word"), part("count", "word", "count")
		b.SetSpout("lines", func() storm.Spout { return multilang.NewSpout(source) }, 1)
		b.SetBolt("split", func() storm.Bolt { return multilang.NewBolt(split) }, 2).ShuffleGrouping("lines")
		b.SetBolt("count", func() storm.Bolt { return multilang.NewBolt(count) }, 2).FieldsGrouping("split", "word")
		b.SetBasicBolt("tally", func() storm.BasicBolt { return got }, 1).GlobalGrouping("count")
		topology, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		top, err := local.New(local.Options{
			Name: "words", Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
			Instance: &storm.Instance{Topology: topology, Conf: storm.Config{"test.lines": lines}},
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := top.Run(ctx)
		n := int64(lines)
		want := map[string]int64{"the": 2 * n, "cow": n, "jumped": n, "over": n, "moon": n}
		if !maps.Equal(got.n, want) || res.Restarts != 0 {
			t.Errorf("counted %v, %+v, %v\n%s", got.n, res, err, log.String())
		}
	})
}
