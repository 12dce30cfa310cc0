package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/grouping"
)

// directStream is a second stream of every component, by direct grouping.
const directStream = "direct"

// stream is one output stream of a task, with who subscribes.
type stream struct {
	origin *track.Origin
	subs   []subscription
	fields int
}

type subscription struct {
	grouping *grouping.Grouping
	targets  []storm.TaskID
	direct   bool
}

// shape is a component that only declares; what it does is in user.go.
type shape struct{ storm.BaseSpout }

func (shape) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("key", "n")
	d.DeclareDirectStream(directStream, "key", "n")
}

func (shape) Open(*storm.TopologyContext, *storm.SpoutOutputCollector) error { return nil }
func (shape) NextTuple() error                                               { return nil }

type boltShape struct{ storm.BaseBolt }

func (boltShape) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { shape{}.DeclareOutputFields(d) }

func (boltShape) Prepare(*storm.TopologyContext, *storm.OutputCollector) error { return nil }
func (boltShape) Execute(storm.Tuple) error                                    { return nil }

// kinds are the groupings that a stream may be subscribed by.
var kinds = []struct {
	author storm.GroupingKind
	is     grouping.Kind
}{
	{storm.GroupShuffle, grouping.Shuffle},
	{storm.GroupLocalOrShuffle, grouping.LocalOrShuffle},
	{storm.GroupFields, grouping.Fields},
	{storm.GroupGlobal, grouping.Global},
	{storm.GroupAll, grouping.All},
	{storm.GroupNone, grouping.None},
	{storm.GroupPartialKey, grouping.PartialKey},
}

// topology makes up spouts and layers of bolts that listen to those above.
func topology(rng *rand.Rand) (*storm.Topology, error) {
	b := storm.NewTopologyBuilder()
	var above []string
	for i := range 1 + rng.IntN(3) {
		id := fmt.Sprint("spout", i)
		b.SetSpout(id, func() storm.Spout { return shape{} }, 1+rng.IntN(2))
		above = append(above, id)
	}
	for i := range 1 + rng.IntN(4) {
		id := fmt.Sprint("bolt", i)
		d := b.SetBolt(id, func() storm.Bolt { return boltShape{} }, 1+rng.IntN(3))
		// Whatever is new is listened to, and some of the rest.
		for j, from := range above {
			if i > 0 && j < len(above)-1 && rng.IntN(2) == 0 {
				continue
			}
			kind := kinds[rng.IntN(len(kinds))].author
			g := storm.Grouping{Kind: kind}
			if kind == storm.GroupFields || kind == storm.GroupPartialKey {
				g.Fields = storm.Fields{"key"}
			}
			d.Grouping(from, storm.DefaultStream, g)
			if rng.IntN(4) == 0 {
				d.Grouping(from, directStream, storm.Grouping{Kind: storm.GroupDirect})
			}
		}
		above = append(above, id)
	}
	return b.Build()
}

// build makes workers and tasks.
func (w *World) build() error {
	top, err := topology(w.rng)
	if err != nil {
		return err
	}
	w.layout, err = layout.New(top, storm.Config{
		string(storm.ConfTopologyWorkers):        1 + w.rng.IntN(4),
		string(storm.ConfTopologyAckerExecutors): 1 + w.rng.IntN(3),
	})
	if err != nil {
		return err
	}
	for i := range w.layout.Workers {
		w.processes = append(w.processes, &process{index: i})
	}
	w.net.setUp(w.processes)
	place := w.layout.Deal(w.layout.Workers)
	w.tasks = []*task{nil}
	for i, e := range w.layout.Executors {
		for _, id := range e.Tasks() {
			t := &task{id: id, component: e.Component, home: w.processes[place[i]]}
			t.home.tasks = append(t.home.tasks, t)
			w.tasks = append(w.tasks, t)
			w.enlist(t)
		}
	}
	for _, t := range w.tasks[1:] {
		t.queues = make([]*queue, len(w.tasks))
	}
	for _, p := range w.processes {
		w.startProcess(p)
	}
	return w.err
}

func (w *World) enlist(t *task) {
	switch {
	case t.component == storm.AckerComponent:
		t.acker = &ackerPart{}
		w.ackers = append(w.ackers, t)
	case w.layout.Topology.Components[t.component].IsSpout():
		t.spout = &spoutPart{source: w.truth.newSource(w.cfg.Messages)}
		w.spouts = append(w.spouts, t)
	default:
		t.bolt = &boltPart{}
		w.bolts = append(w.bolts, t)
	}
}

// startTask gives a task its groupings and an empty part.
func (w *World) startTask(t *task) error {
	if t.acker != nil {
		t.acker.start(w)
		return nil
	}
	index := map[string]int{}
	t.streams = t.streams[:0]
	for i, id := range w.layout.Streams(t.component) {
		s, err := w.newStream(t, i, id)
		if err != nil {
			return err
		}
		t.streams = append(t.streams, s)
		if !strings.HasPrefix(id, "__") {
			index[id] = i
		}
	}
	if t.spout != nil {
		t.spout.start(w, t, index)
	} else {
		t.bolt.start(w, t, index)
	}
	return nil
}

func (w *World) newStream(t *task, i int, id string) (stream, error) {
	s := stream{origin: w.layout.Origin(int32(t.id), uint16(i))}
	s.fields = len(s.origin.Fields)
	for _, target := range w.layout.Topology.Targets(t.component) {
		if target.Stream != id || w.layout.Topology.Components[target.Component].NewBolt == nil {
			continue
		}
		sub := subscription{targets: w.layout.Tasks[target.Component], direct: target.Grouping.Kind == storm.GroupDirect}
		if !sub.direct {
			spec := grouping.Spec{Targets: sub.targets, Rand: w.rng}
			for _, k := range kinds {
				if k.author == target.Grouping.Kind {
					spec.Kind = k.is
				}
			}
			for _, f := range target.Grouping.Fields {
				spec.Fields = append(spec.Fields, slices.Index(s.origin.Fields, f))
			}
			for _, id := range sub.targets {
				spec.Local = append(spec.Local, w.tasks[id].home == t.home)
			}
			var err error
			if sub.grouping, err = grouping.New(spec); err != nil {
				return s, fmt.Errorf("task %d stream %q to component %q: %w", t.id, id, target.Component, err)
			}
		}
		s.subs = append(s.subs, sub)
	}
	return s, nil
}

// route is where an emission on s goes. direct is the task that the emitter
// named, or 0.
func (w *World) route(s *stream, tp *storm.Tuple, direct storm.TaskID) []storm.TaskID {
	if tp.Len() != s.fields {
		w.broken("%d values on stream %q, which has %d fields", tp.Len(), s.origin.Stream, s.fields)
	}
	tp.SetOrigin(s.origin)
	if direct != 0 {
		return []storm.TaskID{direct}
	}
	var to []storm.TaskID
	for i := range s.subs {
		sub := &s.subs[i]
		if sub.direct {
			continue
		}
		if sub.grouping.Single() {
			to = append(to, sub.targets[sub.grouping.One(tp)])
			continue
		}
		chosen, err := sub.grouping.Choose(tp, nil)
		if err != nil {
			w.broken("task %d: %v", s.origin.Task, err)
		}
		for _, j := range chosen {
			to = append(to, sub.targets[j])
		}
	}
	return to
}
