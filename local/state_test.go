package local

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/storm"
)

// ledger is what stateful components came to, told when they end in order.
type ledger struct {
	chaos *chaos
	ids   int

	mu     sync.Mutex
	counts map[storm.TaskID]map[string]int64 // by task, of its last life
	inits  int
}

// counting is a spout that keeps its position in its state, so that it rewinds.
type counting struct {
	storm.BaseSpout
	l     *ledger
	ctx   *storm.TopologyContext
	out   *storm.SpoutOutputCollector
	state *storm.KeyValueState[string, int64]
	at    int64
}

func (s *counting) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.ctx, s.out = ctx, out
	return nil
}

func (s *counting) InitState(st storm.State) (err error) {
	s.state = storm.NewKeyValueState(st, storm.StringCodec, storm.IntCodec)
	s.at, err = s.state.GetOr("at", 0)
	s.l.mu.Lock()
	s.l.inits++
	s.l.mu.Unlock()
	return err
}

func (s *counting) NextTuple() error {
	if s.at == int64(s.l.ids) {
		return nil
	}
	s.l.chaos.at(s.ctx, "NextTuple", "counting")
	id := s.at
	s.at++
	s.out.EmitTracked(storm.Int(id), storm.Int(id))
	return s.state.Put("at", s.at)
}

func (s *counting) Exhausted() bool { return s.state != nil && s.at == int64(s.l.ids) }

func (s *counting) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("id") }

// doubling is a bolt without state between stateful ones.
type doubling struct {
	storm.BaseBasicBolt
	l   *ledger
	ctx *storm.TopologyContext
}

func (b *doubling) Prepare(ctx *storm.TopologyContext) error {
	b.ctx = ctx
	return nil
}

func (b *doubling) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	b.l.chaos.at(b.ctx, "Execute", "doubling")
	if b.l.chaos.fails() {
		return storm.ErrFail
	}
	out.Emit(storm.String(fmt.Sprintf("mod%d", t.Int(0)%7)))
	out.Emit(storm.String("all"))
	if b.l.chaos.fails() {
		return storm.ErrFail
	}
	return nil
}

func (b *doubling) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("key") }

// batching is a bolt without state that keeps tuples in hand until there are some,
// or for a second.
type batching struct {
	storm.BaseBolt
	l    *ledger
	ctx  *storm.TopologyContext
	out  *storm.OutputCollector
	hand []storm.Tuple
}

func (b *batching) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.ctx, b.out = ctx, out
	return nil
}

func (b *batching) Execute(t storm.Tuple) error {
	b.l.chaos.at(b.ctx, "Execute", "batching")
	if !t.IsTick() {
		b.hand = append(b.hand, t)
		if len(b.hand) < 7 {
			return nil
		}
	}
	for i := range b.hand {
		if b.l.chaos.fails() {
			b.out.Fail(&b.hand[i])
			b.hand = b.hand[i+1:] // whatever went before is never settled
			return nil
		}
		if i%2 == 0 {
			b.out.Emit(&b.hand[i], b.hand[i].Value(0))
		} else {
			b.out.EmitAnchors(storm.DefaultStream, b.hand[i-1:i+1], b.hand[i].Value(0))
		}
	}
	for i := range b.hand {
		b.out.Ack(&b.hand[i])
	}
	b.hand = nil
	return nil
}

func (b *batching) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("key") }

// tallying counts keys in its state.
type tallying struct {
	storm.BaseBolt
	l     *ledger
	ctx   *storm.TopologyContext
	out   *storm.OutputCollector
	state *storm.KeyValueState[string, int64]
}

func (b *tallying) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.ctx, b.out = ctx, out
	return nil
}

func (b *tallying) InitState(st storm.State) error {
	b.state = storm.NewKeyValueState(st, storm.StringCodec, storm.IntCodec)
	return nil
}

func (b *tallying) Execute(t storm.Tuple) error {
	b.l.chaos.at(b.ctx, "Execute", "tallying")
	key := t.String(0)
	n, err := b.state.GetOr(key, 0)
	if err != nil {
		return err
	}
	if err := b.state.Put(key, n+1); err != nil {
		return err
	}
	b.out.Emit(&t, storm.String(key), storm.Int(n+1))
	b.out.Ack(&t)
	return nil
}

func (b *tallying) Cleanup() error {
	b.l.mu.Lock()
	defer b.l.mu.Unlock()
	own := map[string]int64{}
	b.l.counts[b.ctx.Task()] = own
	return b.state.All(func(key string, n int64) bool {
		own[fmt.Sprintf("%s %s", b.ctx.Component(), key)] = n
		return true
	})
}

