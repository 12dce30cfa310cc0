package worker

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
)

type constSpout struct {
	storm.BaseSpout
	out   *storm.SpoutOutputCollector
	n     int64
	acked *atomic.Int64
	ack   bool
	mine  int64
}

func (s *constSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "n") }
func (s *constSpout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}
func (s *constSpout) NextTuple() error {
	s.n++
	if s.ack {
		s.out.EmitTracked(storm.Int(s.n), storm.String("word"), storm.Int(s.n))
	} else {
		s.out.Emit(storm.String("word"), storm.Int(s.n))
	}
	return nil
}
func (s *constSpout) Ack(storm.Value) {
	s.mine++
	if s.mine&1023 == 0 {
		s.acked.Store(s.mine)
	}
}

type nullBolt struct {
	storm.BaseBolt
	out *storm.OutputCollector
	sum int64
	cnt *atomic.Int64
	n   int64
}

func (b *nullBolt) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	return nil
}
func (b *nullBolt) Execute(t storm.Tuple) error {
	b.sum += t.Int(1)
	b.n++
	if b.n&1023 == 0 {
		b.cnt.Store(b.n)
	}
	b.out.Ack(&t)
	return nil
}

func run(b *testing.B, ack bool) {
	debug.SetGCPercent(400)
	tb := storm.NewTopologyBuilder()
	var acked, cnt atomic.Int64
	tb.SetSpout("s", func() storm.Spout { return &constSpout{acked: &acked, ack: ack} }, 1)
	tb.SetBolt("b", func() storm.Bolt { return &nullBolt{cnt: &cnt} }, 1).ShuffleGrouping("s")
	top, err := tb.Build()
	if err != nil {
		b.Fatal(err)
	}
	conf := storm.Config{"topology.max.spout.pending": 20000}
	if !ack {
		conf["topology.acker.executors"] = 0
	}
	l, err := layout.New(top, conf)
	if err != nil {
		b.Fatal(err)
	}
	w, err := New(Spec{TopologyID: "t-1", TopologyName: "t", Layout: l, Placement: l.Deal(1), Active: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	time.Sleep(500 * time.Millisecond)
	c := &acked
	if !ack {
		c = &cnt
	}
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	cpu0 := cpuTime()
	n0, t0 := c.Load(), time.Now()
	time.Sleep(2 * time.Second)
	n := c.Load() - n0
	el := time.Since(t0)
	b.ReportMetric(float64(cpuTime()-cpu0)/float64(n), "cpu-ns/tuple")
	runtime.ReadMemStats(&m1)
	b.ReportMetric(float64(n)/el.Seconds()/1e6, "Mtuples/s")
	b.ReportMetric(float64(m1.Mallocs-m0.Mallocs)/float64(n), "allocs/tuple")
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

func BenchmarkAcked(b *testing.B)   { run(b, true) }
func BenchmarkUnacked(b *testing.B) { run(b, false) }

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
