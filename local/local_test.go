package local

import (
	"context"
	"flag"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) {
	// goleveldb's own goroutine stays for a second after its end.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// numbers emits 0 to n-1, each until it is acked.
type numbers struct {
	storm.BaseSpout
	out    *storm.SpoutOutputCollector
	n      int64
	next   int64
	replay []int64
	open   map[int64]bool
	acks   *tally
}

func (s *numbers) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("n", "text") }

func (s *numbers) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	s.open = map[int64]bool{}
	return nil
}

func (s *numbers) NextTuple() error {
	var n int64
	switch {
	case len(s.replay) > 0:
		n = s.replay[0]
		s.replay = s.replay[1:]
	case s.next < s.n:
		n = s.next
		s.next++
	default:
		return nil
	}
	s.open[n] = true
	s.out.EmitTracked(storm.Int(n), storm.Int(n), storm.String(fmt.Sprint("number ", n)))
	return nil
}

func (s *numbers) Ack(id storm.Value) {
	n, _ := id.AsInt()
	delete(s.open, n)
	s.acks.add(n)
}

func (s *numbers) Fail(id storm.Value) {
	n, _ := id.AsInt()
	s.replay = append(s.replay, n)
}

func (s *numbers) Exhausted() bool {
	return s.next == s.n && len(s.replay) == 0 && len(s.open) == 0
}

// tally counts how often each number came.
type tally struct {
	mu sync.Mutex
	n  map[int64]int
}

func (t *tally) add(n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[int64]int{}
	}
	t.n[n]++
}

// pass emits what it gets.
type pass struct{ storm.BaseBasicBolt }

func (pass) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("n", "text") }

func (pass) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	out.Emit(t.Value(0), t.Value(1))
	return nil
}

// sink counts what it gets.
type sink struct {
	storm.BaseBasicBolt
	seen *tally
}

func (s *sink) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	if want := fmt.Sprint("number ", t.Int(0)); t.String(1) != want {
		return fmt.Errorf("text is %q, not %q", t.String(1), want)
	}
	s.seen.add(t.Int(0))
	return nil
}

func build(t *testing.T, n int64, acks, seen *tally) *storm.Topology {
	t.Helper()
	b := storm.NewTopologyBuilder()
	b.SetSpout("numbers", func() storm.Spout { return &numbers{n: n, acks: acks} }, 1)
	b.SetBasicBolt("pass", func() storm.BasicBolt { return pass{} }, 3).ShuffleGrouping("numbers")
	b.SetBasicBolt("sink", func() storm.BasicBolt { return &sink{seen: seen} }, 2).FieldsGrouping("pass", "n")
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return top
}

func run(t *testing.T, ctx context.Context, opts Options) Result {
	t.Helper()
	opts.Name = "test"
	top, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestEveryTupleOnceWhateverTheWorkers(t *testing.T) {
	const n = 20000
	for _, workers := range []int{1, 2, 4} {
		for _, ackers := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%d workers, %d ackers", workers, ackers), func(t *testing.T) {
				t.Parallel()
				var acks, seen tally
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				res := run(t, ctx, Options{
					Instance: &storm.Instance{Topology: build(t, n, &acks, &seen)},
					Conf:     storm.Config{"topology.workers": workers, "topology.acker.executors": ackers, "topology.max.spout.pending": 500},
				})
				if res.Partial || res.Restarts != 0 {
					t.Errorf("result %+v", res)
				}
				for i := range int64(n) {
					if seen.n[i] != 1 || acks.n[i] != 1 {
						t.Fatalf("number %d was seen %d times and acked %d times", i, seen.n[i], acks.n[i])
					}
				}
			})
		}
	}
}

// makes is the Setup of a topology that is made already.
func makes(top *storm.Topology) func(*flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	return func(*flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
		return func(storm.Env) (*storm.Instance, error) { return &storm.Instance{Topology: top}, nil }
	}
}
