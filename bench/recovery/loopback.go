package recovery

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	sr3 "github.com/stormring/stormring/sr3/recovery"
)

// loopbackNodes is how many nodes, and connections of the floor, there are.
const loopbackNodes = 8

// runLoopback measures star without links in between, and the first read of a
// state that comes on demand.
func runLoopback(ctx context.Context, o Options) ([]Loopback, error) {
	var all []Loopback
	load := loadAverage()
	for _, l := range []Loopback{
		{MiB: 1, FirstTarget: 0.15},
		{MiB: 128, Target: 0.35, FirstTarget: 0.15},
		{MiB: 1024, Target: 2.5, FirstTarget: 0.15},
	} {
		l.Load = load
		got, err := loopbackOf(ctx, l, o)
		if err != nil {
			return all, fmt.Errorf("%d MiB: %w", l.MiB, err)
		}
		all = append(all, got)
	}
	return all, nil
}

// loadAverage is that of the last minute; 0 if the system does not tell.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

func loopbackOf(ctx context.Context, l Loopback, o Options) (Loopback, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lab, err := newLab(ctx, starter{o.Command, o.Log}, o.Dir, true)
	if lab != nil {
		defer lab.close()
	}
	if err != nil {
		return l, err
	}
	t := trial{Setup: Setup{Name: LoopbackName, Nodes: loopbackNodes, Replicas: 3, Link: Link{1, 1}, Receiver: Link{1, 1}}, mib: l.MiB, o: o, lab: lab}
	if err := t.fill(ctx); err != nil {
		return l, err
	}
	if err := lab.node(ctx, "r1", ""); err != nil {
		return l, err
	}
	if err := lab.join(ctx); err != nil {
		return l, err
	}
	source, first, err := lab.start(ctx, "the source", nil, role{Source: &sourceRole{Addr: "127.0.0.1:0"}})
	if err != nil {
		return l, err
	}
	defer source.kill()
	var runs, firsts, floors []Result
	for n := range o.Runs {
		t.say("run %d of %d", n+1, o.Runs)
		w, err := lab.worker(ctx, "r1")
		if err != nil {
			return l, err
		}
		err = t.loopbackRun(w, first.Self.Addr, &runs, &firsts, &floors)
		w.kill()
		if err != nil {
			return l, err
		}
	}
	r, first1 := medianOf(runs), medianOf(firsts)
	l.Date, l.Seconds, l.All, l.Bytes = today(), r.Seconds, r.All, r.Bytes
	l.First, l.Ready, l.AllFirst, l.Floor = first1.Seconds, first1.Resume, first1.All, medianOf(floors).Seconds
	return l, nil
}

// loopbackRun is one run: the floor, on demand, all at once.
func (t *trial) loopbackRun(w *child, source string, runs, firsts, floors *[]Result) error {
	s := t.states[0]
	a, err := w.ask(request{Floor: &floorRequest{Addr: source, Bytes: s.stored, Connections: loopbackNodes}}, nil)
	if err != nil {
		return err
	}
	*floors = append(*floors, Result{Seconds: a.Took})
	t.epoch++
	q := loadRequest{state: s.state, Version: s.version, Epoch: t.epoch + 1, Replicas: t.Replicas, Mode: sr3.Star, First: true}
	if a, err = w.ask(request{Load: &q}, nil); err != nil {
		return err
	}
	if a.Digest != s.digest {
		return fmt.Errorf("what came back on demand is not what was saved: %s, and %s was saved", a.Digest, s.digest)
	}
	*firsts = append(*firsts, Result{Seconds: a.Took, Resume: a.Entry.FirstMS / 1000})
	r, err := t.recover(w, s, sr3.Star, nil)
	*runs = append(*runs, r)
	return err
}
