// Package throughput is what the topologies that measure throughput share:
// flags, a constant spout, a bolt that only counts, and the meter; and the journals
// that tasks in a cluster write. The topologies themselves are in the folders below.
//
// Begin at Flags and Meter.
package throughput

import (
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/stormring/stormring/storm"
)

// maxPending is how many tracked tuples a spout task may have under way: enough
// to keep all queues busy, few enough to stay in the processor's cache.
const maxPending = 8192

// maxRate is the most that --rate can ask for: one tuple a nanosecond.
const maxRate = int(time.Second)

// Flags are the flags of every topology that measures throughput.
type Flags struct {
	// Ack has every tuple tracked.
	Ack bool
	// Spouts and Bolts are the executors of each spout and each bolt.
	Spouts, Bolts int
	// Rate is how many tuples a spout task emits in a second; 0 is as many as it can.
	Rate int
	// Journal is the folder that tasks write to; "" is none.
	Journal string
}

// Register declares the flags.
func (f *Flags) Register(flags *flag.FlagSet) {
	flags.BoolVar(&f.Ack, "ack", true, "track every tuple until it is processed")
	flags.IntVar(&f.Spouts, "spouts", 1, "tasks of the spout")
	flags.IntVar(&f.Bolts, "bolts", 1, "tasks of each bolt")
	flags.IntVar(&f.Rate, "rate", 0, "each spout task emits `N` tuples a second; 0 is as many as it can")
	flags.StringVar(&f.Journal, "journal", "", "tasks write what they count, and with --rate how long tuples take, to files in the folder `DIR`")
}

// Check refuses values that make no sense, and arguments; the error wraps
// storm.ErrUsage.
func (f *Flags) Check(env storm.Env) error {
	switch {
	case f.Spouts < 1:
		return fmt.Errorf("%w: --spouts is %d; it must be at least 1", storm.ErrUsage, f.Spouts)
	case f.Bolts < 1:
		return fmt.Errorf("%w: --bolts is %d; it must be at least 1", storm.ErrUsage, f.Bolts)
	case f.Rate < 0 || f.Rate > maxRate:
		return fmt.Errorf("%w: --rate is %d; it must be from 0 to %d", storm.ErrUsage, f.Rate, maxRate)
	case f.Journal != "" && !filepath.IsAbs(f.Journal):
		return fmt.Errorf("%w: --journal is %q; it must be an absolute path, since each worker has a working directory of its own", storm.ErrUsage, f.Journal)
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

// ConstLines are what a spout emits where it does not matter.
func ConstLines() []string { return []string{constText} }

// Meter makes the meter of a topology with these flags.
func (f *Flags) Meter() *Meter { return &Meter{journal: f.Journal} }

// Spout makes a spout that emits lines from memory, again from the start after the
// last.
func (f *Flags) Spout(field string, lines []string) storm.Spout {
	s := &spout{field: field, lines: lines, ack: f.Ack, journal: f.Journal}
	if f.Rate > 0 {
		s.spacing = time.Second / time.Duration(f.Rate)
	}
	return s
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
	return b.gauge.Err()
}

// Execute implements storm.Bolt.
func (b *NullBolt) Execute(t storm.Tuple) error {
	b.gauge.Count()
	b.out.Ack(&t)
	return nil
}

// Cleanup implements storm.Bolt.
func (b *NullBolt) Cleanup() error {
	return b.gauge.Close()
}
