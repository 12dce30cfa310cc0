// Package filewordcount measures a small real job: the lines of a file, over
// and over, are split into words, which are counted. Begin at Definition.
package filewordcount

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput"
)

// text is what is read without --file.
//
//go:embed text.txt
var text string

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
		lines, err := load(*file)
		if err != nil {
			return nil, err
		}
		m := &throughput.Meter{}
		b := storm.NewTopologyBuilder()
		b.SetSpout("read", func() storm.Spout { return &spout{lines: lines, ack: f.Ack} }, f.Spouts)
		b.SetBasicBolt("split", func() storm.BasicBolt { return &splitter{} }, f.Bolts).LocalOrShuffleGrouping("read")
		b.SetBasicBolt("count", func() storm.BasicBolt { return &counter{meter: m} }, f.Bolts).FieldsGrouping("split", "word")
		return f.Instance(b, m)
	}
}

// load reads the lines of a file that have a word.
func load(path string) ([]string, error) {
	all := text
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("filewordcount: --file: %w", err)
		}
		all = string(data)
	}
	var lines []string
	for line := range strings.Lines(all) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("filewordcount: --file %s has no words", path)
	}
	return lines, nil
}

// spout emits lines from memory, again from the start after the last.
type spout struct {
	storm.BaseSpout
	lines []string
	ack   bool
	out   *storm.SpoutOutputCollector
	next  int
	id    int64
}

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("line") }

func (s *spout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *spout) NextTuple() error {
	line := storm.String(s.lines[s.next])
	if s.next++; s.next == len(s.lines) {
		s.next = 0
	}
	if !s.ack {
		s.out.Emit(line)
		return nil
	}
	s.id++
	s.out.EmitTracked(storm.Int(s.id), line)
	return nil
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

// counter counts words.
type counter struct {
	storm.BaseBasicBolt
	meter  *throughput.Meter
	gauge  throughput.Gauge
	counts map[string]*int64
}

func (b *counter) Prepare(*storm.TopologyContext) error {
	b.counts = map[string]*int64{}
	b.gauge = b.meter.Gauge()
	return nil
}

func (b *counter) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	word := t.String(0)
	n := b.counts[word]
	if n == nil {
		n = new(int64)
		b.counts[word] = n
	}
	*n++
	b.gauge.Count()
	return nil
}

func (b *counter) Cleanup() error {
	b.gauge.Flush()
	return nil
}
