package tree

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/coord"
)

// What a log and a snapshot repeat is what was.
func TestReplayTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &pair{tree: New(1000), twin: newTwin(), now: start}
		replayed := New(1000)
		p.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"open": p.open, "apply": p.apply, "apply2": p.apply, "end": p.end,
			"": func(t *rapid.T) {
				for _, txn := range p.tree.Drain().Txns {
					got, err := DecodeTxn(AppendTxn(nil, txn))
					if err != nil || !equalTxn(got, txn) {
						t.Fatalf("%+v comes back as %+v, %v", txn, got, err)
					}
					if err := replayed.Replay(got); err != nil {
						t.Fatal(err)
					}
					if err := replayed.Replay(got); err != nil { // seen already
						t.Fatal(err)
					}
				}
				for _, tr := range []*Tree{replayed, restored(t, p.tree)} {
					if err := p.twin.differs(tr); err != nil {
						t.Fatalf("the copy differs in %v", err)
					}
				}
			},
		})
		replayed.Bury(p.now)
		for path, n := range replayed.nodes {
			if n.stat.EphemeralOwner != 0 {
				t.Fatalf("%s outlives its session", path)
			}
		}
	})
}

// restored is a copy of a tree by way of a snapshot.
func restored(t *rapid.T, from *Tree) *Tree {
	to := New(1000)
	if err := from.Snapshot(func(z Znode) error {
		z, err := DecodeZnode(AppendZnode(nil, z))
		return errors.Join(err, to.Restore(z))
	}); err != nil {
		t.Fatal(err)
	}
	to.RestoreZxid(from.Zxid())
	return to
}

func TestReplayRefuses(t *testing.T) {
	for _, tt := range []struct {
		change Change
		want   error
	}{
		{Change{Type: coord.EventNodeCreated, Path: "a"}, coord.ErrInvalidPath},
		{Change{Type: coord.EventNodeCreated, Path: "/"}, coord.ErrNodeExists},
		{Change{Type: coord.EventNodeCreated, Path: "/y/z"}, coord.ErrNoNode},
		{Change{Type: coord.EventNodeCreated, Path: "/e/x"}, coord.ErrNoChildrenForEphemerals},
		{Change{Type: coord.EventNodeDataChanged, Path: "/y"}, coord.ErrNoNode},
		{Change{Type: coord.EventNodeDeleted, Path: "/y"}, coord.ErrNoNode},
		{Change{Type: coord.EventNodeDeleted, Path: "/x"}, coord.ErrNotEmpty},
		{Change{Type: coord.EventNodeDeleted, Path: "/"}, nil},
		{Change{Type: coord.EventNodeChildrenChanged, Path: "/x"}, nil},
	} {
		tr := New(10)
		if err := tr.Replay(Txn{Zxid: 7, Changes: []Change{
			{Type: coord.EventNodeCreated, Path: "/x"}, {Type: coord.EventNodeCreated, Path: "/x/y"},
			{Type: coord.EventNodeCreated, Path: "/e", Owner: 5},
		}}); err != nil {
			t.Fatal(err)
		}
		err := tr.Replay(Txn{Zxid: 8, Changes: []Change{tt.change}})
		if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%+v: %v, want %v", tt.change, err, tt.want)
		}
	}
	if err := New(10).Restore(Znode{Path: "/a/b"}); !errors.Is(err, coord.ErrNoNode) {
		t.Errorf("restore without a parent: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	txn := AppendTxn(nil, Txn{Zxid: 300, Millis: -5, Changes: []Change{{Type: coord.EventNodeCreated, Path: "/a", Data: []byte("data")}}})
	znode := AppendZnode(nil, Znode{Path: "/a", Data: []byte("data"), Creates: -1})
	for cut := range txn {
		if got, err := DecodeTxn(txn[:cut]); !errors.Is(err, errMalformed) {
			t.Errorf("a change cut at %d: %+v, %v", cut, got, err)
		}
	}
	for cut := range znode {
		if got, err := DecodeZnode(znode[:cut]); !errors.Is(err, errMalformed) {
			t.Errorf("a znode cut at %d: %+v, %v", cut, got, err)
		}
	}
	if _, err := DecodeTxn(append(txn, 0)); !errors.Is(err, errMalformed) {
		t.Errorf("more than a change: %v", err)
	}
}

func FuzzDecodeTxn(f *testing.F) {
	f.Add(AppendTxn(nil, Txn{Zxid: 300, Millis: 5, Changes: []Change{{Type: coord.EventNodeCreated, Path: "/a", Data: []byte("data"), Owner: 1}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		txn, err := DecodeTxn(b)
		if err != nil {
			return
		}
		again, err := DecodeTxn(AppendTxn(nil, txn))
		if err != nil || !equalTxn(again, txn) {
			t.Errorf("%+v comes back as %+v, %v", txn, again, err)
		}
		_ = New(1000).Replay(txn)
	})
}

func FuzzDecodeZnode(f *testing.F) {
	f.Add(AppendZnode(nil, Znode{Path: "/a", Data: []byte("data"), Creates: 3, Stat: coord.Stat{Version: 2}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		z, err := DecodeZnode(b)
		if err != nil {
			return
		}
		again, err := DecodeZnode(AppendZnode(nil, z))
		if err != nil || again.Path != z.Path || !bytes.Equal(again.Data, z.Data) || again.Creates != z.Creates || again.Stat != z.Stat {
			t.Errorf("%+v comes back as %+v, %v", z, again, err)
		}
		_ = New(1000).Restore(z)
	})
}
