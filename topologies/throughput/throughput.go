// Package throughput is what the topologies that measure throughput share:
// flags, a constant spout, a bolt that only counts, and the meter. The
// topologies themselves are in the folders below.
//
// Begin at Flags and Meter.
package throughput

import (
	"flag"
	"fmt"

	"github.com/stormring/stormring/storm"
)

// maxPending is how many tracked tuples a spout task may have under way: enough
// to keep all queues busy, few enough to stay in the processor's cache.
const maxPending = 8192

// Flags are the flags of every topology that measures throughput.
type Flags struct {
	// Ack has every tuple tracked.
	Ack bool
	// Spouts and Bolts are the executors of each spout and each bolt.
	Spouts, Bolts int
}

// Register declares the flags.
func (f *Flags) Register(flags *flag.FlagSet) {
	flags.BoolVar(&f.Ack, "ack", true, "track every tuple until it is processed")
	flags.IntVar(&f.Spouts, "spouts", 1, "tasks of the spout")
	flags.IntVar(&f.Bolts, "bolts", 1, "tasks of each bolt")
}

// Check refuses values that make no sense, and arguments; the error wraps
// storm.ErrUsage.
func (f *Flags) Check(env storm.Env) error {
	switch {
	case f.Spouts < 1:
		return fmt.Errorf("%w: --spouts is %d; it must be at least 1", storm.ErrUsage, f.Spouts)
	case f.Bolts < 1:
		return fmt.Errorf("%w: --bolts is %d; it must be at least 1", storm.ErrUsage, f.Bolts)
	case len(env.Args) > 0:
		return fmt.Errorf("%w: the topology takes no arguments, but got %q", storm.ErrUsage, env.Args[0])
	}
	return nil
}

// Instance makes the topology built in b, with m's report.
func (f *Flags) Instance(b *storm.TopologyBuilder, m *Meter) (*storm.Instance, error) {
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	if f.Ack {
		conf.SetMaxSpoutPending(maxPending)
	} else {
		conf.SetNumAckers(0)
	}
	return &storm.Instance{Topology: t, Conf: conf, Report: m.Report}, nil
}

// constText is what the constant spout emits.
const constText = "constant"

// ConstSpout emits the same text for ever.
type ConstSpout struct {
	storm.BaseSpout
	Track bool // have every tuple tracked
	out   *storm.SpoutOutputCollector
	id    int64
}

// DeclareOutputFields implements storm.Spout.
func (s *ConstSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("text") }

// Open implements storm.Spout.
func (s *ConstSpout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

// NextTuple implements storm.Spout.
func (s *ConstSpout) NextTuple() error {
	if !s.Track {
		s.out.Emit(storm.String(constText))
		return nil
	}
	s.id++
	s.out.EmitTracked(storm.Int(s.id), storm.String(constText))
	return nil
}

// NullBolt counts its input and acks it.
type NullBolt struct {
	storm.BaseBolt
	Meter *Meter
	gauge Gauge
	out   *storm.OutputCollector
}

// Prepare implements storm.Bolt.
func (b *NullBolt) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	b.gauge = b.Meter.Gauge()
	return nil
}

// Execute implements storm.Bolt.
func (b *NullBolt) Execute(t storm.Tuple) error {
	b.gauge.Count()
	b.out.Ack(&t)
	return nil
}

// Cleanup implements storm.Bolt.
func (b *NullBolt) Cleanup() error {
	b.gauge.Flush()
	return nil
}
