package worker

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

// counterSpout emits a number per call, anchored, and counts its acks.
type counterSpout struct {
	storm.BaseSpout
	out   *storm.SpoutOutputCollector
	n     int64
	acked chan struct{}
}

func (s *counterSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("n") }
func (s *counterSpout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *counterSpout) NextTuple() error {
	s.n++
	s.out.EmitTracked(storm.Int(s.n), storm.Int(s.n))
	return nil
}

func (s *counterSpout) Ack(storm.Value) {
	select {
	case s.acked <- struct{}{}:
	default:
	}
}

// seenBolt tells on which worker it runs.
type seenBolt struct {
	storm.BaseBasicBolt
	port int
	seen chan int
}

func (b *seenBolt) Prepare(ctx *storm.TopologyContext) error {
	b.port = ctx.WorkerPort()
	return nil
}
func (b *seenBolt) DeclareOutputFields(*storm.OutputFieldsDeclarer) {}
func (b *seenBolt) Execute(storm.Tuple, *storm.BasicOutputCollector) error {
	select {
	case b.seen <- b.port:
	default:
	}
	return nil
}

func TestReplace(t *testing.T) {
	acked, seen := make(chan struct{}), make(chan int)
	b := storm.NewTopologyBuilder()
	b.SetSpout("numbers", func() storm.Spout { return &counterSpout{acked: acked} }, 1)
	b.SetBasicBolt("sink", func() storm.BasicBolt { return &seenBolt{seen: seen} }, 1).ShuffleGrouping("numbers")
	topology, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	settings := storm.Config{"topology.acker.executors": 1, "topology.max.spout.pending": 100, "topology.message.timeout.secs": 1}
	// Worker 0 has spout and acker, 1 and 2 are where the sink is, in turn.
	var listeners [3]net.Listener
	for i := range listeners {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[i] = ln
	}
	start := func(ctx context.Context, index, sinkAt int, running *sync.WaitGroup) *Worker {
		l, err := layout.New(topology, settings)
		if err != nil {
			t.Fatal(err)
		}
		w, err := New(Spec{
			TopologyID: "t-1-1", TopologyName: "t", Layout: l, Index: index, Placement: place(l, sinkAt), Port: index,
			Network: &Network{
				Listener: listeners[index], Addr: func(i int) string { return listeners[i].Addr().String() },
				ID: func(i int) string { return fmt.Sprint("slot-", i) },
			},
			Active: true, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Errorf("worker %d: %v", index, err)
			}
		})
		return w
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running, first sync.WaitGroup
	defer running.Wait()
	defer cancel()
	firstCtx, stopFirst := context.WithCancel(ctx)
	defer stopFirst()
	w := start(ctx, 0, Unplaced, &running)
	start(firstCtx, 1, 1, &first)
	if !w.Replace(place(w.spec.Layout, 1)) {
		t.Fatal("a sink elsewhere is no reason for a new worker")
	}
	expect(t, seen, 1)
	expectAck(t, acked)
	stopFirst()
	first.Wait()
	start(ctx, 2, 2, &running)
	if !w.Replace(place(w.spec.Layout, 2)) {
		t.Fatal("a sink elsewhere is no reason for a new worker")
	}
	expect(t, seen, 2)
	for range 200 { // what was under way to worker 1 does not hold up the rest
		expectAck(t, acked)
	}
	if w.Replace(place(w.spec.Layout, 0)) {
		t.Error("the sink cannot come to a running worker")
	}
}

// place puts the sink on a worker and all else on worker 0.
func place(l *layout.Layout, sinkAt int) []int {
	out := make([]int, len(l.Executors))
	for x, e := range l.Executors {
		if e.Component == "sink" {
			out[x] = sinkAt
		}
	}
	return out
}

func expect(t *testing.T, seen <-chan int, want int) {
	t.Helper()
	select {
	case got := <-seen:
		if got != want {
			t.Fatalf("the sink runs on worker %d, want %d", got, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("the sink on worker %d gets nothing", want)
	}
}

func expectAck(t *testing.T, acked <-chan struct{}) {
	t.Helper()
	select {
	case <-acked:
	case <-time.After(20 * time.Second):
		t.Fatal("no acks")
	}
}