func (b *tallying) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("key", "n") }

func statefulTopology(tb testing.TB, l *ledger) *storm.Topology {
	tb.Helper()
	b := storm.NewTopologyBuilder()
	b.SetSpout("alpha", func() storm.Spout { return &counting{l: l} }, 1)
	b.SetSpout("beta", func() storm.Spout { return &counting{l: l} }, 2)
	b.SetBasicBolt("double", func() storm.BasicBolt { return &doubling{l: l} }, 2).SetNumTasks(3).ShuffleGrouping("alpha").ShuffleGrouping("beta")
	b.SetBolt("batch", func() storm.Bolt { return &batching{l: l} }, 2).ShuffleGrouping("double").SetConf("topology.tick.tuple.freq.secs", 1)
	b.SetBolt("tally", func() storm.Bolt { return &tallying{l: l} }, 2).SetNumTasks(4).FieldsGrouping("batch", "key")
	b.SetBolt("again", func() storm.Bolt { return &tallying{l: l} }, 1).FieldsGrouping("tally", "key")
	top, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return top
}

var stateTrials = []trial{
	{name: "calm", workers: 3, ids: 200, seeds: 1},
	{name: "one worker", workers: 1, ids: 200, seeds: 1},
	{name: "failing bolts", workers: 2, ids: 100, plan: plan{fail: 300}, seeds: 3},
	{name: "bolts panic", workers: 3, ids: 150, plan: plan{panicIn: "double batch tally again", panics: 3}, seeds: 4},
	{name: "spouts panic", workers: 3, ids: 150, plan: plan{panicIn: "alpha beta", panics: 3}, seeds: 4},
	{name: "links are cut", workers: 3, ids: 150, plan: plan{cuts: 10}, seeds: 3},
	{
		name: "everything", workers: 3, ids: 100, seeds: 6,
		plan: plan{fail: 300, panicIn: "alpha beta double batch tally again", panics: 4, cuts: 10, silent: true},
	},
	{
		name: "everything, little room", workers: 4, ids: 100, seeds: 4,
		plan: plan{fail: 300, panicIn: "alpha beta double batch tally again", panics: 4, cuts: 10},
		conf: storm.Config{"topology.executor.receive.buffer.size": 8, "stormring.batch.size": 4, "topology.max.spout.pending": 20},
	},
}

// Whatever happens, the effect of each tuple on state is there once: the spouts
// go back to where the last committed checkpoint left them.
func TestStateIsExact(t *testing.T) {
	for _, tl := range stateTrials {
		t.Run(tl.name, func(t *testing.T) {
			t.Parallel()
			for _, seed := range tl.runs() {
				ok := t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						m := newMemory()
						defer m.close()
						runStateful(t, &tl, seed, m)
					})
				})
				if !ok {
					return
				}
			}
		})
	}
}

func runStateful(t *testing.T, tl *trial, seed uint64, m *mesh) {
	t.Helper()
	l := &ledger{chaos: newChaos(tl.plan, m, seed), ids: tl.ids, counts: map[storm.TaskID]map[string]int64{}}
	conf := storm.Config{
		"topology.workers": tl.workers, "topology.acker.executors": 2, "topology.message.timeout.secs": 5,
		"topology.max.spout.pending": 50, "topology.sleep.spout.wait.strategy.time.ms": 50,
		"topology.state.checkpoint.interval.ms": 300,
	}
	maps.Copy(conf, tl.conf)
	top, err := New(Options{Name: "state", Instance: &storm.Instance{Topology: statefulTopology(t, l)}, Conf: conf})
	if err != nil {
		t.Fatal(err)
	}
	m.use(top)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	res, err := top.Run(ctx)
	if err != nil || res.Partial || res.Interrupted || res.Undrained != 0 {
		t.Fatalf("seed %d: result %+v, error %v", seed, res, err)
	}
	want := map[string]int64{}
	for i := range tl.ids {
		for _, component := range []string{"tally", "again"} {
			want[fmt.Sprintf("%s mod%d", component, i%7)] += 3
			want[component+" all"] += 3
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	got := map[string]int64{}
	for _, own := range l.counts {
		for key, n := range own {
			got[key] += n
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("seed %d: counts are\n%v, want\n%v", seed, got, want)
	}
	t.Logf("seed %d: %d restarts, %d times state was given to spouts, %v", seed, res.Restarts, l.inits, res.Took)
}
