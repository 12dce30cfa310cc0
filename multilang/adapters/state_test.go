package adapters_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// ordeal is what happens to a topology, by the number of tuples that its last
// bolt has seen, whatever was rolled back.
type ordeal struct {
	lines int
	pids  map[string]string // folders with the pids of children, by component
	kill  map[int]string    // the component whose children are killed
	panic map[int]bool

	mu     sync.Mutex
	seen   int
	killed int
	wrong  []string
	counts map[string]int64
}

// another is told of each tuple of the last bolt.
func (o *ordeal) another() {
	o.mu.Lock()
	o.seen++
	n := o.seen
	o.mu.Unlock()
	if component := o.kill[n]; component != "" {
		files, _ := filepath.Glob(filepath.Join(o.pids[component], "*"))
		for _, f := range files {
			if pid, err := strconv.Atoi(filepath.Base(f)); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
				o.killed++
			}
		}
	}
	if o.panic[n] {
		panic("on purpose")
	}
}

// rewinding is a spout that goes on from where its state says.
type rewinding struct {
	storm.BaseSpout
	o     *ordeal
	out   *storm.SpoutOutputCollector
	state *storm.KeyValueState[string, int64]
	at    int64
}

func (s *rewinding) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *rewinding) InitState(st storm.State) (err error) {
	s.state = storm.NewKeyValueState(st, storm.StringCodec, storm.IntCodec)
	s.at, err = s.state.GetOr("at", 0)
	return err
}

func (s *rewinding) NextTuple() error {
	if s.Exhausted() {
		return nil
	}
	s.at++
	s.out.EmitTracked(storm.Int(s.at), storm.String(fmt.Sprintf("all mod%d", s.at%5)))
	return s.state.Put("at", s.at)
}

func (s *rewinding) Exhausted() bool { return s.state != nil && s.at == int64(s.o.lines) }

func (s *rewinding) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("line") }

// auditing sees to it that the counts of each word come one by one.
type auditing struct {
	storm.BaseBasicBolt
	o     *ordeal
	state *storm.KeyValueState[string, int64]
}

func (b *auditing) InitState(st storm.State) error {
	b.state = storm.NewKeyValueState(st, storm.StringCodec, storm.IntCodec)
	return nil
}

func (b *auditing) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	b.o.another()
	last, err := b.state.GetOr(t.String(0), 0)
	if err != nil {
		return err
	}
	if got := t.Int(1); got != last+1 {
		b.o.mu.Lock()
		b.o.wrong = append(b.o.wrong, fmt.Sprintf("%s is %d after %d", t.String(0), got, last))
		b.o.mu.Unlock()
	}
	return b.state.Put(t.String(0), last+1)
}

func (b *auditing) Cleanup() error {
	b.o.mu.Lock()
	defer b.o.mu.Unlock()
	b.o.counts = map[string]int64{}
	if b.state == nil {
		return nil
	}
	return b.state.All(func(word string, n int64) bool {
		b.o.counts[word] = n
		return true
	})
}

// topology has two bolts in another language, both of which take part in
// checkpoints, between a spout that rewinds and the audit.
func (o *ordeal) topology(t *testing.T, l language) *storm.Topology {
	t.Helper()
	part := func(component string, fields ...string) func() storm.Bolt {
		dir := l.install(t, component, "")
		o.pids[component] = t.TempDir()
		spec := multilang.Spec{
			Argv: l.command(t.Context(), dir, component).Args, Dir: dir, Env: []string{"LC_ALL=C"}, PIDDir: o.pids[component],
			Streams: map[string]storm.StreamSpec{"default": {Fields: fields}},
		}
		return func() storm.Bolt { return multilang.NewStatefulBolt(spec) }
	}
	b := storm.NewTopologyBuilder()
	b.SetSpout("lines", func() storm.Spout { return &rewinding{o: o} }, 1)
	b.SetBolt("relay", part("relay", "word"), 2).ShuffleGrouping("lines")
	b.SetBolt("count", part("count", "word", "count"), 2).FieldsGrouping("relay", "word")
	b.SetBasicBolt("audit", func() storm.BasicBolt { return &auditing{o: o} }, 1).GlobalGrouping("count")
	topology, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	for id, c := range topology.Components {
		if stateful, _ := storm.ConfTopologySr3Stateful.Get(c.Conf); !stateful {
			t.Errorf("component %q is not marked as stateful", id)
		}
	}
	return topology
}

// TestStateIsExact kills children and has workers fail, and counts in the end.
func TestStateIsExact(t *testing.T) {
	each(t, languages, func(t *testing.T, l language) {
		n := 2000
		if l.name == posix.name {
			n = 200
		}
		o := &ordeal{
			lines: n, pids: map[string]string{},
			kill:  map[int]string{n / 2: "count", n: "relay", 3 * n / 2: "count"},
			panic: map[int]bool{3 * n / 4: true, 3 * n / 2: true},
		}
		var log strings.Builder
		top, err := local.New(local.Options{
			Name: "exact", Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})),
			Instance: &storm.Instance{Topology: o.topology(t, l)},
			Conf: storm.Config{
				"topology.workers": 2, "topology.state.checkpoint.interval.ms": 200, "topology.max.spout.pending": n / 4,
				"topology.message.timeout.secs": 90,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		res, err := top.Run(ctx)
		if err != nil || res.Partial || res.Interrupted || res.Undrained != 0 || res.Restarts != 2 || o.killed < 4 {
			t.Errorf("%+v, %v, %d children were killed", res, err, o.killed)
		}
		want := map[string]int64{"all": int64(n)}
		for i := range 5 {
			want[fmt.Sprint("mod", i)] = int64(n) / 5
		}
		if !maps.Equal(o.counts, want) || len(o.wrong) > 0 {
			t.Errorf("counted %v, want %v\nwrong: %q", o.counts, want, o.wrong)
		}
		if t.Failed() {
			_ = os.WriteFile(filepath.Join(t.ArtifactDir(), "log"), []byte(log.String()), 0o600)
		}
		t.Logf("%d of %d tuples were seen, %d children were killed, %v", o.seen, 2*n, o.killed, res.Took)
	})
}
