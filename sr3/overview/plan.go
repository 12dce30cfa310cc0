package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// PlanRequest asks for the recoveries of a topology's tasks.
type PlanRequest struct {
	// Topology is its id. Component, if set, leaves out other components, Task other
	// tasks.
	Topology  string
	Component string
	Task      *int32
	// Fail names what is thought lost: hosts, ids or addresses of nodes.
	Fail []string
	// On is the host, or the node, that would rebuild; "" is the task's own if that
	// is not lost, else the one that has most of its state.
	On string
	// Mode is that of all tasks; "" is each task's own, and then the other modes are
	// planned too.
	Mode recovery.Mode
	// Params are those of a component; nil is recovery.DefaultParams.
	Params func(component string) recovery.Params
}

// Takes tells whether the request is about the task.
func (q *PlanRequest) Takes(o shard.Owner) bool {
	return o.Topology == q.Topology && (q.Component == "" || o.Component == q.Component) && (q.Task == nil || o.Task == *q.Task)
}

// Found is what nodes say of one task's committed version.
type Found struct {
	Owner shard.Owner
	// Version is what is committed, 0 if nothing.
	Version shard.Version
	// Manifest is that of Version, nil if no node that answered has it.
	Manifest *shard.Manifest
	// Have are the answers of nodes that have the manifest, Lack are nodes that
	// answered that they do not have it.
	Have map[shard.NodeID]protocol.HaveAnswer
	Lack map[shard.NodeID]bool
}

// Plans are the recoveries that would be.
type Plans struct {
	Topology string `json:"topology"`
	// Failed are the nodes thought lost.
	Failed []string   `json:"failed"`
	Tasks  []TaskPlan `json:"tasks"`
	// LostShards of LostTasks have no copy left.
	LostShards int      `json:"lostShards"`
	LostTasks  int      `json:"lostTasks"`
	Silent     []Silent `json:"silent,omitempty"`

	called names
}

// TaskPlan is the recovery of one task.
type TaskPlan struct {
	Component string `json:"component"`
	Task      int32  `json:"task"`
	// Version is what would be restored, 0 if nothing is committed.
	Version shard.Version `json:"version"`
	// Now is the node of the host where it runs, Fails says that this is lost.
	Now   string `json:"now,omitempty"`
	Fails bool   `json:"fails"`
	// On is the node of the host where it would be rebuilt.
	On     string `json:"on,omitempty"`
	OnHost string `json:"onHost,omitempty"`
	Shards int    `json:"shards"`
	// Stored is the version's size at rest, each shard counted once.
	Stored int64 `json:"stored"`
	// Plans has first the one that would be carried out, then those of other modes.
	// None if nothing can be planned.
	Plans []*recovery.Plan `json:"plans"`
	// NoManifest says that nobody who is left has the version's manifest: all is lost.
	NoManifest bool        `json:"noManifest,omitempty"`
	Lost       []LostShard `json:"lost,omitempty"`
}

// LostShard is a shard of which no copy would be left.
type LostShard struct {
	Shard int    `json:"shard"`
	Slots string `json:"slots"`
	// Named are the nodes that the manifest names, of any of its objects.
	Named []shard.NodeID `json:"named"`
}

// MakePlans plans the recoveries of tasks after the loss of what the request names.
// The error says what in the request is on no ring.
func MakePlans(q PlanRequest, r *Ring, t *Topology, found []Found) (Plans, error) {
	out := Plans{Topology: q.Topology, Failed: []string{}, Tasks: []TaskPlan{}, Silent: r.Silent, called: r.names()}
	p := planning{q: q, ring: r, lost: map[shard.NodeID]bool{}}
	if err := p.resolve(); err != nil {
		return out, err
	}
	for id := range p.lost {
		out.Failed = append(out.Failed, string(id))
	}
	slices.Sort(out.Failed)
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b Found) int { return compareOwners(a.Owner, b.Owner) })
	for i := range found {
		if !q.Takes(found[i].Owner) {
			continue
		}
		one, err := p.task(&found[i], t.find(found[i].Owner))
		if err != nil {
			return out, err
		}
		out.Tasks = append(out.Tasks, one)
		if n := len(one.Lost); n > 0 || one.NoManifest {
			out.LostTasks++
			out.LostShards += n
		}
	}
	return out, nil
}

