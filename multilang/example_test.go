package multilang_test

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// scripts holds split.py, which begins with "import stormring".
//
//go:embed testdata/example
var scripts embed.FS

// printer prints each word in the order of its letters, at the end.
type printer struct {
	storm.BaseBasicBolt
	words []string
}

func (p *printer) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	p.words = append(p.words, t.String(0))
	return nil
}

func (p *printer) Cleanup() error {
	slices.Sort(p.words)
	fmt.Println(strings.Join(p.words, " "))
	return nil
}

// A bolt in Python, whose script is a part of the Go program.
func ExampleNewBolt() {
	files, err := fs.Sub(scripts, "testdata/example")
	if err != nil {
		panic(err)
	}
	b := storm.NewTopologyBuilder()
	b.SetSpout("lines", func() storm.Spout {
		return &lines{todo: []string{"the cow jumped", "over the moon"}}
	}, 1)
	b.SetBolt("split", func() storm.Bolt {
		return multilang.NewBolt(multilang.Spec{
			Argv:    []string{"python3", "split.py"},
			Files:   files,
			Streams: map[string]storm.StreamSpec{storm.DefaultStream: {Fields: storm.Fields{"word"}}},
		})
	}, 2).ShuffleGrouping("lines")
	b.SetBasicBolt("print", func() storm.BasicBolt { return &printer{} }, 1).GlobalGrouping("split")
	topology, err := b.Build()
	if err != nil {
		panic(err)
	}
	run, err := local.New(local.Options{
		Name: "words", Instance: &storm.Instance{Topology: topology}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	if _, err := run.Run(context.Background()); err != nil {
		panic(err)
	}
	// Output: cow jumped moon over the the
}
