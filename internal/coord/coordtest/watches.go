package coordtest

import (
	"strconv"

	"github.com/stormring/stormring/internal/coord"
)

var watches = []contract{
	{"a data watch fires", testDataWatch},
	{"an existence watch fires", testExistsWatch},
	{"a children watch fires", testChildrenWatch},
	{"watches fire once", testWatchOnce},
	{"no watch without its znode", testWatchFails},
	{"events come before the change is seen", testWatchOrder},
	{"events need no reader", testWatchUnread},
	{"many watchers", testManyWatchers},
}

func testDataWatch(w *world) {
	a, b := w.open(), w.open()
	x := w.at("/x")
	a.create(x, "1", coord.Persistent)
	own, other := a.getW(x), b.getW(x)
	a.create(x+"/child", "", coord.Persistent)
	a.set(x+"/child", "no business of x")
	b.holds(x, "1")
	w.quiet(other)
	a.set(x, "2")
	w.fires(own, coord.EventNodeDataChanged, x)
	w.fires(other, coord.EventNodeDataChanged, x)
	a.delete(x + "/child")
	gone := b.getW(x)
	a.delete(x)
	w.fires(gone, coord.EventNodeDeleted, x)
	// Setting what is there already is a change too.
	a.create(x, "1", coord.Persistent)
	same := b.getW(x)
	a.set(x, "1")
	w.fires(same, coord.EventNodeDataChanged, x)
}

func testExistsWatch(w *world) {
	a, b := w.open(), w.open()
	x := w.at("/x")
	created := b.existsW(x)
	a.create(w.at("/xx"), "", coord.Persistent)
	b.missing(x)
	w.quiet(created)
	a.create(x, "", coord.Persistent)
	w.fires(created, coord.EventNodeCreated, x)
	changed := b.existsW(x)
	a.set(x, "1")
	w.fires(changed, coord.EventNodeDataChanged, x)
	gone := b.existsW(x)
	a.delete(x)
	w.fires(gone, coord.EventNodeDeleted, x)
	below := b.existsW(w.at("/no/such/parent"))
	a.create(w.at("/no"), "", coord.Persistent)
	a.create(w.at("/no/such"), "", coord.Persistent)
	b.lists(w.at("/no"), "such")
	w.quiet(below)
	a.create(w.at("/no/such/parent"), "", coord.Persistent)
	w.fires(below, coord.EventNodeCreated, w.at("/no/such/parent"))
}

func testChildrenWatch(w *world) {
	a, b := w.open(), w.open()
	x, y := w.at("/x"), w.at("/x/y")
	a.create(x, "", coord.Persistent)
	added := b.childrenW(x)
	a.set(x, "data is no child")
	b.holds(x, "data is no child")
	w.quiet(added)
	a.create(y, "", coord.Persistent)
	w.fires(added, coord.EventNodeChildrenChanged, x)
	removed := b.childrenW(x)
	a.set(y, "nor is a child's data")
	a.create(y+"/z", "", coord.Persistent)
	a.delete(y + "/z")
	b.lists(y)
	w.quiet(removed)
	a.delete(y)
	w.fires(removed, coord.EventNodeChildrenChanged, x)
	gone, parent := b.childrenW(x), b.childrenW(w.Root)
	a.delete(x)
	w.fires(gone, coord.EventNodeDeleted, x)
	w.fires(parent, coord.EventNodeChildrenChanged, w.Root)
}

func testWatchOnce(w *world) {
	a, b := w.open(), w.open()
	x := w.at("/x")
	a.create(x, "", coord.Persistent)
	first := b.getW(x)
	a.set(x, "1")
	a.set(x, "2")
	w.fires(first, coord.EventNodeDataChanged, x)
	// Each call has a channel of its own.
	one, two := b.getW(x), b.getW(x)
	a.set(x, "3")
	w.fires(one, coord.EventNodeDataChanged, x)
	w.fires(two, coord.EventNodeDataChanged, x)
}

func testWatchFails(w *world) {
	c := w.open()
	x := w.at("/x")
	_, _, events, err := c.GetW(w.Context(), x)
	if w.fails(err, coord.ErrNoNode, "get", x); events != nil {
		w.Fatal("a watch on the data of nothing")
	}
	_, _, events, err = c.ChildrenW(w.Context(), x)
	if w.fails(err, coord.ErrNoNode, "children", x); events != nil {
		w.Fatal("a watch on the children of nothing")
	}
}

func testWatchOrder(w *world) {
	a, b := w.open(), w.open()
	x := w.at("/x")
	a.create(x, "0", coord.Persistent)
	const changes = 100
	w.run(2, func(i int) error {
		if i == 0 {
			for n := range changes {
				if _, err := a.Set(w.Context(), x, []byte(strconv.Itoa(n+1)), int32(n)); err != nil {
					return err
				}
			}
			return nil
		}
		for {
			_, before, events, err := b.GetW(w.Context(), x)
			if err != nil || before.Version == changes {
				return err
			}
			after := before
			for after.Version == before.Version {
				if _, after, err = b.Get(w.Context(), x); err != nil {
					return err
				}
			}
			select {
			case <-events:
			default:
				w.Errorf("version %d is seen, the watch of %d has not fired", after.Version, before.Version)
			}
		}
	})
}

func testWatchUnread(w *world) {
	a, b := w.open(), w.open()
	x := w.at("/x")
	a.create(x, "", coord.Persistent)
	var unread []<-chan coord.Event
	for range 1000 {
		unread = append(unread, b.getW(x))
	}
	a.set(x, "1")
	b.holds(x, "1")
	for _, events := range unread {
		w.fires(events, coord.EventNodeDataChanged, x)
	}
}

func testManyWatchers(w *world) {
	a := w.open()
	var children, data []<-chan coord.Event
	a.create(w.at("/x"), "", coord.Persistent)
	for range 50 {
		b := w.open()
		children = append(children, b.childrenW(w.Root))
		data = append(data, b.getW(w.at("/x")))
	}
	a.delete(w.at("/x"))
	for i := range children {
		w.fires(children[i], coord.EventNodeChildrenChanged, w.Root)
		w.fires(data[i], coord.EventNodeDeleted, w.at("/x"))
	}
}
