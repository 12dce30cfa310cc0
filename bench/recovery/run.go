package recovery

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/stormring/stormring/bench"
	sr3 "github.com/stormring/stormring/sr3/recovery"
)

// Options say what to measure.
type Options struct {
	// Setups are names of set-ups, and LoopbackName; none are all.
	Setups []string
	// Full adds the large states.
	Full bool
	// Runs of which the median counts; large states, which vary little and take
	// long, have one.
	Runs int
	// Dir is the folder for what the nodes store meanwhile; "" is the system's.
	Dir string
	// Command starts this program so that it calls Serve.
	Command []string
	// Log gets what the children log.
	Log *os.File
	// Say is told how it goes.
	Say func(string)
}

// Run measures. What it returns beside an error is what was done until then.
func Run(ctx context.Context, o Options) (Report, error) {
	o.Runs = max(o.Runs, 1)
	r := Report{Machine: bench.ReadMachine()}
	for _, s := range Setups() {
		if len(o.Setups) > 0 && !slices.Contains(o.Setups, s.Name) {
			continue
		}
		sizes := s.MiB
		if o.Full {
			sizes = append(slices.Clone(sizes), s.Full...)
		}
		for _, mib := range sizes {
			t := trial{Setup: s, mib: mib, o: o}
			results, err := t.run(ctx)
			r.Results = append(r.Results, results...)
			if err != nil {
				return r, fmt.Errorf("set-up %s, %d MiB: %w", s.Name, mib, err)
			}
		}
		r.Setups = append(r.Setups, s)
	}
	if len(o.Setups) == 0 || slices.Contains(o.Setups, LoopbackName) {
		var err error
		if r.Loopback, err = runLoopback(ctx, o); err != nil {
			return r, fmt.Errorf("loopback: %w", err)
		}
	}
	return r, nil
}

// largeMiB is from where on a state is large.
const largeMiB = 128

// trialLimit ends a trial that hangs: a line of a GiB at 50 Mbit/s takes three
// minutes.
const trialLimit = 20 * time.Minute

// trial is one set-up with one size of state.
type trial struct {
	Setup
	mib int
	o   Options

	lab    *lab
	states []saved
	epoch  int64
	store  string // address of the remote store
}

// saved is a state that can be brought back.
type saved struct {
	state
	version int64
	digest  string
	// stored is what its base has at rest; folded, it has as much.
	stored int64
}

// holders are the hosts that store.
func (t *trial) holders() []string {
	names := make([]string, t.Nodes)
	for i := range names {
		names[i] = fmt.Sprintf("n%02d", i+1)
	}
	return names
}

// receivers are the hosts that rebuild.
func (t *trial) receivers() []string {
	names := make([]string, slices.Max(append(slices.Clone(t.Owners), 1)))
	for i := range names {
		names[i] = fmt.Sprintf("r%d", i+1)
	}
	return names
}

func (t *trial) say(format string, args ...any) {
	t.o.Say(fmt.Sprintf("%s, %d MiB: ", t.Name, t.mib) + fmt.Sprintf(format, args...))
}

func (t *trial) run(ctx context.Context) (results []Result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, trialLimit, fmt.Errorf("it took longer than %v", trialLimit))
	defer cancel()
	t.say("starting %d nodes", t.Nodes)
	t.lab, err = newLab(ctx, starter{t.o.Command, t.o.Log}, t.o.Dir, false)
	if t.lab != nil {
		defer t.lab.close()
	}
	if err != nil {
		return nil, err
	}
	if err := t.build(ctx); err != nil {
		return nil, err
	}
	if err := t.fill(ctx); err != nil {
		return nil, err
	}
	for _, name := range t.receivers() {
		if err := t.lab.node(ctx, name, ""); err != nil {
			return nil, err
		}
	}
	if err := t.lab.join(ctx); err != nil {
		return nil, err
	}
	if err := t.shape(ctx); err != nil {
		return nil, err
	}
	if err := t.traffic(ctx); err != nil {
		return nil, err
	}
	switch {
	case len(t.Owners) > 0:
		return t.series(ctx, t.Owners, nil)
	case len(t.Killed) > 0:
		return t.series(ctx, nil, t.Killed)
	default:
		return t.modes(ctx)
	}
}

