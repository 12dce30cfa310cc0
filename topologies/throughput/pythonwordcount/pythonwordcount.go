// Package pythonwordcount measures filewordcount with a splitter in Python. Begin
// at Definition.
package pythonwordcount

import (
	"embed"
	"flag"
	"io/fs"

	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput"
	"github.com/stormring/stormring/topologies/throughput/words"
)

// embedded is the script.
//
//go:embed resources
var embedded embed.FS

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "pythonwordcount",
		Summary: "Measure throughput: filewordcount with a splitter in Python",
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
		files, err := fs.Sub(embedded, "resources")
		if err != nil {
			return nil, err
		}
		m := f.Meter()
		m.Slow()
		b := storm.NewTopologyBuilder()
		b.SetSpout("read", func() storm.Spout { return f.Spout("line", lines) }, f.Spouts)
		b.SetBolt("split", func() storm.Bolt {
			return multilang.NewBolt(multilang.Spec{
				Argv: []string{"python3", "split.py"}, Files: files,
				Streams: map[string]storm.StreamSpec{storm.DefaultStream: {Fields: []string{"word"}}},
			})
		}, f.Bolts).LocalOrShuffleGrouping("read")
		b.SetBasicBolt("count", func() storm.BasicBolt { return words.NewCounter(m) }, f.Bolts).FieldsGrouping("split", "word")
		return f.Instance(b, m)
	}
}