// find is a task of the topology, nil if there is none.
func (t *Topology) find(o shard.Owner) *Task {
	for i := range t.Components {
		c := &t.Components[i]
		if c.Name != o.Component {
			continue
		}
		for j := range c.Tasks {
			if c.Tasks[j].Task == o.Task {
				return &c.Tasks[j]
			}
		}
	}
	return nil
}

// planning makes the plans of one request.
type planning struct {
	q    PlanRequest
	ring *Ring
	lost map[shard.NodeID]bool
	on   *Node // nil if each task is to find its own
}

// resolve finds the nodes that the request names.
func (p *planning) resolve() error {
	for _, name := range p.q.Fail {
		nodes := p.ring.named(name)
		if len(nodes) == 0 {
			return fmt.Errorf("no node of the ring is on %q; there are %s", name, p.ring.hosts())
		}
		for _, n := range nodes {
			p.lost[shard.NodeID(n.ID)] = true
		}
	}
	if p.q.On == "" {
		return nil
	}
	for _, n := range p.ring.named(p.q.On) {
		if !n.Living() {
			continue
		}
		if p.lost[shard.NodeID(n.ID)] {
			return fmt.Errorf("%s is to be lost, so nothing can be rebuilt on it", p.q.On)
		}
		p.on = n
		return nil
	}
	return fmt.Errorf("no living node of the ring is on %q; there are %s", p.q.On, p.ring.hosts())
}

// named are the nodes with this id, or on this host, or at this address.
func (r *Ring) named(name string) []*Node {
	var out []*Node
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if name == n.ID || name == n.Host || name == n.Addr || strings.HasPrefix(n.Addr, name+":") {
			out = append(out, n)
		}
	}
	return out
}

// hosts are the names of all hosts, for people.
func (r *Ring) hosts() string {
	var names []string
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Living() {
			names = append(names, cmp.Or(n.Host, n.ID))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func (p *planning) task(f *Found, k *Task) (TaskPlan, error) {
	o := TaskPlan{Component: f.Owner.Component, Task: f.Owner.Task, Version: f.Version, Plans: []*recovery.Plan{}}
	mode := recovery.Auto
	if k != nil {
		o.Now, o.Fails = k.Node, p.lost[shard.NodeID(k.Node)]
		mode = cmp.Or(k.Mode, mode)
	}
	modes := []recovery.Mode{p.q.Mode}
	if p.q.Mode == "" {
		modes = []recovery.Mode{mode, recovery.Star, recovery.Line, recovery.Tree}
	}
	if f.Version == 0 {
		return o, nil
	}
	if f.Manifest == nil || !p.survives(f) {
		o.NoManifest = true
		return o, nil
	}
	o.Shards = len(f.Manifest.Shards)
	_, o.Stored = f.Manifest.Bytes()
	in := p.input(f)
	on := p.place(in.Pieces, k)
	if on == nil {
		return o, fmt.Errorf("no node is left on which %v could be rebuilt", f.Owner)
	}
	o.On, o.OnHost = on.ID, on.Host
	p.receiver(&in, on)
	for _, m := range modes {
		in.Mode = m
		plan, err := recovery.Make(in)
		if err != nil {
			return o, err
		}
		if len(o.Plans) > 0 && plan.Mode == o.Plans[0].Mode {
			continue
		}
		o.Plans = append(o.Plans, plan)
	}
	for _, i := range o.Plans[0].Lost {
		o.Lost = append(o.Lost, lostShard(i, f.Manifest.Shards[i]))
	}
	return o, nil
}

// survives tells whether a node that is left has the manifest.
func (p *planning) survives(f *Found) bool {
	for id := range f.Have {
		if !p.lost[id] {
			return true
		}
	}
	return false
}

func lostShard(i int, chain []shard.Ref) LostShard {
	l := LostShard{Shard: i, Slots: chain[0].Range.String(), Named: []shard.NodeID{}}
	for _, ref := range chain {
		l.Named = append(l.Named, ref.Holders...)
	}
	slices.Sort(l.Named)
	l.Named = slices.Compact(l.Named)
	return l
}
