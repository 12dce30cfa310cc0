package tree

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// Znode is all of a znode, for a snapshot.
type Znode struct {
	Path    string
	Data    []byte // not to be modified
	Creates int32  // how many children it ever had, the next sequence number
	Stat    coord.Stat
}

// Zxid is the number of the last change.
func (t *Tree) Zxid() int64 { return t.zxid }

// Len is the number of znodes, the root included.
func (t *Tree) Len() int { return len(t.nodes) }

// Snapshot calls yield for each znode, parents first, until that fails.
func (t *Tree) Snapshot(yield func(Znode) error) error {
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		n := t.nodes[path]
		if err := yield(Znode{path, n.data, n.creates, n.status()}); err != nil {
			return err
		}
	}
	return nil
}

// Restore puts a znode of a snapshot into the tree, which has its parent
// already.
func (t *Tree) Restore(z Znode) error {
	n := &node{data: z.Data, creates: z.Creates, stat: z.Stat}
	if z.Path == "/" {
		n.children = t.nodes["/"].children
		t.nodes["/"] = n
		return nil
	}
	if err := t.canCreate(z.Path); err != nil {
		return fmt.Errorf("restore %q: %w", z.Path, err)
	}
	t.attach(z.Path, n)
	return nil
}

// RestoreZxid ends the restoring of a snapshot.
func (t *Tree) RestoreZxid(zxid int64) { t.zxid = max(t.zxid, zxid) }

// Replay repeats a change from a log. Those that the tree has seen already it
// leaves out. After an error the tree is of no use.
func (t *Tree) Replay(txn Txn) error {
	if txn.Zxid <= t.zxid {
		return nil
	}
	b := &batch{txn: Txn{Zxid: txn.Zxid, Millis: txn.Millis}}
	for _, c := range txn.Changes {
		if err := t.canChange(c); err != nil {
			return fmt.Errorf("replay change %d, %v %q: %w", txn.Zxid, c.Type, c.Path, err)
		}
		t.change(b, c)
	}
	t.zxid = txn.Zxid
	return nil
}

func (t *Tree) canChange(c Change) error {
	n := t.nodes[c.Path]
	switch {
	case c.Type == coord.EventNodeCreated:
		return t.canCreate(c.Path)
	case n == nil:
		return coord.ErrNoNode
	case c.Type == coord.EventNodeDataChanged:
		return nil
	case c.Type != coord.EventNodeDeleted || c.Path == "/":
		return errors.New("no such change")
	case len(n.children) > 0:
		return coord.ErrNotEmpty
	}
	return nil
}

func (t *Tree) canCreate(path string) error {
	if err := coord.ValidatePath(path); err != nil {
		return err
	}
	if t.nodes[path] != nil {
		return coord.ErrNodeExists
	}
	parent := t.nodes[coord.Parent(path)]
	if parent == nil {
		return coord.ErrNoNode
	}
	if parent.stat.EphemeralOwner != 0 {
		return coord.ErrNoChildrenForEphemerals
	}
	return nil
}

// Bury deletes the ephemeral znodes of sessions that are no more: after a
// snapshot and a log, of all.
func (t *Tree) Bury(now time.Time) {
	b := t.begin(now)
	for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
		if owner := t.nodes[path].stat.EphemeralOwner; owner != 0 && t.sessions[owner] == nil {
			t.change(b, Change{Type: coord.EventNodeDeleted, Path: path})
		}
	}
	if len(b.txn.Changes) > 0 {
		t.commit(b)
	}
}
