package overview

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// Answer is what came of asking one node for its status.
type Answer struct {
	// Addr is where it was asked.
	Addr string
	// Status is its answer, nil if there was none; Cause is why not.
	Status *protocol.NodeStatus
	Cause  string
}

// Ring is the whole ring.
type Ring struct {
	// Nodes are by id, the dead that somebody remembers included.
	Nodes []Node `json:"nodes"`
	Sums  Sums   `json:"sums"`
	// Owners are the tasks whose state lies on the ring, by name.
	Owners []Owner `json:"owners"`
	// Parts are the ids of nodes that know each other, if that are several rings
	// that do not know of each other; else none.
	Parts [][]string `json:"parts,omitempty"`
	// Silent are those that did not answer.
	Silent []Silent `json:"silent,omitempty"`

	statuses map[shard.NodeID]*protocol.NodeStatus
}

// Node is one node.
type Node struct {
	ID        string `json:"id"`
	Addr      string `json:"addr"`
	Host      string `json:"host,omitempty"`
	Rack      string `json:"rack,omitempty"`
	Positions int    `json:"positions"`
	// Status is what most others believe: alive, suspect, dead or left; joining if
	// nobody knows it yet. Seen has how many believe what.
	Status string         `json:"status"`
	Seen   map[string]int `json:"seen"`
	// Answered says that the rest is known.
	Answered bool `json:"answered"`
	// Partial says that it does not know the whole ring, and makes no new copies
	// therefore: while it joins, or since there are more nodes than one can know.
	Partial bool `json:"partial,omitempty"`
	// Shards and Objects are the copies that it has, Bytes what they take at rest,
	// DiskBytes what its store takes.
	Shards    int   `json:"shards"`
	Objects   int   `json:"objects"`
	Bytes     int64 `json:"bytes"`
	DiskBytes int64 `json:"diskBytes"`
	// UnderReplicated are copies that it should have and has not yet.
	UnderReplicated int `json:"underReplicated"`
	// Repaired and Damaged count objects since its start.
	Repaired int64 `json:"repaired"`
	Damaged  int64 `json:"damaged"`
	// Recoveries are the streams that it serves now.
	Recoveries int    `json:"recoveries"`
	Trouble    string `json:"trouble,omitempty"`
}

// Living tells whether the node has its place on the ring.
func (n *Node) Living() bool {
	return n.Status == ring.Alive.String() || n.Status == ring.Suspect.String()
}

// failsWith names the machine that the node fails with.
func (n *Node) failsWith() string {
	if n.Host == "" {
		return "node " + n.ID
	}
	return "host " + n.Host
}

// Sums are those of all nodes.
type Sums struct {
	// Nodes are all, Living those on the ring, Answered those that were heard.
	Nodes    int `json:"nodes"`
	Living   int `json:"living"`
	Answered int `json:"answered"`
	// Partial are those that do not know the whole ring.
	Partial int `json:"partial"`
	// Hosts and Racks are those of living nodes; a node without a host is one of
	// its own.
	Hosts     int `json:"hosts"`
	Racks     int `json:"racks"`
	Positions int `json:"positions"`
	Owners    int `json:"owners"`
	// The others are the sums of what nodes say.
	Shards          int   `json:"shards"`
	Objects         int   `json:"objects"`
	Bytes           int64 `json:"bytes"`
	DiskBytes       int64 `json:"diskBytes"`
	UnderReplicated int   `json:"underReplicated"`
	Repaired        int64 `json:"repaired"`
	Damaged         int64 `json:"damaged"`
	Recoveries      int   `json:"recoveries"`
}

// Owner is one task's state on the ring.
type Owner struct {
	Topology  string `json:"topology"`
	Component string `json:"component"`
	Task      int32  `json:"task"`
	// Version is the newest that a node has a manifest of.
	Version   shard.Version `json:"version"`
	Committed shard.Version `json:"committed"`
	// Nodes have something of it: Objects, of Bytes at rest, copies and all kept
	// versions counted.
	Nodes   int   `json:"nodes"`
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Missing are copies that are not where they should be, At the nodes where.
	Missing int      `json:"missing"`
	At      []string `json:"at,omitempty"`
}

