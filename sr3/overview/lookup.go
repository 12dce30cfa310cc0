package overview

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// Lookup is the way to a key of the ring.
type Lookup struct {
	// Key is the position, Of what it is the position of.
	Key string `json:"key"`
	Of  string `json:"of"`
	// Path are the nodes that were asked, in order, Hops how often one handed on to
	// the next.
	Path []Hop `json:"path"`
	Hops int   `json:"hops"`
	// Successors are the first nodes at or after the key.
	Successors []Hop `json:"successors"`
	// State is set for a key of a task's state.
	State *StateKey `json:"state,omitempty"`
}

// Hop is a node on the way.
type Hop struct {
	ID   string `json:"id"`
	Addr string `json:"addr"`
	Host string `json:"host,omitempty"`
	Rack string `json:"rack,omitempty"`
}

// StateKey is where one entry of a task's state lies.
type StateKey struct {
	Owner string `json:"owner"`
	Key   string `json:"key"`
	// Slot is the key's, Slots are all of the shard, number Shard of the version's.
	Slot    int           `json:"slot"`
	Shard   int           `json:"shard"`
	Slots   string        `json:"slots"`
	Version shard.Version `json:"version"`
	// Objects are the length of the shard's chain, Bytes their size at rest.
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`
	// Named are the nodes that had all of it when it was written, Holders those
	// where copies belong now.
	Named   []shard.NodeID `json:"named"`
	Holders []Hop          `json:"holders"`
}

// Digits is a position or a hash as people see it.
func Digits(key uint64) string { return fmt.Sprintf("%016x", key) }

// MakeLookup makes the picture of an answer; of says what the key is that of.
func MakeLookup(a protocol.LookupAnswer, of string) Lookup {
	return Lookup{
		Key: Digits(a.Key), Of: of, Path: hops(a.Path), Hops: max(len(a.Path)-1, 0), Successors: hops(a.Nodes),
	}
}

func hops(nodes []ring.Node) []Hop {
	out := make([]Hop, len(nodes))
	for i, n := range nodes {
		out[i] = Hop{n.ID, n.Addr, n.Host, n.Rack}
	}
	return out
}

// FindKey is where a key of the state lies in the version of the manifest, with
// the position on the ring of its shard; false if the shard is empty.
func FindKey(m *shard.Manifest, key []byte) (at uint64, s StateKey, ok bool) {
	hash := shard.Hash(key)
	s = StateKey{
		Owner: m.Owner.String(), Key: string(key), Slot: int(shard.SlotOf(hash)), Version: m.Version,
		Named: []shard.NodeID{}, Holders: []Hop{},
	}
	for i, chain := range m.Shards {
		if !chain[0].Range.Has(hash) {
			continue
		}
		s.Shard, s.Slots, s.Objects = i, chain[0].Range.String(), len(chain)
		for _, id := range chain[0].Holders {
			if hasAll(chain, id) {
				s.Named = append(s.Named, id)
			}
		}
		for _, ref := range chain {
			s.Bytes += ref.Stored
		}
		return m.Owner.ShardHash(chain[0].Range.First), s, true
	}
	return 0, s, false
}

// hasAll tells whether each object of the chain names the node.
func hasAll(chain []shard.Ref, id shard.NodeID) bool {
	for _, ref := range chain {
		if !slices.Contains(ref.Holders, id) {
			return false
		}
	}
	return true
}

// Place fills in where copies of the shard at a position belong.
func (s *StateKey) Place(v *ring.View, at uint64, replicas int) {
	s.Holders = hops(ring.Holders(v, at, replicas))
}

// Text is the lookup for people.
func (l *Lookup) Text() string {
	var b strings.Builder
	if s := l.State; s != nil {
		fmt.Fprintf(&b, "key %q of %s: slot %d, shard %d (slots %s) of version %v, %s, %s\n",
			s.Key, s.Owner, s.Slot, s.Shard, s.Slots, s.Version, count(s.Objects, "object", "objects"), recovery.Size(s.Bytes))
		called := l.calls()
		fmt.Fprintf(&b, "copies belong at %s; the manifest names %s\n\n", list(called, idsOf(s.Holders)), list(called, s.Named))
	}
	fmt.Fprintf(&b, "%s (%s): %s\n\n", l.Key, l.Of, count(l.Hops, "hop", "hops"))
	rows := [][]string{{"", "NODE", "HOST", "RACK", "ADDRESS"}}
	for i, h := range l.Path {
		what := "asked"
		if i > 0 {
			what = fmt.Sprintf("hop %d", i)
		}
		rows = append(rows, h.row(what))
	}
	for i, h := range l.Successors {
		what := "then"
		if i == 0 {
			what = "successor"
		}
		rows = append(rows, h.row(what))
	}
	table(&b, rows)
	return b.String()
}

func (h Hop) row(what string) []string {
	return []string{what, h.ID, named(h.Host), named(h.Rack), h.Addr}
}

// calls is what the nodes of a lookup are called.
func (l *Lookup) calls() names {
	var r Ring
	seen := map[string]bool{}
	add := func(all []Hop) {
		for _, h := range all {
			if !seen[h.ID] {
				seen[h.ID] = true
				r.Nodes = append(r.Nodes, Node{ID: h.ID, Addr: h.Addr, Host: h.Host, Status: ring.Alive.String()})
			}
		}
	}
	add(l.Path)
	add(l.Successors)
	if l.State != nil {
		add(l.State.Holders)
	}
	return r.names()
}

func idsOf(all []Hop) []string {
	ids := make([]string, len(all))
	for i, h := range all {
		ids[i] = h.ID
	}
	return ids
}
