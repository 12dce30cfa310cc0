package overview

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// keptRecoveries is how many recoveries of a task are shown.
const keptRecoveries = 8

// Heard is what one node was told by workers of a topology.
type Heard struct {
	Node    shard.NodeID
	Reports []protocol.TaskReport
}

// Topology is the state of all of a topology's tasks.
type Topology struct {
	ID string `json:"id"`
	// AtMillis is when it was asked for, in unix milliseconds.
	AtMillis int64 `json:"atMillis"`
	// Committed is the version that a recovery would restore; 0 is none.
	Committed  shard.Version `json:"committed"`
	Components []Component   `json:"components"`
	Silent     []Silent      `json:"silent,omitempty"`

	called names
}

// Component is a component with state.
type Component struct {
	Name  string `json:"name"`
	Tasks []Task `json:"tasks"`
	// Keys and Bytes are the state in memory, Stored is that at rest, counted once;
	// all as reported last.
	Keys   int64 `json:"keys"`
	Bytes  int64 `json:"bytes"`
	Stored int64 `json:"stored"`
	// Running is how many tasks recover now, Waiting how many of these wait for a
	// holder to return.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
}

// Task is one task's state.
type Task struct {
	Task int32 `json:"task"`
	// Reported says that its worker has told something; else only Holders is known.
	Reported bool `json:"reported"`
	// Node is that of the host where it runs, or ran last.
	Node string `json:"node,omitempty"`
	Host string `json:"host,omitempty"`
	// AgeMillis is how old the report is.
	AgeMillis int64         `json:"ageMillis"`
	Mode      recovery.Mode `json:"mode"`
	Resume    string        `json:"resume"`
	Replicas  int           `json:"replicas"`
	Keys      int64         `json:"keys"`
	Bytes     int64         `json:"bytes"`
	// Checkpoint is the last one that was saved; Version 0 is none.
	Checkpoint Checkpoint `json:"checkpoint"`
	// Failed says why the newest was not saved.
	Failed string `json:"failed,omitempty"`
	// Missing are copies that are not where they should be.
	Missing int `json:"missing"`
	// Holders have something of it, by node.
	Holders    []Holder   `json:"holders"`
	Recoveries []Recovery `json:"recoveries"`
}

// Checkpoint is the last checkpoint of a task.
type Checkpoint struct {
	Version    shard.Version `json:"version"`
	AtMillis   int64         `json:"atMillis"`
	AgeMillis  int64         `json:"ageMillis"`
	DurationMS float64       `json:"durationMs"`
	FreezeMS   float64       `json:"freezeMs"`
	// Objects and Bytes were written, Shards and Stored are the whole version.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	Shards  int   `json:"shards"`
	Stored  int64 `json:"stored"`
	// Short counts shards with fewer copies than wanted when it was written.
	Short int `json:"short"`
}

// Holder is a node that has copies.
type Holder struct {
	Node string `json:"node"`
	Host string `json:"host,omitempty"`
	Rack string `json:"rack,omitempty"`
	// Status is the node's; gone if nobody remembers it.
	Status string `json:"status"`
	// Named are the bytes of the last checkpoint that were written there, Has those
	// that it says it has, of all kept versions; -1 if it did not answer.
	Named  int64 `json:"named"`
	Has    int64 `json:"has"`
	Shards int   `json:"shards"`
	// Missing are copies that it should have and has not yet.
	Missing int `json:"missing"`
}

// Recovery is one recovery of a task, the newest last.
type Recovery struct {
	protocol.Recovery
	AgeMillis int64 `json:"ageMillis"`
	// MeasuredMS stands beside PredictedMS.
	MeasuredMS float64 `json:"measuredMs"`
	// Progress is the part of the shards that is there, from 0 to 1.
	Progress float64 `json:"progress"`
	// Abandoned says that it was under way when the task went elsewhere.
	Abandoned bool `json:"abandoned,omitempty"`
}

// MakeTopology merges what nodes heard from the workers of a topology with what
// they have of it. now is in unix milliseconds.
func MakeTopology(id string, r *Ring, heard []Heard, now int64) Topology {
	t := Topology{ID: id, AtMillis: now, Components: []Component{}, Silent: r.Silent, called: r.names()}
	tasks := map[shard.Owner]*Task{}
	task := func(o shard.Owner) *Task {
		if tasks[o] == nil {
			tasks[o] = &Task{Task: o.Task, Holders: []Holder{}, Recoveries: []Recovery{}}
		}
		return tasks[o]
	}
	for i := range r.Owners {
		if o := &r.Owners[i]; o.Topology == id {
			t.Committed = max(t.Committed, o.Committed)
			task(o.Owner()).Missing = o.Missing
		}
	}
	words := wordsOf(id, heard)
	for o, list := range words {
		task(o).tell(r, list, now)
	}
	components := map[string]*Component{}
	for o, k := range tasks {
		var named map[shard.NodeID]int64
		if list := words[o]; len(list) > 0 {
			named = list[0].Checkpoint.Nodes
		}
		k.hold(r, o, named)
		c := components[o.Component]
		if c == nil {
			c = &Component{Name: o.Component}
			components[o.Component] = c
		}
		c.add(k)
	}
	for _, name := range slices.Sorted(maps.Keys(components)) {
		c := components[name]
		slices.SortFunc(c.Tasks, func(a, b Task) int { return cmp.Compare(a.Task, b.Task) })
		t.Components = append(t.Components, *c)
	}
	return t
}