// Owner is the task.
func (o *Owner) Owner() shard.Owner {
	return shard.Owner{Topology: o.Topology, Component: o.Component, Task: o.Task}
}

// Silent is a node that did not answer.
type Silent struct {
	ID    string `json:"id,omitempty"`
	Addr  string `json:"addr"`
	Cause string `json:"cause"`
}

// MakeRing merges what nodes said. Of several answers of one node the first counts.
func MakeRing(answers []Answer) Ring {
	m := merging{nodes: map[string]*Node{}, statuses: map[shard.NodeID]*protocol.NodeStatus{}, owners: map[shard.Owner]*Owner{}}
	for _, a := range answers {
		if s := a.Status; s != nil && m.statuses[shard.NodeID(s.Node.ID)] == nil {
			m.statuses[shard.NodeID(s.Node.ID)] = s
			m.account(s)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.statuses)) {
		s := m.statuses[id]
		for i := range s.Members {
			m.hear(s, &s.Members[i])
		}
	}
	r := Ring{Nodes: []Node{}, Owners: []Owner{}, Parts: m.parts(), statuses: m.statuses}
	for _, id := range slices.Sorted(maps.Keys(m.nodes)) {
		n := m.nodes[id]
		n.judge(m.statuses[shard.NodeID(id)])
		r.Nodes = append(r.Nodes, *n)
	}
	for _, o := range m.owners {
		slices.Sort(o.At)
		r.Owners = append(r.Owners, *o)
	}
	slices.SortFunc(r.Owners, func(a, b Owner) int { return compareOwners(a.Owner(), b.Owner()) })
	r.Silent = m.silent(answers)
	r.sum()
	return r
}

// merging is a picture of the ring in the making.
type merging struct {
	nodes    map[string]*Node
	statuses map[shard.NodeID]*protocol.NodeStatus
	owners   map[shard.Owner]*Owner
}

func (m *merging) node(n ring.Node) *Node {
	known, ok := m.nodes[n.ID]
	if !ok {
		known = &Node{ID: n.ID, Addr: n.Addr, Host: n.Host, Rack: n.Rack, Positions: n.Positions, Seen: map[string]int{}}
		m.nodes[n.ID] = known
	}
	return known
}

// account takes a node's own words.
func (m *merging) account(s *protocol.NodeStatus) {
	n := m.node(s.Node)
	n.Answered, n.Partial = true, s.Joined && !s.Complete
	n.Objects, n.Bytes, n.DiskBytes = s.Objects, s.Bytes, s.DiskBytes
	n.UnderReplicated, n.Repaired, n.Damaged = s.UnderReplicated, s.Repaired, s.Damaged
	n.Recoveries, n.Trouble = s.Recoveries, s.Trouble
	for _, w := range s.Owners {
		n.Shards += w.Shards
		o := m.owners[w.Owner]
		if o == nil {
			o = &Owner{Topology: w.Owner.Topology, Component: w.Owner.Component, Task: w.Owner.Task}
			m.owners[w.Owner] = o
		}
		o.Version, o.Committed = max(o.Version, w.Version), max(o.Committed, w.Committed)
		if w.Objects > 0 {
			o.Nodes++
		}
		o.Objects += w.Objects
		o.Bytes += w.Bytes
		if w.Missing > 0 {
			o.Missing += w.Missing
			o.At = append(o.At, s.Node.ID)
		}
	}
}

// hear takes what one node believes of another.
func (m *merging) hear(from *protocol.NodeStatus, of *protocol.MemberStatus) {
	if of.ID != from.Node.ID {
		m.node(of.Node).Seen[of.Status]++
	}
}

// judge decides on the status of a node, of whose own words are own.
func (n *Node) judge(own *protocol.NodeStatus) {
	if len(n.Seen) == 0 && own != nil {
		n.Status = "joining"
		if own.Joined {
			n.Status = ring.Alive.String()
		}
		return
	}
	worst := []string{ring.Left.String(), ring.Dead.String(), ring.Suspect.String(), ring.Alive.String()}
	if own != nil && own.Joined {
		worst = []string{ring.Alive.String(), ring.Left.String(), ring.Dead.String(), ring.Suspect.String()}
	}
	n.Status = slices.MaxFunc(slices.Sorted(maps.Keys(n.Seen)), func(a, b string) int {
		// A status that is unknown here is as bad as can be.
		return cmp.Or(cmp.Compare(n.Seen[a], n.Seen[b]), cmp.Compare(slices.Index(worst, b), slices.Index(worst, a)))
	})
}

