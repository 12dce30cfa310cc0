package coordtest

import "github.com/stormring/stormring/internal/coord"

var partitions = []contract{
	{"a session survives a short cut", testShortCut},
	{"a session learns of its expiry when it is back", testLongCut},
	{"close while cut off", testCloseWhileCut},
	{"cut and heal one session twice", testCutTwice},
}

// cuts skips the test if the store's clients cannot be cut off.
func (w *world) cuts() {
	if w.Cut == nil || w.Heal == nil {
		w.Skip("this store's clients cannot be cut off")
	}
}

func testShortCut(w *world) {
	w.cuts()
	a, b := w.open(), w.open()
	x, e := w.at("/x"), w.at("/e")
	b.create(x, "", coord.Persistent)
	a.create(e, "", coord.Ephemeral)
	before, later := a.getW(x), a.existsW(w.at("/y"))
	w.Cut(a.Session)
	_, _, err := a.Get(w.Context(), x)
	w.fails(err, coord.ErrConnectionLoss, "get", x)
	_, err = a.Create(w.Context(), w.at("/no"), nil, coord.Persistent)
	w.fails(err, coord.ErrConnectionLoss, "create", w.at("/no"))
	b.set(x, "meanwhile")
	b.holds(x, "meanwhile")
	w.quiet(before)
	b.holds(e, "")
	w.alive(a)
	w.Heal(a.Session)
	w.fires(before, coord.EventNodeDataChanged, x)
	a.holds(x, "meanwhile")
	a.holds(e, "")
	w.quiet(later)
	b.create(w.at("/y"), "", coord.Persistent)
	w.fires(later, coord.EventNodeCreated, w.at("/y"))
	w.alive(a)
}

func testLongCut(w *world) {
	w.cuts()
	a, b := w.open(), w.open()
	x, e := w.at("/x"), w.at("/e")
	b.create(x, "", coord.Persistent)
	a.create(e, "", coord.Ephemeral)
	held, lost, gone := a.getW(x), a.existsW(w.at("/y")), b.existsW(e)
	w.Cut(a.Session)
	b.set(x, "meanwhile")
	w.Expire(a.Session)
	w.fires(gone, coord.EventNodeDeleted, e)
	b.lists(w.Root, "x")
	w.alive(a)
	_, _, err := a.Get(w.Context(), x)
	w.fails(err, coord.ErrConnectionLoss, "get", x)
	w.Heal(a.Session)
	w.over(a, coord.ErrSessionExpired)
	w.lost(held, coord.ErrSessionExpired, x)
	w.lost(lost, coord.ErrSessionExpired, w.at("/y"))
	_, _, err = a.Get(w.Context(), x)
	w.fails(err, coord.ErrSessionExpired, "get", x)
}

func testCloseWhileCut(w *world) {
	w.cuts()
	a, b := w.open(), w.open()
	e := w.at("/e")
	a.create(e, "", coord.Ephemeral)
	gone := b.existsW(e)
	w.Cut(a.Session)
	w.ok(a.Close(w.Context()))
	w.over(a, coord.ErrSessionClosed)
	b.holds(e, "")
	w.quiet(gone)
	w.Expire(a.Session)
	w.fires(gone, coord.EventNodeDeleted, e)
}

// testCutTwice has a watch that outlives two cuts, and one that is set between
// them.
func testCutTwice(w *world) {
	w.cuts()
	a, b := w.open(), w.open()
	x, y, e := w.at("/x"), w.at("/y"), w.at("/e")
	b.create(x, "0", coord.Persistent)
	b.create(y, "", coord.Persistent)
	a.create(e, "", coord.Ephemeral)
	stays, children := a.getW(y), a.childrenW(x)
	for _, round := range []string{"1", "2"} {
		changed := a.getW(x)
		w.Cut(a.Session)
		w.Cut(a.Session) // again changes nothing
		_, _, err := a.Get(w.Context(), x)
		w.fails(err, coord.ErrConnectionLoss, "get", x)
		b.set(x, round)
		w.Heal(a.Session)
		w.Heal(a.Session)
		w.fires(changed, coord.EventNodeDataChanged, x)
		a.holds(x, round)
		b.holds(e, "")
		w.quiet(stays)
		w.quiet(children)
		w.alive(a)
	}
	w.Cut(a.Session)
	b.delete(y)
	b.create(x+"/child", "", coord.Persistent)
	w.Heal(a.Session)
	w.fires(stays, coord.EventNodeDeleted, y)
	w.fires(children, coord.EventNodeChildrenChanged, x)
	a.holds(e, "")
	w.alive(a)
}
