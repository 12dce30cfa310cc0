package records

import (
	"testing"

	"github.com/stormring/stormring/internal/cluster"
)

func TestCommitRecord(t *testing.T) {
	w := newWorld(t)
	s, ctx := w.open(), t.Context()
	got, err := s.Checkpoint(ctx, id)
	w.must(err)
	w.equal(got, Checkpoint{})
	swap := func(expect, next Checkpoint, want bool) {
		t.Helper()
		written, err := s.SwapCheckpoint(ctx, id, expect, next)
		w.must(err)
		w.equal(written, want)
	}
	first, second := Checkpoint{Last: 1, Claimant: 7}, Checkpoint{Committed: 1<<40 | 1, Last: 1, Claimant: 7}
	swap(second, first, false)
	swap(Checkpoint{}, first, true)
	swap(Checkpoint{}, second, false)
	swap(first, second, true)
	got, err = s.Checkpoint(ctx, id)
	w.must(err)
	w.equal(got, second)
	w.must(s.RemoveTopologyExtras(ctx, id))
	w.must(s.RemoveCheckpoint(ctx, id)) // again
	got, err = s.Checkpoint(ctx, id)
	w.must(err)
	w.equal(got, Checkpoint{})
}

func TestRingNodesLiveWithTheirSession(t *testing.T) {
	w := newWorld(t)
	a, b, ctx := w.open(), w.open(), t.Context()
	one := RingNode{Addr: "h1:6629", Host: "h1", Rack: "r", Positions: 32}
	w.must(a.PutRingNode(ctx, "one", one))
	w.must(b.PutRingNode(ctx, "two", RingNode{Addr: "h2:6629", Host: "h2", Positions: 32}))
	nodes, err := b.RingNodes(ctx)
	w.must(err)
	w.equal(nodes["one"], one)
	w.equal(len(nodes), 2)
	w.must(a.Session().Close(ctx))
	nodes, err = b.RingNodes(ctx)
	w.must(err)
	w.equal(nodes, map[cluster.SupervisorID]RingNode{"two": {Addr: "h2:6629", Host: "h2", Positions: 32}})
}
