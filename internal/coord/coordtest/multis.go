package coordtest

import (
	"errors"
	"slices"

	"github.com/stormring/stormring/internal/coord"
)

var multis = []contract{
	{"multi does all", testMulti},
	{"multi does nothing if one cannot be done", testMultiFails},
	{"multi of nothing", testMultiEmpty},
	{"multi fires watches once it is done", testMultiWatches},
}

// failsAt checks that a Multi failed at an operation.
func (w *world) failsAt(err, want error, index int, op, path string) {
	w.Helper()
	e, ok := errors.AsType[*coord.OpError](err)
	if !ok || !errors.Is(err, want) || e.Op != op || e.Path != path || e.Index != index {
		w.Fatalf("the error is %v, want %v of operation %d, %s %s", err, want, index, op, path)
	}
}

func testMulti(w *world) {
	c := w.open()
	old, x := w.at("/old"), w.at("/x")
	c.create(old, "", coord.Persistent)
	results, err := c.Multi(w.Context(),
		coord.CheckOp{Path: old, Version: 0},
		coord.CreateOp{Path: x, Data: []byte("1")},
		coord.CreateOp{Path: x + "/n", Mode: coord.EphemeralSequential},
		coord.SetOp{Path: x, Data: []byte("2"), Version: 0},
		coord.DeleteOp{Path: old, Version: coord.AnyVersion},
		coord.CreateOp{Path: old, Data: []byte("again"), Mode: coord.Persistent},
	)
	w.ok(err)
	child := c.holds(x+"/n0000000000", "")
	stat := c.holds(x, "2")
	if child.EphemeralOwner != c.ID() || child.Czxid != stat.Czxid || stat.Mzxid != stat.Czxid || stat.Version != 1 {
		w.Fatalf("not one change: %+v, %+v", stat, child)
	}
	want := []coord.Result{{}, {Path: x}, {Path: x + "/n0000000000"}, {Stat: stat}, {}, {Path: old}}
	if !slices.Equal(results, want) {
		w.Fatalf("the results are %+v, want %+v", results, want)
	}
	c.holds(old, "again")
}

func testMultiFails(w *world) {
	c := w.open()
	x, y, n := w.at("/x"), w.at("/x/y"), w.at("/x/n")
	c.create(x, "x", coord.Persistent)
	c.create(y, "y", coord.Ephemeral)
	before := [2]coord.Stat{c.holds(x, "x"), c.holds(y, "y")}
	watched := []<-chan coord.Event{c.getW(x), c.existsW(y), c.childrenW(x), c.existsW(w.at("/z"))}
	for _, tt := range []struct {
		last coord.Op
		want error
	}{
		{coord.CheckOp{Path: y, Version: 0}, coord.ErrNoNode}, // deleted by one before
		{coord.CheckOp{Path: x, Version: 0}, coord.ErrBadVersion},
		{coord.SetOp{Path: x, Version: 0}, coord.ErrBadVersion},
		{coord.DeleteOp{Path: x, Version: coord.AnyVersion}, coord.ErrNotEmpty},
		{coord.CreateOp{Path: w.at("/z")}, coord.ErrNodeExists},
		{coord.CreateOp{Path: w.at("/z/a"), Mode: coord.Sequential}, coord.ErrNoChildrenForEphemerals},
		{coord.CreateOp{Path: "z"}, coord.ErrInvalidPath},
	} {
		_, err := c.Multi(w.Context(),
			coord.SetOp{Path: x, Data: []byte("changed"), Version: 0},
			coord.DeleteOp{Path: y, Version: 0},
			coord.CreateOp{Path: n, Mode: coord.Sequential},
			coord.CreateOp{Path: w.at("/z"), Mode: coord.Ephemeral},
			tt.last,
		)
		op, path := tt.last.Name()
		w.failsAt(err, tt.want, 4, op, path)
		if got := [2]coord.Stat{c.holds(x, "x"), c.holds(y, "y")}; got != before {
			w.Fatalf("after %s %s failed: %+v, want %+v", op, path, got, before)
		}
		c.lists(x, "y")
		c.missing(w.at("/z"))
	}
	for _, events := range watched {
		w.quiet(events)
	}
	c.numbered(n, coord.Sequential, 1) // none was used up
	// What was deleted and came back is still the session's own.
	w.ok(c.Close(w.Context()))
	w.open().lists(x, "n0000000001")
}

func testMultiEmpty(w *world) {
	results, err := w.open().Multi(w.Context())
	if len(results) != 0 || err != nil {
		w.Fatalf("got %v, %v", results, err)
	}
}

func testMultiWatches(w *world) {
	a, b := w.open(), w.open()
	x, y := w.at("/x"), w.at("/y")
	a.create(x, "", coord.Persistent)
	data, exists, children := b.getW(x), b.existsW(y), b.childrenW(w.Root)
	_, err := a.Multi(w.Context(), coord.SetOp{Path: x, Version: coord.AnyVersion}, coord.CreateOp{Path: y}, coord.DeleteOp{Path: x, Version: 1})
	w.ok(err)
	w.fires(data, coord.EventNodeDataChanged, x)
	w.fires(exists, coord.EventNodeCreated, y)
	w.fires(children, coord.EventNodeChildrenChanged, w.Root)
	b.lists(w.Root, "y")
}
