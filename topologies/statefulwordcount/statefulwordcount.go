// Package statefulwordcount counts words exactly, in state on the ring.
//
// Begin at Definition and build. The way of a word:
//
//	lines ─► split ─► count      by word, and by page with --page-lines
//	  └───────────────► count    the end of the input, to all tasks
//
// lines reads files (reader.go); its state is the position in them, so going
// back means to seek (spout.go). count keeps the counts in a key-value state
// (bolts.go). Both are saved in the same checkpoints, so each word is counted
// once whatever dies.
//
// How to run it:
//
//	stormring local statefulwordcount
//	stormring local statefulwordcount --input books --page-lines 40
//	stormring submit statefulwordcount --input /shared/log --follow --output /shared/counts
//
// With --page-lines the state is as large as you like: each word of each page has
// a count of its own. ReadCounts reads what --output has written, Event is a line
// of --journal. The demonstration of recoveries, stormring demo, runs this
// topology.
package statefulwordcount

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stormring/stormring/storm"
)

// Name is the topology's.
const Name = "statefulwordcount"

// maxPending is how many lines may be under way. They are acked when a checkpoint
// contains them, so it has to be enough for an interval.
const maxPending = 500_000

// endStream is where the spout says that all lines are counted.
const endStream = "end"

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    Name,
		Summary: "Count the words of files, as state that survives failures",
		Setup:   setup,
	}
}

// options are the topology's flags.
type options struct {
	inputs    paths
	follow    bool
	pageLines int
	rate      int
	splitters int
	counters  int
	top       int
	output    string // a folder; "" is none
	journal   string // a file; "" is none
}

// paths collects a flag that may be given several times.
type paths []string

// String implements flag.Value.
func (p *paths) String() string { return strings.Join(*p, " ") }

// Set implements flag.Value.
func (p *paths) Set(path string) error {
	*p = append(*p, path)
	return nil
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	o := &options{}
	flags.Var(&o.inputs, "input", "count the words of `PATH`, a file or all files of a folder, in the order of their names; may be repeated; they must not change while the topology runs (default: a text that is built in)")
	flags.BoolVar(&o.follow, "follow", false, "the only input is a file that grows: wait for more until there is a file of the same name with .end behind it")
	flags.IntVar(&o.pageLines, "page-lines", 0, "count the words of each page of `N` lines, which makes the state large; a line that begins with a form feed names what follows; 0 counts words whatever their page")
	flags.IntVar(&o.rate, "rate", 0, "emit `N` lines a second; 0 is as many as it can")
	flags.IntVar(&o.splitters, "splitters", 1, "`N` tasks that split lines into words")
	flags.IntVar(&o.counters, "counters", 1, "`N` tasks that count")
	flags.IntVar(&o.top, "top", 20, "print only the `N` most frequent words; 0 is all")
	flags.StringVar(&o.output, "output", "", "write the counts to the folder `DIR` when all words are counted, a file for each task")
	flags.StringVar(&o.journal, "journal", "", "append to `FILE` a line of JSON when a task that counts gets its state, when it then counts its first word, and before each commit")
	return o.build
}

func (o *options) build(env storm.Env) (*storm.Instance, error) {
	o.inputs = slices.Concat(o.inputs, env.Args)
	if err := o.verify(); err != nil {
		return nil, err
	}
	files, err := resolve(o.inputs)
	if err != nil {
		return nil, fmt.Errorf("statefulwordcount: %w", err)
	}
	j := newJob(files, o.counters)
	t, err := o.topology(files, j)
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	instance := &storm.Instance{Topology: t, Conf: conf, Report: func(w io.Writer, _ bool) error { return j.report(w, o.top) }}
	if !o.follow {
		instance.Progress = j.progress
	}
	return instance, nil
}

func (o *options) topology(files []source, j *job) (*storm.Topology, error) {
	b := storm.NewTopologyBuilder()
	b.SetSpout("lines", func() storm.Spout {
		return newSpout(reader{files: files, follow: o.follow, pageLines: o.pageLines}, o.rate, j)
	}, 1)
	b.SetBasicBolt("split", func() storm.BasicBolt { return &splitter{} }, o.splitters).LocalOrShuffleGrouping("lines")
	b.SetBasicBolt("count", func() storm.BasicBolt { return &counter{output: o.output, journal: o.journal, job: j} }, o.counters).
		FieldsGrouping("split", "word", "page").
		Grouping("lines", endStream, storm.Grouping{Kind: storm.GroupAll})
	return b.Build()
}

func (o *options) verify() error {
	for _, p := range []struct {
		flag     string
		n, least int
	}{{"page-lines", o.pageLines, 0}, {"rate", o.rate, 0}, {"splitters", o.splitters, 1}, {"counters", o.counters, 1}, {"top", o.top, 0}} {
		if p.n < p.least {
			return fmt.Errorf("%w: --%s is %d; it must be at least %d", storm.ErrUsage, p.flag, p.n, p.least)
		}
	}
	if o.follow && len(o.inputs) != 1 {
		return fmt.Errorf("%w: --follow is for one input, but there are %d", storm.ErrUsage, len(o.inputs))
	}
	for flag, path := range map[string]string{"output": o.output, "journal": o.journal} {
		if path != "" && !filepath.IsAbs(path) {
			return fmt.Errorf("%w: --%s is %q; it must be an absolute path, since each worker has a working directory of its own", storm.ErrUsage, flag, path)
		}
	}
	return nil
}
