package tree

import (
	"slices"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// batch is a change in the making.
type batch struct {
	txn     Txn
	session int64
	undo    []func() // in the order of what they take back
}

// Apply performs all ops for a session, or none. The int is the index of the
// one that failed, or NoIndex. ErrSessionExpired is for a session that is not there.
func (t *Tree) Apply(session int64, now time.Time, ops ...coord.Op) ([]coord.Result, int, error) {
	if t.sessions[session] == nil {
		return nil, coord.NoIndex, coord.ErrSessionExpired
	}
	b := t.begin(now)
	b.session = session
	results := make([]coord.Result, len(ops))
	total := 0
	for i, op := range ops {
		var err error
		total += dataSize(op)
		if err = coord.CheckSize(total, t.maxDataBytes); err == nil {
			results[i], err = t.step(b, op)
		}
		if err != nil {
			for _, undo := range slices.Backward(b.undo) {
				undo()
			}
			return nil, i, err
		}
	}
	if len(b.txn.Changes) > 0 {
		t.commit(b)
	}
	return results, coord.NoIndex, nil
}

func dataSize(op coord.Op) int {
	switch op := op.(type) {
	case coord.CreateOp:
		return len(op.Data)
	case coord.SetOp:
		return len(op.Data)
	case coord.DeleteOp, coord.CheckOp:
	}
	return 0
}

func (t *Tree) step(b *batch, op coord.Op) (coord.Result, error) {
	switch op := op.(type) {
	case coord.CreateOp:
		return t.create(b, op)
	case coord.SetOp:
		return t.set(b, op)
	case coord.DeleteOp:
		return coord.Result{}, t.remove(b, op)
	case coord.CheckOp:
		_, err := t.check(op.Path, op.Version)
		return coord.Result{}, err
	}
	panic("tree: an operation of no known type")
}

// check finds a znode in an expected version.
func (t *Tree) check(path string, version int32) (*node, error) {
	n, err := t.find(path)
	if err == nil && version != coord.AnyVersion && version != n.stat.Version {
		err = coord.ErrBadVersion
	}
	return n, err
}

func (t *Tree) create(b *batch, op coord.CreateOp) (coord.Result, error) {
	if err := coord.ValidateCreate(op.Path, op.Mode); err != nil {
		return coord.Result{}, err
	}
	path := op.Path
	parent := t.nodes[coord.Parent(path)]
	if parent == nil {
		return coord.Result{}, coord.ErrNoNode
	}
	if op.Mode.IsSequential() {
		path = coord.SequencePath(path, parent.creates)
	}
	if t.nodes[path] != nil {
		return coord.Result{}, coord.ErrNodeExists
	}
	if parent.stat.EphemeralOwner != 0 {
		return coord.Result{}, coord.ErrNoChildrenForEphemerals
	}
	c := Change{Type: coord.EventNodeCreated, Path: path, Data: slices.Clone(op.Data)}
	if op.Mode.IsEphemeral() {
		c.Owner = b.session
	}
	t.change(b, c)
	return coord.Result{Path: path}, nil
}

func (t *Tree) set(b *batch, op coord.SetOp) (coord.Result, error) {
	n, err := t.check(op.Path, op.Version)
	if err != nil {
		return coord.Result{}, err
	}
	t.change(b, Change{Type: coord.EventNodeDataChanged, Path: op.Path, Data: slices.Clone(op.Data)})
	return coord.Result{Stat: n.status()}, nil
}

func (t *Tree) remove(b *batch, op coord.DeleteOp) error {
	if op.Path == "/" {
		return coord.ErrInvalidPath // the root stays
	}
	n, err := t.check(op.Path, op.Version)
	if err != nil {
		return err
	}
	if len(n.children) > 0 {
		return coord.ErrNotEmpty
	}
	t.change(b, Change{Type: coord.EventNodeDeleted, Path: op.Path})
	return nil
}

// change performs what has been found to be possible.
func (t *Tree) change(b *batch, c Change) {
	zxid, millis := b.txn.Zxid, b.txn.Millis
	b.txn.Changes = append(b.txn.Changes, c)
	if c.Type == coord.EventNodeDataChanged {
		n := t.nodes[c.Path]
		before, data := n.stat, n.data
		n.data = c.Data
		n.stat.Version++
		n.stat.Mzxid, n.stat.Mtime = zxid, millis
		b.undo = append(b.undo, func() { n.stat, n.data = before, data })
		return
	}
	parent := t.nodes[coord.Parent(c.Path)]
	pzxid, creates := parent.stat.Pzxid, parent.creates
	parent.stat.Pzxid = zxid
	if c.Type == coord.EventNodeDeleted {
		n := t.detach(c.Path)
		b.undo = append(b.undo, func() {
			t.attach(c.Path, n)
			parent.stat.Pzxid = pzxid
		})
		return
	}
	parent.creates++
	t.attach(c.Path, &node{data: c.Data, stat: coord.Stat{
		Czxid: zxid, Mzxid: zxid, Pzxid: zxid,
		Ctime: millis, Mtime: millis,
		EphemeralOwner: c.Owner,
	}})
	b.undo = append(b.undo, func() {
		t.detach(c.Path)
		parent.stat.Pzxid, parent.creates = pzxid, creates
	})
}
