package client

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

func TestUnsaved(t *testing.T) {
	t.Parallel()
	r := newRig(t, 5)
	c := r.client("n0")
	w := r.worker(c, nil)
	v := w.written(300)
	single := r.worker(c, func(o *TaskOptions) { o.Owner, o.Replicas = owner(2), 1 })
	single.mustLoad(0)
	single.put("a", "1")
	single.checkpoint(v)
	ask := func(v shard.Version, replicas int, owners ...shard.Owner) []shard.Owner {
		t.Helper()
		unsaved, err := c.Unsaved(t.Context(), owners, v, replicas)
		if err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(unsaved, func(a, b shard.Owner) int { return int(a.Task - b.Task) })
		return unsaved
	}
	want := func(got []shard.Owner, want ...shard.Owner) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%v have not saved it, want %v", got, want)
		}
	}
	want(ask(v, 3))
	want(ask(v, 3, owner(1)))
	want(ask(v+1, 3, owner(1), owner(7)), owner(1), owner(7))
	want(ask(v, 1, owner(1), owner(2), owner(7)), owner(7))

	// Saved is enough: nobody has committed it.
	w.churn(9, 10)
	if err := w.save(v + 1); err != nil {
		t.Fatal(err)
	}
	want(ask(v+1, 3, owner(1), owner(2)), owner(2))

	// Where it belongs now, it may not be yet; others have it.
	for i := 5; i < 9; i++ {
		r.start(fmt.Sprintf("n%d", i), nil)
	}
	r.settle()
	eventually(t, "the client knows the newcomers", func() bool { return len(c.views.now().nodes) == 9 })
	want(ask(v+1, 3, owner(1)))

	// One copy is not enough where there are others that could have it.
	p := c.views.now()
	holders, err := c.holders(t.Context(), p, owner(1).Hash(), 9)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, n := range holders {
		if c.count(t.Context(), []ring.Node{n}, owner(1), v+1) == 1 {
			have = append(have, n.ID)
		}
	}
	for _, name := range have[1:] {
		r.kill(name)
	}
	want(ask(v+1, 3, owner(1)), owner(1))
	want(ask(v+1, 1, owner(1)))
}