// parts are the groups of nodes that heard of each other, none if it is one.
func (m *merging) parts() [][]string {
	group := map[string]string{}
	var find func(id string) string
	find = func(id string) string {
		if group[id] == id {
			return id
		}
		group[id] = find(group[id])
		return group[id]
	}
	ids := slices.Sorted(maps.Keys(m.statuses))
	for _, id := range ids {
		group[string(id)] = string(id)
	}
	for _, id := range ids {
		for _, of := range m.statuses[id].Members {
			living := of.Status == ring.Alive.String() || of.Status == ring.Suspect.String()
			if _, heard := group[of.ID]; heard && living {
				group[find(of.ID)] = find(string(id))
			}
		}
	}
	byRoot := map[string][]string{}
	for _, id := range ids {
		root := find(string(id))
		byRoot[root] = append(byRoot[root], string(id))
	}
	if len(byRoot) < 2 {
		return nil
	}
	parts := slices.Collect(maps.Values(byRoot))
	slices.SortFunc(parts, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return parts
}

// silent are those who were asked in vain, and are not known at another address.
func (m *merging) silent(answers []Answer) []Silent {
	byAddr := map[string]*Node{}
	for _, n := range m.nodes {
		byAddr[n.Addr] = n
	}
	var out []Silent
	for _, a := range answers {
		if a.Status != nil {
			continue
		}
		s := Silent{Addr: a.Addr, Cause: a.Cause}
		if n := byAddr[a.Addr]; n != nil {
			if n.Answered {
				continue
			}
			s.ID = n.ID
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Silent) int { return cmp.Or(strings.Compare(a.ID, b.ID), strings.Compare(a.Addr, b.Addr)) })
	return slices.Compact(out)
}

func (r *Ring) sum() {
	hosts, racks := map[string]bool{}, map[string]bool{}
	s := &r.Sums
	for i := range r.Nodes {
		n := &r.Nodes[i]
		s.Nodes++
		if n.Answered {
			s.Answered++
			if n.Partial {
				s.Partial++
			}
		}
		if n.Living() {
			s.Living++
			s.Positions += n.Positions
			hosts[n.failsWith()] = true
			if n.Rack != "" {
				racks[n.Rack] = true
			}
		}
		s.Shards += n.Shards
		s.Objects += n.Objects
		s.Bytes += n.Bytes
		s.DiskBytes += n.DiskBytes
		s.UnderReplicated += n.UnderReplicated
		s.Repaired += n.Repaired
		s.Damaged += n.Damaged
		s.Recoveries += n.Recoveries
	}
	s.Hosts, s.Racks, s.Owners = len(hosts), len(racks), len(r.Owners)
}

// Living are the nodes on the ring, as package ring wants them.
func (r *Ring) Living() []ring.Node {
	var out []ring.Node
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Living() {
			out = append(out, ring.Node{ID: n.ID, Addr: n.Addr, Host: n.Host, Rack: n.Rack, Positions: n.Positions})
		}
	}
	return out
}

// find is the node with this id, nil if there is none.
func (r *Ring) find(id shard.NodeID) *Node {
	i, ok := slices.BinarySearchFunc(r.Nodes, string(id), func(n Node, id string) int { return strings.Compare(n.ID, id) })
	if !ok {
		return nil
	}
	return &r.Nodes[i]
}

// Topologies are the ids of those that have state on the ring, in order.
func (r *Ring) Topologies() []string {
	var ids []string
	for i := range r.Owners {
		ids = append(ids, r.Owners[i].Topology)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func compareOwners(a, b shard.Owner) int {
	return cmp.Or(strings.Compare(a.Topology, b.Topology), strings.Compare(a.Component, b.Component), cmp.Compare(a.Task, b.Task))
}
