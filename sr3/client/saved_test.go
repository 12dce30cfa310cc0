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
	ask := func(v shard.Version, owners ...shard.Owner) []shard.Owner {
		t.Helper()
		unsaved, err := c.Unsaved(t.Context(), owners, v)
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
	want(ask(v))
	want(ask(v, owner(1)))
	want(ask(v+1, owner(1), owner(7)), owner(1), owner(7))

	// Saved is enough: nobody has committed it.
	w.churn(9, 10)
	if err := w.save(v + 1); err != nil {
		t.Fatal(err)
	}
	want(ask(v+1, owner(1), owner(2)), owner(2))

	// Where it belongs now, it may not be yet; others have it.
	for i := 5; i < 9; i++ {
		r.start(fmt.Sprintf("n%d", i), nil)
	}
	r.settle()
	eventually(t, "the client knows the newcomers", func() bool { return len(c.views.now().nodes) == 9 })
	want(ask(v+1, owner(1)))

	// One that has it is enough, none is not.
	holders, err := c.holders(t.Context(), c.views.now(), owner(1).Hash(), 9)
	if err != nil {
		t.Fatal(err)
	}
	var have []string
	for _, n := range holders {
		if c.haveManifest(t.Context(), []ring.Node{n}, owner(1), v+1) {
			have = append(have, n.ID)
		}
	}
	for i, name := range have {
		r.kill(name)
		if i+1 < len(have) {
			want(ask(v+1, owner(1)))
		}
	}
	want(ask(v+1, owner(1)), owner(1))
}
