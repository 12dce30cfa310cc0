// Package constidnull measures two bolts in a row: a constant spout, a bolt
// that passes on what it gets, and one that does nothing. Begin at Definition.
package constidnull

import (
	"flag"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput"
)

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "constidnull",
		Summary: "Measure throughput: a constant spout, a bolt that passes on, and one that does nothing",
		Setup:   setup,
	}
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	f := &throughput.Flags{}
	f.Register(flags)
	return func(env storm.Env) (*storm.Instance, error) {
		if err := f.Check(env); err != nil {
			return nil, err
		}
		m := f.Meter()
		b := storm.NewTopologyBuilder()
		b.SetSpout("const", func() storm.Spout { return f.Spout("text", throughput.ConstLines()) }, f.Spouts)
		b.SetBolt("identity", func() storm.Bolt { return &identity{} }, f.Bolts).LocalOrShuffleGrouping("const")
		b.SetBolt("null", func() storm.Bolt { return &throughput.NullBolt{Meter: m} }, f.Bolts).LocalOrShuffleGrouping("identity")
		return f.Instance(b, m)
	}
}

// identity passes on what it gets.
type identity struct {
	storm.BaseBolt
	out *storm.OutputCollector
}

func (b *identity) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("text") }

func (b *identity) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	return nil
}

func (b *identity) Execute(t storm.Tuple) error {
	b.out.Emit(&t, t.Value(0))
	b.out.Ack(&t)
	return nil
}