// runs is how often everything is measured.
func (t *trial) runs() int {
	if t.mib >= largeMiB {
		return 1
	}
	return t.o.Runs
}

// modes measures all modes, and the remote store.
func (t *trial) modes(ctx context.Context) ([]Result, error) {
	type row struct {
		mode sr3.Mode
		cold bool
	}
	rows := []row{{sr3.Auto, true}, {sr3.Star, false}, {sr3.Line, false}, {sr3.Tree, false}, {sr3.Auto, false}}
	if t.Redis {
		rows = append(rows, row{Redis, false})
	}
	got := make([][]Result, len(rows))
	for n := range t.runs() {
		w, err := t.lab.worker(ctx, "r1")
		if err != nil {
			return nil, err
		}
		for i, row := range rows {
			t.say("%s, run %d of %d", row.mode, n+1, t.runs())
			var r Result
			if row.mode == Redis {
				r, err = t.fromStore(w)
			} else {
				r, err = t.recover(w, t.states[0], row.mode, nil)
			}
			if err != nil {
				w.kill()
				return nil, fmt.Errorf("%s: %w", row.mode, err)
			}
			r.Cold = row.cold
			got[i] = append(got[i], r)
		}
		if err := w.stop(); err != nil {
			return nil, err
		}
	}
	var results []Result
	for _, runs := range got {
		results = append(results, medianOf(runs))
	}
	return results, nil
}

// recover brings a state back to a worker; marked is called when a third is there.
func (t *trial) recover(w *child, s saved, mode sr3.Mode, marked func(reply) error) (Result, error) {
	t.epoch++
	q := loadRequest{state: s.state, Version: s.version, Epoch: t.epoch + 1, Replicas: t.Replicas, Mode: mode, Params: t.params()}
	if marked != nil {
		q.Mark = 1. / 3
	}
	a, err := w.ask(request{Load: &q}, marked)
	if err != nil {
		return Result{}, err
	}
	if a.Digest != s.digest {
		return Result{}, fmt.Errorf("what came back is not what was saved: %s, and %s was saved", a.Digest, s.digest)
	}
	r := result(a)
	r.Setup, r.MiB, r.Mode, r.Owners = t.Name, t.mib, mode, 1
	r.Stored, r.Floor = s.stored, t.floor(s.stored, 1)
	return r, nil
}

// result takes what a worker reports.
func result(a reply) Result {
	const ms = 1000
	e := a.Entry
	return Result{
		Date: today(), Taken: e.Mode, Reason: e.Reason, Seconds: (e.FetchMS + e.RebuildMS + e.ResumeMS) / ms,
		Place: e.PlaceMS / ms, Fetch: e.FetchMS / ms, Rebuild: e.RebuildMS / ms, Resume: e.ResumeMS / ms, Predicted: e.PredictedMS / ms,
		Bytes: e.Bytes, Wasted: e.Wasted, Replans: e.Replans, Streams: len(e.Sources), Load: loadAverage(),
	}
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// fromStore brings the state back from Redis.
func (t *trial) fromStore(w *child) (Result, error) {
	s := t.states[0]
	a, err := w.ask(request{Store: &storeRequest{state: s.state, Addr: t.store}}, nil)
	if err != nil {
		return Result{}, err
	}
	if a.Digest != s.digest {
		return Result{}, fmt.Errorf("what came from Redis is not what was saved: %s, and %s was saved", a.Digest, s.digest)
	}
	return Result{
		Setup: t.Name, MiB: t.mib, Mode: Redis, Owners: 1, Date: today(), Seconds: a.Took, Bytes: a.Stored, Stored: a.Stored,
		Floor: t.floor(s.stored, 1), Streams: 1,
	}, nil
}
