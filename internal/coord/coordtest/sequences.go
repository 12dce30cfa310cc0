package coordtest

import (
	"fmt"

	"github.com/stormring/stormring/internal/coord"
)

var sequences = []contract{
	{"sequence numbers grow", testSequence},
	{"sequence numbers are not used again", testSequenceNotReused},
	{"a sequence per parent", testSequencePerParent},
}

// numbered creates a sequential znode and checks its number.
func (c client) numbered(prefix string, mode coord.Mode, number int) {
	c.w.Helper()
	want := prefix + fmt.Sprintf("%010d", number)
	if got := c.create(prefix, "", mode); got != want {
		c.w.Fatalf("created %s, want %s", got, want)
	}
}

func testSequence(w *world) {
	a, b := w.open(), w.open()
	a.numbered(w.at("/n-"), coord.Sequential, 0)
	b.numbered(w.at("/n-"), coord.EphemeralSequential, 1)
	a.numbered(w.at("/other"), coord.Sequential, 2)
	a.numbered(w.at("/"), coord.Sequential, 3)
	a.create(w.at("/plain"), "", coord.Persistent) // counts too
	b.numbered(w.at("/n-"), coord.Sequential, 5)
	a.lists(w.Root, "0000000003", "n-0000000000", "n-0000000001", "n-0000000005", "other0000000002", "plain")
}

func testSequenceNotReused(w *world) {
	a, b := w.open(), w.open()
	a.numbered(w.at("/n"), coord.Sequential, 0)
	a.numbered(w.at("/n"), coord.EphemeralSequential, 1)
	a.delete(w.at("/n0000000001"))
	a.numbered(w.at("/n"), coord.EphemeralSequential, 2)
	a.delete(w.at("/n0000000000"))
	w.ok(a.Close(w.Context()))
	b.lists(w.Root)
	b.numbered(w.at("/n"), coord.Sequential, 3)
}

func testSequencePerParent(w *world) {
	c := w.open()
	for _, parent := range []string{w.at("/a"), w.at("/b")} {
		c.create(parent, "", coord.Persistent)
		c.numbered(parent+"/n", coord.Sequential, 0)
		c.set(parent, "no child")
		c.numbered(parent+"/n", coord.Sequential, 1)
	}
	c.create(w.at("/a/n0000000002"), "taken", coord.Persistent)
	c.numbered(w.at("/a/n"), coord.Sequential, 3)
	c.create(w.at("/a/n0000000005"), "taken", coord.Persistent)
	_, err := c.Create(w.Context(), w.at("/a/n"), nil, coord.Sequential)
	w.fails(err, coord.ErrNodeExists, "create", w.at("/a/n"))
}
