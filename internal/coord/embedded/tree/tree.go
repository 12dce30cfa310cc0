// Package tree is the pure core of the embedded coordination store: znodes,
// sessions and watches. It holds no lock, starts nothing and is handed the
// time. Start at Tree and Apply.
//
// What watches have fired and what has changed collects inside until Drain;
// whoever drives a Tree tells the clients, and keeps a log, from that.
package tree

import (
	"slices"
	"strings"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// Tree is the whole store. The zero value is not usable; see New.
type Tree struct {
	maxDataBytes int
	zxid         int64 // number of the last change
	nodes        map[string]*node
	sessions     map[int64]*session
	watches      [kinds]map[string][]watch
	lastWatch    WatchID
	out          Output
}

// Output is what has happened since the last Drain, in order.
type Output struct {
	Fired []Fired
	Txns  []Txn
}

// Txn is one atomic change of the store.
type Txn struct {
	Zxid    int64
	Millis  int64 // when, in milliseconds of Unix time
	Changes []Change
}

// Change is what became of one znode: it was created, got new data, or was
// deleted.
type Change struct {
	Type  coord.EventType
	Path  string
	Data  []byte // of a creation or new data; not to be modified
	Owner int64  // of a creation: session of an ephemeral znode, else 0
}

type node struct {
	data     []byte // never modified, only replaced
	children []string
	creates  int32 // children ever created, the next sequence number
	stat     coord.Stat
}

// New makes a Tree that holds the root alone and takes up to maxDataBytes of
// data in a znode.
func New(maxDataBytes int) *Tree {
	t := &Tree{
		maxDataBytes: maxDataBytes,
		nodes:        map[string]*node{"/": {}},
		sessions:     map[int64]*session{},
	}
	for k := range t.watches {
		t.watches[k] = map[string][]watch{}
	}
	return t
}

// Drain is what has happened since the last call.
func (t *Tree) Drain() Output {
	out := t.out
	t.out = Output{}
	return out
}

// Get is coord.Reader.Get for a session. The data must not be modified.
func (t *Tree) Get(path string) ([]byte, coord.Stat, error) {
	n, err := t.find(path)
	if err != nil {
		return nil, coord.Stat{}, err
	}
	return n.data, n.status(), nil
}

// Exists is coord.Reader.Exists.
func (t *Tree) Exists(path string) (bool, coord.Stat, error) {
	if err := coord.ValidatePath(path); err != nil {
		return false, coord.Stat{}, err
	}
	if n := t.nodes[path]; n != nil {
		return true, n.status(), nil
	}
	return false, coord.Stat{}, nil
}

// Children is coord.Reader.Children.
func (t *Tree) Children(path string) ([]string, coord.Stat, error) {
	n, err := t.find(path)
	if err != nil {
		return nil, coord.Stat{}, err
	}
	return slices.Clone(n.children), n.status(), nil
}

func (t *Tree) find(path string) (*node, error) {
	if n := t.nodes[path]; n != nil {
		return n, nil
	}
	if err := coord.ValidatePath(path); err != nil {
		return nil, err
	}
	return nil, coord.ErrNoNode
}

// status is the node's Stat with what is counted elsewhere.
func (n *node) status() coord.Stat {
	s := n.stat
	s.DataLength = int32(len(n.data))
	s.NumChildren = int32(len(n.children))
	// Every child ever created was one change, every one missing another.
	s.Cversion = 2*n.creates - s.NumChildren
	return s
}

// attach puts a node into the tree below its parent.
func (t *Tree) attach(path string, n *node) {
	t.nodes[path] = n
	p, name := t.nodes[coord.Parent(path)], coord.Base(path)
	i, _ := slices.BinarySearch(p.children, name)
	p.children = slices.Insert(p.children, i, strings.Clone(name))
	if s := t.sessions[n.stat.EphemeralOwner]; s != nil {
		s.ephemerals[path] = true
	}
}

// detach takes a node out of the tree.
func (t *Tree) detach(path string) *node {
	n := t.nodes[path]
	delete(t.nodes, path)
	p, name := t.nodes[coord.Parent(path)], coord.Base(path)
	i, _ := slices.BinarySearch(p.children, name)
	p.children = slices.Delete(p.children, i, i+1)
	if s := t.sessions[n.stat.EphemeralOwner]; s != nil {
		delete(s.ephemerals, path)
	}
	return n
}

// commit makes a batch count: its number is taken, its watches fire.
func (t *Tree) commit(b *batch) {
	t.zxid = b.txn.Zxid
	for _, c := range b.txn.Changes {
		t.fire(c)
	}
	t.out.Txns = append(t.out.Txns, b.txn)
}

// begin starts the next change of the store.
func (t *Tree) begin(now time.Time) *batch {
	return &batch{txn: Txn{Zxid: t.zxid + 1, Millis: now.UnixMilli()}}
}
