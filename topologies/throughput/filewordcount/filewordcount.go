// Package filewordcount measures a small real job: the lines of a file, over
// and over, are split into words, which are counted. Begin at Definition.
package filewordcount

import (
	"flag"
	"strings"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput"
	"github.com/stormring/stormring/topologies/throughput/words"
)

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "filewordcount",
		Summary: "Measure throughput: count the words of a file's lines, over and over",
		Setup:   setup,
	}
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	f := &throughput.Flags{}
	f.Register(flags)
	file := flags.String("file", "", "the `PATH` of the text to read (default: a small one that is built in)")
	return func(env storm.Env) (*storm.Instance, error) {
		if err := f.Check(env); err != nil {
			return nil, err
		}
		lines, err := words.Load(*file)
		if err != nil {
			return nil, err
		}
		m := f.Meter()
		b := storm.NewTopologyBuilder()
		b.SetSpout("read", func() storm.Spout { return f.Spout("line", lines) }, f.Spouts)
		b.SetBasicBolt("split", func() storm.BasicBolt { return &splitter{} }, f.Bolts).LocalOrShuffleGrouping("read")
		b.SetBasicBolt("count", func() storm.BasicBolt { return words.NewCounter(m) }, f.Bolts).FieldsGrouping("split", "word")
		return f.Instance(b, m)
	}
}

// splitter emits the words of each line.
type splitter struct{ storm.BaseBasicBolt }

func (*splitter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

func (*splitter) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	for word := range strings.FieldsSeq(t.String(0)) {
		out.Emit(storm.String(word))
	}
	return nil
}
