package bench

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/stormring/stormring/storm"
)

// publishEvery is how many tuples a component counts by itself before it adds
// them to the shared count.
const publishEvery = 512

// meter is what the components of a running scenario report to.
type meter struct {
	start   time.Time    // emission times count from it
	count   atomic.Int64 // trees completed, or tuples arrived if none is tracked
	latency atomic.Pointer[latencies]
	// children, if set, is the processor time of the processes that are
	// measured too.
	children func() time.Duration
}

func newMeter() *meter { return &meter{start: time.Now()} }

// childCPU is the processor time of the processes that are measured too.
func (m *meter) childCPU() time.Duration {
	if m.children == nil {
		return 0
	}
	return m.children()
}

// latencies gathers the time from emit to the last bolt.
type latencies struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

const (
	longestLatency = int64(time.Minute)
	latencyDigits  = 3
)

func (l *latencies) add(ns int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.h == nil {
		l.h = hdrhistogram.New(1, longestLatency, latencyDigits)
	}
	_ = l.h.RecordValue(min(max(ns, 1), longestLatency))
}

func (l *latencies) read() (p50, p99, longest int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.h == nil {
		return 0, 0, 0
	}
	return l.h.ValueAtQuantile(50), l.h.ValueAtQuantile(99), l.h.Max()
}

// maxPending is topology.max.spout.pending of the acked scenarios.
const maxPending = 20000

// instance builds the scenario's topology.
func (sh shape) instance(m *meter) (*storm.Instance, error) {
	b := storm.NewTopologyBuilder()
	b.SetSpout("spout", func() storm.Spout { return &spout{shape: sh, meter: m} }, 1)
	from := "spout"
	for i := 1; i < sh.hops; i++ {
		id := "identity"
		b.SetBolt(id, func() storm.Bolt { return &identity{} }, 1).ShuffleGrouping(from)
		from = id
	}
	b.SetBolt("sink", func() storm.Bolt { return &sink{shape: sh, meter: m} }, 1).ShuffleGrouping(from)
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetNumWorkers(sh.workers)
	conf.SetNumAckers(0)
	if sh.acked {
		conf.SetNumAckers(1)
		conf.SetMaxSpoutPending(maxPending)
	}
	return &storm.Instance{Topology: t, Conf: conf}, nil
}

type spout struct {
	storm.BaseSpout
	shape
	meter   *meter
	out     *storm.SpoutOutputCollector
	n       int64
	acks    int64
	due     time.Duration
	spacing time.Duration
}

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare([]string{"word", "n", "more"}[:s.fields]...)
}

func (s *spout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	if s.rate > 0 {
		s.spacing = time.Second / time.Duration(s.rate)
		s.due = time.Since(s.meter.start)
	}
	return nil
}

func (s *spout) NextTuple() error {
	s.n++
	n := s.n
	if s.rate > 0 {
		now := time.Since(s.meter.start)
		if now < s.due {
			return nil
		}
		s.due += s.spacing
		n = int64(now)
	}
	id := storm.Nil()
	if s.acked {
		id = storm.Int(n)
	}
	switch {
	case s.boxed:
		s.out.EmitAny(id, "word", n)
	case s.fields == 2:
		s.out.EmitTracked(id, storm.String("word"), storm.Int(n))
	default:
		s.out.EmitTracked(id, storm.String("word"), storm.Int(n), storm.String("twelve bytes"))
	}
	return nil
}

func (s *spout) Ack(storm.Value) {
	if s.acks++; s.acks == publishEvery || s.rate > 0 {
		s.meter.count.Add(s.acks)
		s.acks = 0
	}
}

type identity struct {
	storm.BaseBolt
	out *storm.OutputCollector
}

func (b *identity) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "n") }

func (b *identity) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	return nil
}

func (b *identity) Execute(t storm.Tuple) error {
	b.out.Emit(&t, t.Value(0), t.Value(1))
	b.out.Ack(&t)
	return nil
}

type sink struct {
	storm.BaseBolt
	shape
	meter *meter
	out   *storm.OutputCollector
	n     int64
	bytes int
}

func (b *sink) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	return nil
}

func (b *sink) Execute(t storm.Tuple) error {
	b.bytes += len(t.String(0))
	if b.rate > 0 {
		if l := b.meter.latency.Load(); l != nil {
			l.add(int64(time.Since(b.meter.start)) - t.Int(1))
		}
	}
	b.out.Ack(&t)
	if b.acked {
		return nil
	}
	if b.n++; b.n == publishEvery {
		b.meter.count.Add(b.n)
		b.n = 0
	}
	return nil
}
