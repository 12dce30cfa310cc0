package records

import (
	"errors"
	"slices"
	"testing"
)

func TestStates(t *testing.T) {
	w := newWorld(t)
	a, b, ctx := w.open(), w.open(), t.Context()
	got, err := b.States(ctx, id)
	w.must(err)
	w.equal(len(got), 0)
	want := []State{{"sum", 4}, {"sum", 12}, {"sum-window", 4}, {"a/b:7", 1}, {"späte %3A", 2147483647}, {"", 0}}
	for _, s := range want {
		w.must(a.AddState(ctx, id, s))
		w.must(b.AddState(ctx, id, s)) // again
	}
	got, err = b.States(ctx, id)
	w.must(err)
	order := func(x, y State) int { return slices.Compare([]byte(x.name()), []byte(y.name())) }
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	w.must(a.makeDir(ctx, a.path(dirStates, string(id), "nobody")))
	if _, err := b.States(ctx, id); err == nil {
		t.Error("a name without a task is taken")
	} else if _, ok := errors.AsType[*CorruptError](err); !ok {
		t.Errorf("the error is %v", err)
	}
	w.must(a.RemoveTopologyExtras(ctx, id))
	got, err = b.States(ctx, id)
	w.must(err)
	w.equal(len(got), 0)
}
