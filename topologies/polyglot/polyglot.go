// Package polyglot counts words with bolts in Python, JavaScript, Ruby or shell,
// whose scripts are a part of this program.
//
// Begin at Definition and build: a spout in Go emits lines (lines.go), the
// splitter is a script of resources/, and so may be the counter, which keeps its
// counts in the state of its task; count.go is the same in Go. The last bolt has
// the result (report.go). components.go has the parts in Go for topologies that
// are described elsewhere, such as python.yaml.
//
// Counts are exact though children die and lines come again: see counter.
package polyglot

import (
	"embed"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// embedded are the scripts, which are also the text that is counted if no other
// is named.
//
//go:embed resources
var embedded embed.FS

// languages are the interpreters of scripts, and their file names' endings.
var languages = map[string]struct{ program, ending string }{
	"python": {"python3", ".py"}, "node": {"node", ".js"}, "ruby": {"ruby", ".rb"}, "shell": {"sh", ".sh"},
}

// goCounter is the counter that needs no script.
const goCounter = "go"

// maxPending is how many lines may be under way.
const maxPending = 64

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "polyglot",
		Summary: "Count words with bolts in Python, Node, Ruby or shell",
		Setup:   setup,
	}
}

// options are the topology's flags.
type options struct {
	inputs    paths
	splitter  choice
	counter   choice
	splitters int
	counters  int
	invalid   choice
	output    string
	top       int
	format    choice

	tune func(*multilang.Spec) // for tests
}

// choice is a flag that is one of some names. What Set takes is checked with
// all else in check.
type choice struct {
	name  string
	names []string
}

// String implements flag.Value.
func (c *choice) String() string { return c.name }

// Set implements flag.Value.
func (c *choice) Set(name string) error {
	if !slices.Contains(c.names, name) {
		return fmt.Errorf("it must be one of %s", strings.Join(c.names, ", "))
	}
	c.name = name
	return nil
}

// Choices are offered by the shell's completion.
func (c *choice) Choices() []string { return c.names }

// paths collects a flag that may be given several times.
type paths []string

// String implements flag.Value.
func (p *paths) String() string { return strings.Join(*p, " ") }

// Set implements flag.Value.
func (p *paths) Set(path string) error {
	*p = append(*p, path)
	return nil
}

func newOptions() *options {
	return &options{
		splitter:  choice{"python", slices.Sorted(maps.Keys(languages))},
		counter:   choice{goCounter, []string{goCounter, "node", "python", "ruby"}},
		splitters: 1, counters: 2,
		invalid: choice{failInvalid, []string{failInvalid, replaceInvalid}},
		top:     20, format: choice{"table", slices.Sorted(maps.Keys(printers))},
	}
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	o := newOptions()
	flags.Var(&o.inputs, "input", "count the words of the file `PATH`; may be repeated (default: the scripts of this topology)")
	flags.Var(&o.splitter, "splitter", "split lines with the script in `LANGUAGE`: python, node, ruby or shell")
	flags.Var(&o.counter, "counter", "count in `LANGUAGE`: go, or with a script that keeps its counts in state: python, node or ruby")
	flags.IntVar(&o.splitters, "splitters", o.splitters, "`N` tasks that split lines into words, each with a process")
	flags.IntVar(&o.counters, "counters", o.counters, "`N` tasks that count")
	flags.Var(&o.invalid, "invalid", "if a line is not UTF-8, `DO` fail or replace: end with an error, or count what is not UTF-8 as U+FFFD")
	flags.StringVar(&o.output, "output", "", "also write the counts to the file `PATH` whenever they have changed, once a second at most, on the host where the last bolt runs")
	flags.IntVar(&o.top, "top", o.top, "print only the `N` most frequent words; 0 is all")
	flags.Var(&o.format, "format", "print a table, tsv or json, by `NAME`")
	return o.build
}

func (o *options) build(env storm.Env) (*storm.Instance, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	sources, total, err := resolve(slices.Concat(o.inputs, env.Args))
	if err != nil {
		return nil, fmt.Errorf("polyglot: %w", err)
	}
	files, err := fs.Sub(embedded, "resources")
	if err != nil {
		return nil, err
	}
	j := newJob(total)
	b := storm.NewTopologyBuilder()
	b.SetSpout("lines", func() storm.Spout {
		return &lines{job: j, sources: sources, text: text{replace: o.invalid.name == replaceInvalid, noNUL: o.splitter.name == "shell"}}
	}, 1)
	b.SetBolt("split", o.script(files, o.splitter.name, "split", "word", "times", "line"), o.splitters).ShuffleGrouping("lines")
	var count *storm.BoltDeclarer
	if o.counter.name == goCounter {
		count = b.SetBasicBolt("count", func() storm.BasicBolt { return &counter{job: j} }, o.counters)
	} else {
		count = b.SetBolt("count", o.script(files, o.counter.name, "count", "word", "count"), o.counters)
	}
	count.FieldsGrouping("split", "word").Grouping("lines", settledStream, storm.Grouping{Kind: storm.GroupAll})
	b.SetBasicBolt("report", func() storm.BasicBolt { return &reporter{job: j, output: o.output} }, 1).GlobalGrouping("count")
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	return &storm.Instance{Topology: t, Conf: conf, Progress: j.progress, Report: func(w io.Writer, _ bool) error {
		counts, err := j.counts()
		if err != nil {
			return err
		}
		return write(w, most(counts, o.top), o.format.name)
	}}, nil
}

// script makes the bolts that run a script.
func (o *options) script(files fs.FS, language, name string, fields ...string) func() storm.Bolt {
	l := languages[language]
	return func() storm.Bolt {
		s := multilang.Spec{
			Argv: []string{l.program, name + l.ending}, Files: files,
			Streams: map[string]storm.StreamSpec{storm.DefaultStream: {Fields: fields}},
		}
		if o.tune != nil {
			o.tune(&s)
		}
		return multilang.NewBolt(s)
	}
}

func (o *options) check() error {
	switch {
	case o.splitters < 1:
		return fmt.Errorf("%w: --splitters is %d; it must be at least 1", storm.ErrUsage, o.splitters)
	case o.counters < 1:
		return fmt.Errorf("%w: --counters is %d; it must be at least 1", storm.ErrUsage, o.counters)
	case o.top < 0:
		return fmt.Errorf("%w: --top is %d; it must not be negative (0 prints all words)", storm.ErrUsage, o.top)
	}
	return nil
}
