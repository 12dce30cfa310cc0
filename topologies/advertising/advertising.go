package advertising

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/stormring/stormring/storm"
)

// maxPending is how many events a spout task may have under way. They are acked
// when a checkpoint contains them, so it has to be enough for an interval.
const maxPending = 500_000

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "advertising",
		Summary: "Count views of ads by campaign and time window, as state that survives failures",
		Setup:   setup,
	}
}

// options are the topology's flags.
type options struct {
	data        Data
	rate        int
	spouts      int
	parallelism int
	retain      int64
	output      string // a folder; "" is none
	check       bool
	format      format
}

// format is how the result is printed.
type format string

const (
	formatTable format = "table"
	formatJSON  format = "json"
)

// String implements flag.Value.
func (f *format) String() string { return string(*f) }

// Set implements flag.Value.
func (f *format) Set(name string) error {
	*f = format(name)
	return nil
}

// Choices are offered by the shell's completion.
func (f *format) Choices() []string { return []string{string(formatJSON), string(formatTable)} }

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	o := &options{data: DefaultData(1, 1_000_000), format: formatTable}
	flags.Int64Var(&o.data.Events, "events", o.data.Events, "end after `N` events; 0 is no end")
	flags.Uint64Var(&o.data.Seed, "seed", o.data.Seed, "`N` decides all events: the same number, the same events")
	flags.IntVar(&o.data.Campaigns, "campaigns", o.data.Campaigns, "`N` campaigns")
	flags.IntVar(&o.data.Ads, "ads", o.data.Ads, "`N` ads of each campaign")
	flags.IntVar(&o.data.Users, "users", o.data.Users, "count the views of each of `N` users too, which makes the state large: about 50 bytes for each; 0 counts no users")
	flags.IntVar(&o.data.PerSecond, "per-second", o.data.PerSecond, "`N` events in each second of event time; a window has ten seconds")
	flags.IntVar(&o.rate, "rate", 0, "emit `N` events a second, of all tasks together; 0 is as many as it can")
	flags.IntVar(&o.spouts, "spouts", 1, "`N` tasks that emit events")
	flags.IntVar(&o.parallelism, "parallelism", 2, "`N` tasks of each bolt")
	flags.Int64Var(&o.retain, "retain", 0, "keep only the newest `N` windows of each campaign, so that the state of an endless run is bounded; 0 keeps all")
	flags.StringVar(&o.output, "output", "", "write the counts to the folder `DIR` before each checkpoint is committed, as lines of JSON, a file for each task; all of the state is written each time")
	flags.BoolVar(&o.check, "check", false, "count again without the topology when a local run has ended, and fail if anything differs")
	flags.Var(&o.format, "format", "print a table or json, by `NAME`; json prints every count, a line each")
	return o.build
}

func (o *options) build(env storm.Env) (*storm.Instance, error) {
	if err := o.verify(env); err != nil {
		return nil, err
	}
	counting := o.parallelism + 1 // and rejects
	if o.data.Users > 0 {
		counting += o.parallelism
	}
	j := newJob(o.data.Events, counting)
	t, err := o.topology(j)
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	instance := &storm.Instance{Topology: t, Conf: conf, Report: func(w io.Writer, partial bool) error { return o.report(j, w, partial) }}
	if o.data.Events > 0 {
		instance.Progress = j.progress
	}
	return instance, nil
}

func (o *options) topology(j *job) (*storm.Topology, error) {
	b := storm.NewTopologyBuilder()
	pub := publisher{dir: o.output, job: j}
	b.SetSpout("events", func() storm.Spout { return &spout{data: o.data, rate: o.rate, now: time.Now, job: j} }, o.spouts)
	b.SetBasicBolt("parse", func() storm.BasicBolt { return &parser{} }, o.parallelism).ShuffleGrouping("events")
	b.SetBasicBolt("filter", func() storm.BasicBolt { return &viewFilter{} }, o.parallelism).LocalOrShuffleGrouping("parse")
	b.SetBasicBolt("project", func() storm.BasicBolt { return &projector{} }, o.parallelism).LocalOrShuffleGrouping("filter")
	b.SetBasicBolt("join", func() storm.BasicBolt { return &joiner{data: o.data} }, o.parallelism).LocalOrShuffleGrouping("project")
	b.SetBasicBolt("count", func() storm.BasicBolt { return &counter{retain: o.retain, pub: pub} }, o.parallelism).
		FieldsGrouping("join", "campaign")
	byReason := storm.Grouping{Kind: storm.GroupFields, Fields: storm.Fields{"reason"}}
	b.SetBasicBolt("rejects", func() storm.BasicBolt { return &tally{into: ofRejected, pub: pub} }, 1).
		Grouping("parse", rejectedStream, byReason).Grouping("join", rejectedStream, byReason)
	if o.data.Users > 0 {
		b.SetBasicBolt("users", func() storm.BasicBolt { return &tally{into: ofUsers, pub: pub} }, o.parallelism).
			FieldsGrouping("project", "user")
	}
	return b.Build()
}

// maxAds bounds the table of ads, which is in the memory of each join task.
const maxAds = 10_000_000

func (o *options) verify(env storm.Env) error {
	for _, p := range []struct {
		flag     string
		n, least int64
	}{
		{"events", o.data.Events, 0}, {"campaigns", int64(o.data.Campaigns), 1}, {"ads", int64(o.data.Ads), 1},
		{"users", int64(o.data.Users), 0}, {"per-second", int64(o.data.PerSecond), 1}, {"rate", int64(o.rate), 0},
		{"spouts", int64(o.spouts), 1}, {"parallelism", int64(o.parallelism), 1}, {"retain", o.retain, 0},
	} {
		if p.n < p.least {
			return fmt.Errorf("%w: --%s is %d; it must be at least %d", storm.ErrUsage, p.flag, p.n, p.least)
		}
	}
	switch {
	case o.data.Campaigns > maxAds || o.data.Ads > maxAds/o.data.Campaigns:
		return fmt.Errorf("%w: %d campaigns with %d ads each are more than %d ads; their table would be too large", storm.ErrUsage, o.data.Campaigns, o.data.Ads, maxAds)
	case o.check && (o.data.Events == 0 || o.retain > 0):
		return fmt.Errorf("%w: --check needs a run that ends and keeps all windows; give --events and no --retain", storm.ErrUsage)
	case o.output != "" && !filepath.IsAbs(o.output):
		return fmt.Errorf("%w: --output is %q; it must be an absolute path, since each worker has a working directory of its own", storm.ErrUsage, o.output)
	case o.format != formatTable && o.format != formatJSON:
		return fmt.Errorf("%w: --format is %q; it must be table or json", storm.ErrUsage, o.format)
	case len(env.Args) > 0:
		return fmt.Errorf("%w: advertising takes no arguments, but got %q", storm.ErrUsage, env.Args[0])
	}
	return nil
}
