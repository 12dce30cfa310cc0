package multilang_test

import (
	"context"
	"log/slog"
	"maps"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// lines is a spout of some sentences, each again until it is acked.
type lines struct {
	storm.BaseSpout
	todo []string
	left int
	out  *storm.SpoutOutputCollector
}

func (*lines) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("line") }

func (l *lines) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	l.out, l.left = out, len(l.todo)
	return nil
}

func (l *lines) NextTuple() error {
	if len(l.todo) > 0 {
		l.out.EmitTracked(storm.String(l.todo[0]), storm.String(l.todo[0]))
		l.todo = l.todo[1:]
	}
	return nil
}

func (l *lines) Ack(storm.Value) { l.left-- }

func (l *lines) Fail(id storm.Value) {
	s, _ := id.AsString()
	l.todo = append(l.todo, s)
}

func (l *lines) Exhausted() bool { return l.left == 0 }

// counts is a bolt that counts words.
type counts struct {
	storm.BaseBasicBolt
	mu *sync.Mutex
	n  map[string]int
}

func (c *counts) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[t.String(0)]++
	return nil
}

func TestWordCountInALocalTopology(t *testing.T) {
	py, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("python3 is needed: %v", err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	got := map[string]int{}
	text := strings.Repeat("the cow jumped over the moon\nan apple a day\n", 500)
	b := storm.NewTopologyBuilder()
	b.SetSpout("lines", func() storm.Spout {
		return &lines{todo: strings.Split(strings.TrimSpace(text), "\n")}
	}, 1)
	b.SetBolt("split", func() storm.Bolt {
		return multilang.NewBolt(multilang.Spec{
			Argv: []string{py, "split.py"}, Dir: dir,
			Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word"}}},
		})
	}, 2).ShuffleGrouping("lines")
	b.SetBasicBolt("count", func() storm.BasicBolt { return &counts{mu: &mu, n: got} }, 1).FieldsGrouping("split", "word")
	topology, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	top, err := local.New(local.Options{
		Name: "words", Logger: slog.New(slog.DiscardHandler),
		Instance: &storm.Instance{Topology: topology, Conf: storm.Config{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(ctx)
	if err != nil || res.Partial || res.Restarts != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	want := map[string]int{"the": 1000, "cow": 500, "jumped": 500, "over": 500, "moon": 500, "an": 500, "apple": 500, "a": 500, "day": 500}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v", got)
	}
}
