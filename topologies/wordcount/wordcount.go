// Package wordcount counts the words of files, pipes and standard input.
//
// Begin at Definition and build: a spout cuts its inputs into blocks of whole
// words (spout.go), split bolts take the blocks apart (words.go) and count
// bolts, to which equal words go by fields grouping, count (bolts.go). Counts
// are exact, whatever the bytes.
//
// With --ledger the counts are in files and stay exact though workers die: see
// ledger in ledger.go, which puts that topology together, and ReadLedger.
package wordcount

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stormring/stormring/storm"
)

// maxPending is how many blocks a spout task may have under way. It bounds the
// memory of a run, since a block is held until all its words are counted.
const maxPending = 32

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "wordcount",
		Summary: "Count the words of files, directories, pipes or standard input, exactly",
		Setup:   setup,
	}
}

// options are the topology's flags.
type options struct {
	inputs    paths
	spouts    int
	splitters int
	counters  int
	top       int
	format    format

	ledger     string // a folder; "" is none
	sync       bool
	reportOnly bool
	blockBytes int64
}

// format is the name of one of printers. What Set takes is checked with all
// else in check.
type format string

// String implements flag.Value.
func (f *format) String() string { return string(*f) }

// Set implements flag.Value.
func (f *format) Set(name string) error {
	*f = format(name)
	return nil
}

// Choices are offered by the shell's completion.
func (f *format) Choices() []string { return slices.Sorted(maps.Keys(printers)) }

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
	o := &options{format: "table", blockBytes: ledgerBlock}
	flags.Var(&o.inputs, "input", "count the words of `PATH`: a file, directory, pattern, named pipe, or - for standard input; may be repeated (default: all Go files of GOROOT/src)")
	flags.IntVar(&o.spouts, "spouts", 1, "`N` tasks that read input")
	flags.IntVar(&o.splitters, "splitters", 1, "`N` tasks that split text into words")
	flags.IntVar(&o.counters, "counters", 2, "`N` tasks that count")
	flags.IntVar(&o.top, "top", 20, "print only the `N` most frequent words; 0 is all")
	flags.Var(&o.format, "format", "print a table, tsv or json, by `NAME`")
	flags.StringVar(&o.ledger, "ledger", "", "keep the counts in the folder `DIR`, which all workers share, so that they stay exact whatever dies; inputs must be files that do not change")
	flags.BoolVar(&o.sync, "sync", false, "with --ledger: bring every write to the disk, so that counts outlive a crash of the machine too")
	flags.BoolVar(&o.reportOnly, "report-only", false, "with --ledger: count nothing, just print what is in the ledger")
	return o.build
}

func (o *options) build(env storm.Env) (*storm.Instance, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.ledger != "" {
		return o.buildLedger(slices.Concat(o.inputs, env.Args))
	}
	inputs, err := resolve(slices.Concat(o.inputs, env.Args), env.Stdin)
	if err != nil {
		return nil, fmt.Errorf("wordcount: %w", err)
	}
	j := newJob(inputs, env.Stdin)
	b := storm.NewTopologyBuilder()
	b.SetSpout("read", func() storm.Spout { return &spout{job: j} }, o.spouts)
	b.SetBasicBolt("split", func() storm.BasicBolt { return &splitter{job: j} }, o.splitters).ShuffleGrouping("read")
	b.SetBasicBolt("count", func() storm.BasicBolt { return &counter{job: j} }, o.counters).FieldsGrouping("split", "word")
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	// A block whose time is up would be emitted again and its words counted
	// twice. On a slow machine that must not happen; so nothing times out.
	storm.ConfTopologyEnableMessageTimeouts.Set(conf, false)
	instance := &storm.Instance{Topology: t, Conf: conf, Report: func(w io.Writer, _ bool) error {
		counts, err := j.counts()
		if err != nil {
			return err
		}
		return write(w, most(counts, o.top), string(o.format))
	}}
	if j.total > 0 {
		instance.Progress = j.progress
	}
	return instance, nil
}

func (o *options) check() error {
	for _, p := range []struct {
		flag string
		n    int
	}{{"spouts", o.spouts}, {"splitters", o.splitters}, {"counters", o.counters}} {
		if p.n < 1 {
			return fmt.Errorf("%w: --%s is %d; it must be at least 1", storm.ErrUsage, p.flag, p.n)
		}
	}
	if o.ledger == "" && (o.sync || o.reportOnly) {
		return fmt.Errorf("%w: --sync and --report-only are about a ledger; name it with --ledger", storm.ErrUsage)
	}
	if o.ledger != "" && !filepath.IsAbs(o.ledger) {
		return fmt.Errorf("%w: --ledger is %q; it must be an absolute path, since each worker has a working directory of its own", storm.ErrUsage, o.ledger)
	}
	if o.top < 0 {
		return fmt.Errorf("%w: --top is %d; it must not be negative (0 prints all words)", storm.ErrUsage, o.top)
	}
	if printers[string(o.format)] == nil {
		return fmt.Errorf("%w: --format is %q; it must be table, tsv or json", storm.ErrUsage, o.format)
	}
	return nil
}
