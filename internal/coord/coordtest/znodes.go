package coordtest

import (
	"context"
	"strings"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

var znodes = []contract{
	{"create and get", testCreate},
	{"create fails", testCreateFails},
	{"set", testSet},
	{"delete", testDelete},
	{"stat", testStat},
	{"children are sorted", testChildren},
	{"paths", testPaths},
	{"limits", testLimits},
	{"data belongs to the caller", testOwnership},
	{"a context that is over", testContext},
}

func testCreate(w *world) {
	a, b := w.open(), w.open()
	path := w.at("/x")
	a.missing(path)
	if got := a.create(path, "data", coord.Persistent); got != path {
		w.Fatalf("created %s, want %s", got, path)
	}
	b.holds(path, "data")
	b.create(w.at("/x/y"), "", coord.Persistent)
	a.holds(w.at("/x/y"), "")
}

func testCreateFails(w *world) {
	c := w.open()
	c.create(w.at("/x"), "", coord.Persistent)
	c.create(w.at("/e"), "", coord.Ephemeral)
	for _, tt := range []struct {
		path string
		mode coord.Mode
		want error
	}{
		{w.at("/x"), coord.Persistent, coord.ErrNodeExists},
		{w.at("/e"), coord.Ephemeral, coord.ErrNodeExists},
		{w.at("/no/x"), coord.Persistent, coord.ErrNoNode},
		{w.at("/no/x"), coord.Sequential, coord.ErrNoNode},
		{w.at("/e/x"), coord.Persistent, coord.ErrNoChildrenForEphemerals},
		{w.at("/e/x"), coord.EphemeralSequential, coord.ErrNoChildrenForEphemerals},
		{w.at("/y"), 77, coord.ErrInvalidMode},
		{w.at("/y"), -1, coord.ErrInvalidMode},
	} {
		_, err := c.Create(w.Context(), tt.path, nil, tt.mode)
		w.fails(err, tt.want, "create", tt.path)
	}
	c.lists(w.Root, "e", "x")
}

func testSet(w *world) {
	c := w.open()
	ctx, path := w.Context(), w.at("/x")
	_, err := c.Set(ctx, path, nil, coord.AnyVersion)
	w.fails(err, coord.ErrNoNode, "set", path)
	c.create(path, "0", coord.Persistent)
	for version, data := range []string{"1", "2", "3"} {
		_, err = c.Set(ctx, path, []byte("no"), int32(version+1))
		w.fails(err, coord.ErrBadVersion, "set", path)
		stat, err := c.Set(ctx, path, []byte(data), int32(version))
		w.ok(err)
		if stat.Version != int32(version+1) {
			w.Fatalf("version %d after set, want %d", stat.Version, version+1)
		}
		if got := c.holds(path, data); got != stat {
			w.Fatalf("get says %+v, set said %+v", got, stat)
		}
	}
	if stat := c.set(path, "4"); stat.Version != 4 {
		w.Fatalf("version %d, want 4", stat.Version)
	}
}

func testDelete(w *world) {
	c := w.open()
	ctx, path := w.Context(), w.at("/x")
	w.fails(c.Delete(ctx, path, coord.AnyVersion), coord.ErrNoNode, "delete", path)
	c.create(path, "", coord.Persistent)
	c.create(path+"/y", "", coord.Persistent)
	w.fails(c.Delete(ctx, path, 1), coord.ErrBadVersion, "delete", path)
	w.fails(c.Delete(ctx, path, 0), coord.ErrNotEmpty, "delete", path)
	c.delete(path + "/y")
	w.ok(c.Delete(ctx, path, 0))
	c.missing(path)
	_, _, err := c.Get(ctx, path)
	w.fails(err, coord.ErrNoNode, "get", path)
	_, _, err = c.Children(ctx, path)
	w.fails(err, coord.ErrNoNode, "children", path)
	if c.create(path, "new", coord.Persistent); c.holds(path, "new").Version != 0 {
		w.Fatal("a znode created anew has the version of the old one")
	}
}

func testStat(w *world) {
	c := w.open()
	x, y := w.at("/x"), w.at("/x/y")
	c.create(x, "abc", coord.Persistent)
	fresh := c.holds(x, "abc")
	if fresh.Czxid <= 0 || fresh.Mzxid != fresh.Czxid || fresh.Pzxid != fresh.Czxid || fresh.Ctime <= 0 || fresh.Mtime != fresh.Ctime {
		w.Fatalf("a new znode has %+v", fresh)
	}
	want := coord.Stat{Czxid: fresh.Czxid, Mzxid: fresh.Czxid, Pzxid: fresh.Czxid, Ctime: fresh.Ctime, Mtime: fresh.Ctime, DataLength: 3}
	if fresh != want {
		w.Fatalf("a new znode has %+v, want %+v", fresh, want)
	}
	set := c.set(x, "abcd")
	want.Mzxid, want.Mtime, want.Version, want.DataLength = set.Mzxid, set.Mtime, 1, 4
	if set != want || set.Mzxid <= set.Czxid {
		w.Fatalf("set makes it %+v, want %+v", set, want)
	}

	c.create(y, "", coord.Ephemeral)
	child := c.holds(y, "")
	if child.EphemeralOwner != c.ID() || child.Czxid <= set.Mzxid {
		w.Fatalf("the ephemeral child has %+v, want the owner %d", child, c.ID())
	}
	want.Pzxid, want.Cversion, want.NumChildren = child.Czxid, 1, 1
	if got := c.holds(x, "abcd"); got != want {
		w.Fatalf("a child makes it %+v, want %+v", got, want)
	}
	c.set(y, "new data of a child concerns the parent not")
	if got := c.holds(x, "abcd"); got != want {
		w.Fatalf("new data of its child makes it %+v, want %+v", got, want)
	}
	c.delete(y)
	got := c.holds(x, "abcd")
	if got.Pzxid <= want.Pzxid {
		w.Fatalf("a child's deletion leaves Pzxid at %d", got.Pzxid)
	}
	want.Pzxid, want.Cversion, want.NumChildren = got.Pzxid, 2, 0
	if got != want {
		w.Fatalf("a child's deletion makes it %+v, want %+v", got, want)
	}
	if exists, stat, err := c.Exists(w.Context(), x); !exists || err != nil || stat != want {
		w.Fatalf("exists says %t %+v %v, want %+v", exists, stat, err, want)
	}
}

func testChildren(w *world) {
	c := w.open()
	c.lists(w.Root)
	for _, name := range []string{"b", "c", "a", "B", "ab", "a-b", "a.b"} {
		c.create(w.at("/"+name), "", coord.Persistent)
	}
	c.create(w.at("/a/below"), "", coord.Persistent)
	c.lists(w.Root, "B", "a", "a-b", "a.b", "ab", "b", "c")
	c.lists(w.at("/a"), "below")
	c.delete(w.at("/a-b"))
	c.lists(w.Root, "B", "a", "a.b", "ab", "b", "c")
}

func testPaths(w *world) {
	c := w.open()
	ctx := w.Context()
	for _, path := range []string{
		"", "x", "x/y", w.at("/"), w.at("//x"), w.at("/./x"), w.at("/../x"), w.at("/x/"), w.at("/x/."), w.at("/x/.."),
		w.at("/a\x00b"), w.at("/a\nb"), w.at("/a\u0080b"), w.at("/\ue000"), w.at("/\ufffe"), w.at("/\xff"), w.at("/😀"),
	} {
		_, err := c.Create(ctx, path, nil, coord.Persistent)
		w.fails(err, coord.ErrInvalidPath, "create", path)
		_, err = c.Set(ctx, path, nil, coord.AnyVersion)
		w.fails(err, coord.ErrInvalidPath, "set", path)
		w.fails(c.Delete(ctx, path, coord.AnyVersion), coord.ErrInvalidPath, "delete", path)
		_, _, err = c.Get(ctx, path)
		w.fails(err, coord.ErrInvalidPath, "get", path)
		_, _, _, err = c.ExistsW(ctx, path)
		w.fails(err, coord.ErrInvalidPath, "exists", path)
		_, _, _, err = c.ChildrenW(ctx, path)
		w.fails(err, coord.ErrInvalidPath, "children", path)
	}
	for _, name := range []string{"...", ".x", "x.", "a b", "ä", "世界", "%2F", "host:6627:false-3"} {
		c.create(w.at("/"+name), name, coord.Persistent)
		c.holds(w.at("/"+name), name)
	}
	_, err := c.Create(ctx, "/", nil, coord.Persistent)
	w.fails(err, coord.ErrNodeExists, "create", "/")
	w.fails(c.Delete(ctx, "/", coord.AnyVersion), coord.ErrInvalidPath, "delete", "/")
}

func testLimits(w *world) {
	c := w.open()
	ctx, path := w.Context(), w.at("/x")
	full := strings.Repeat("x", w.MaxDataBytes)
	c.create(path, full, coord.Persistent)
	c.holds(path, full)
	over := []byte(full + "x")
	_, err := c.Set(ctx, path, over, coord.AnyVersion)
	w.fails(err, coord.ErrTooLarge, "set", path)
	want := coord.CheckSize(w.MaxDataBytes+1, w.MaxDataBytes).Error()
	if !strings.Contains(err.Error(), want) {
		w.Fatalf("the error is %q, want it to say %q", err, want)
	}
	_, err = c.Create(ctx, w.at("/y"), over, coord.Persistent)
	w.fails(err, coord.ErrTooLarge, "create", w.at("/y"))
	c.set(path, full)
	_, err = c.Multi(ctx, coord.SetOp{Path: path, Data: []byte(full), Version: coord.AnyVersion}, coord.CreateOp{Path: w.at("/y"), Data: []byte("y")})
	w.failsAt(err, coord.ErrTooLarge, 1, "create", w.at("/y"))
	c.lists(w.Root, "x")
}

func testOwnership(w *world) {
	c := w.open()
	path, data := w.at("/x"), []byte("abc")
	_, err := c.Create(w.Context(), path, data, coord.Persistent)
	w.ok(err)
	data[0] = 'X'
	c.holds(path, "abc")
	got, _, err := c.Get(w.Context(), path)
	w.ok(err)
	got[0] = 'X'
	c.holds(path, "abc")
	c.create(w.at("/y"), "", coord.Persistent)
	names, _, err := c.Children(w.Context(), w.Root)
	w.ok(err)
	names[0] = "X"
	c.lists(w.Root, "x", "y")
}

func testContext(w *world) {
	c := w.open()
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	_, err := c.Create(ctx, w.at("/x"), nil, coord.Persistent)
	w.fails(err, context.Canceled, "create", w.at("/x"))
	_, _, err = c.Get(ctx, w.Root)
	w.fails(err, context.Canceled, "get", w.Root)
	_, err = w.Open(ctx, time.Second)
	w.fails(err, context.Canceled, "open", "")
}
