package shard

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testOwner = Owner{Topology: "words-1-1700000000", Component: "count", Task: 7}

func testCodec(tb testing.TB, level int) *Codec {
	tb.Helper()
	c, err := NewCodec(level, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func put(tb testing.TB, t *Table, key, value string) {
	tb.Helper()
	if err := t.Put([]byte(key), []byte(value)); err != nil {
		tb.Fatal(err)
	}
}

func del(tb testing.TB, t *Table, key string) {
	tb.Helper()
	if err := t.Delete([]byte(key)); err != nil {
		tb.Fatal(err)
	}
}

// written is what a checkpoint wrote.
type written struct {
	refs  []Ref
	bytes [][]byte
}

func write(tb testing.TB, f *Frozen, c *Codec, v Version, full bool) written {
	tb.Helper()
	var w written
	err := f.Objects(c, v, 1, full, func(r Ref, b []byte) error {
		w.refs, w.bytes = append(w.refs, r), append(w.bytes, b)
		return Verify(r, b)
	})
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// checkpoint freezes, writes and commits.
func checkpoint(tb testing.TB, t *Table, c *Codec, v Version, full bool) written {
	tb.Helper()
	f := t.Freeze()
	w := write(tb, f, c, v, full)
	f.Release()
	if err := t.Commit(f); err != nil {
		tb.Fatal(err)
	}
	return w
}

func open(tb testing.TB, c *Codec, stored []byte) *Object {
	tb.Helper()
	o, err := c.Open(stored)
	if err != nil {
		tb.Fatal(err)
	}
	if err := o.Check(); err != nil {
		tb.Fatal(err)
	}
	return o
}

func content(t *Table) map[string]string {
	m := make(map[string]string)
	for k, v := range t.All(nil) {
		m[string(k)] = string(v)
	}
	return m
}
