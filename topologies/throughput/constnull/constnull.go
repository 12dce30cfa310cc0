// Package constnull measures the shortest way a tuple can go: a constant spout
// and a bolt that does nothing. Begin at Definition.
package constnull

import (
	"flag"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput"
)

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "constnull",
		Summary: "Measure throughput: a constant spout and a bolt that does nothing",
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
		b.SetBolt("null", func() storm.Bolt { return &throughput.NullBolt{Meter: m} }, f.Bolts).LocalOrShuffleGrouping("const")
		return f.Instance(b, m)
	}
}