// word is a report, and where it was left.
type word struct {
	protocol.TaskReport
	node shard.NodeID
}

// wordsOf are all reports by task, the newest first.
func wordsOf(id string, heard []Heard) map[shard.Owner][]word {
	words := map[shard.Owner][]word{}
	for _, h := range heard {
		for _, rep := range h.Reports {
			if rep.Owner.Topology == id {
				words[rep.Owner] = append(words[rep.Owner], word{rep, h.Node})
			}
		}
	}
	for _, list := range words {
		slices.SortFunc(list, func(a, b word) int {
			return cmp.Or(cmp.Compare(b.AtMillis, a.AtMillis), strings.Compare(string(a.node), string(b.node)))
		})
	}
	return words
}

// tell takes in the reports of a task, of which there is at least one.
func (k *Task) tell(r *Ring, words []word, now int64) {
	w := &words[0]
	k.Reported, k.Node, k.AgeMillis = true, string(w.node), now-w.AtMillis
	if n := r.find(w.node); n != nil {
		k.Host = n.Host
	}
	k.Mode, k.Resume, k.Replicas, k.Keys, k.Bytes, k.Failed = w.Mode, w.Resume, w.Replicas, w.Keys, w.Bytes, w.Failed
	c := &w.Checkpoint
	k.Checkpoint = Checkpoint{
		Version: c.Version, AtMillis: c.AtMillis, DurationMS: c.DurationMS, FreezeMS: c.FreezeMS,
		Objects: c.Objects, Bytes: c.Bytes, Shards: c.Shards, Stored: c.Stored, Short: c.Short,
	}
	if c.Version != 0 {
		k.Checkpoint.AgeMillis = now - c.AtMillis
	}
	for i := range words {
		for _, old := range words[i].Recoveries {
			v := Recovery{Recovery: old, AgeMillis: now - old.AtMillis, MeasuredMS: old.FetchMS + old.RebuildMS}
			if i > 0 && v.Running {
				v.Running, v.Abandoned = false, true
			}
			if v.Shards > 0 {
				v.Progress = float64(v.Installed) / float64(v.Shards)
			}
			k.Recoveries = append(k.Recoveries, v)
		}
	}
	slices.SortStableFunc(k.Recoveries, func(a, b Recovery) int { return cmp.Compare(a.AtMillis, b.AtMillis) })
	k.Recoveries = k.Recoveries[max(0, len(k.Recoveries)-keptRecoveries):]
}

// hold fills in who has copies.
func (k *Task) hold(r *Ring, o shard.Owner, named map[shard.NodeID]int64) {
	holders := map[shard.NodeID]*Holder{}
	holder := func(id shard.NodeID) *Holder {
		h := holders[id]
		if h == nil {
			h = &Holder{Node: string(id), Status: "gone", Has: -1}
			if n := r.find(id); n != nil {
				h.Host, h.Rack, h.Status = n.Host, n.Rack, n.Status
				if n.Answered {
					h.Has = 0
				}
			}
			holders[id] = h
		}
		return h
	}
	for id, bytes := range named {
		holder(id).Named = bytes
	}
	for id, s := range r.statuses {
		for i := range s.Owners {
			if w := &s.Owners[i]; w.Owner == o && (w.Objects > 0 || w.Missing > 0) {
				h := holder(id)
				h.Has, h.Shards, h.Missing = w.Bytes, w.Shards, w.Missing
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(holders)) {
		k.Holders = append(k.Holders, *holders[id])
	}
}

func (c *Component) add(k *Task) {
	c.Tasks = append(c.Tasks, *k)
	c.Keys += k.Keys
	c.Bytes += k.Bytes
	c.Stored += k.Checkpoint.Stored
	if n := len(k.Recoveries); n > 0 && k.Recoveries[n-1].Running {
		c.Running++
		if len(k.Recoveries[n-1].Waiting) > 0 {
			c.Waiting++
		}
	}
}

// Only leaves out other components, unless component is "", and other tasks, unless
// task is nil.
func (t *Topology) Only(component string, task *int32) {
	kept := []Component{}
	for i := range t.Components {
		old := &t.Components[i]
		c := Component{Name: old.Name}
		for j := range old.Tasks {
			if k := &old.Tasks[j]; (component == "" || component == old.Name) && (task == nil || *task == k.Task) {
				c.add(k)
			}
		}
		if len(c.Tasks) > 0 {
			kept = append(kept, c)
		}
	}
	t.Components = kept
}
