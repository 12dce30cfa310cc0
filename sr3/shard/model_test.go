package shard

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// machine runs a table beside a map, with a store of what checkpoints wrote.
type machine struct {
	codec     *Codec
	table     *Table
	model     map[string]string // what the table should have
	committed map[string]string // what the store should have
	manifest  *Manifest
	store     map[ObjectID][]byte
	version   Version

	frozen  *Frozen
	pending map[string]string // the model at the freeze
	done    chan result       // what the encoding goroutine wrote
	result  *result
}

type result struct {
	w   written
	err error
}

const modelTarget = 2 << 10

func newMachine(t *rapid.T, c *Codec) *machine {
	return &machine{
		codec:     c,
		table:     NewTable(Options{Owner: testOwner, Target: modelTarget}),
		model:     map[string]string{},
		committed: map[string]string{},
		manifest:  &Manifest{Owner: testOwner},
		store:     map[ObjectID][]byte{},
	}
}

func drawKey(t *rapid.T) string {
	return fmt.Sprintf("%c/%03d", 'a'+rapid.IntRange(0, 2).Draw(t, "p"), rapid.IntRange(0, 400).Draw(t, "k"))
}

func (m *machine) put(t *rapid.T) {
	for range rapid.IntRange(1, 60).Draw(t, "n") {
		k := drawKey(t)
		v := string(bytes.Repeat([]byte{byte(rapid.IntRange(0, 255).Draw(t, "b"))}, rapid.SampledFrom([]int{0, 8, 8, 8, 40, 90}).Draw(t, "len")))
		if err := m.table.Put([]byte(k), []byte(v)); err != nil {
			t.Fatal(err)
		}
		m.model[k] = v
	}
}

func (m *machine) delete(t *rapid.T) {
	for range rapid.IntRange(1, 80).Draw(t, "n") {
		k := drawKey(t)
		if err := m.table.Delete([]byte(k)); err != nil {
			t.Fatal(err)
		}
		delete(m.model, k)
	}
}

// freeze starts a checkpoint whose objects another goroutine makes.
func (m *machine) freeze(t *rapid.T) {
	m.wait(t)
	if m.frozen != nil {
		m.frozen.Release() // a checkpoint that failed
	}
	m.version++
	f, v, full := m.table.Freeze(), m.version, rapid.IntRange(0, 5).Draw(t, "full") == 0
	m.frozen, m.pending, m.result = f, maps.Clone(m.model), nil
	m.done = make(chan result, 1)
	go func(done chan<- result) {
		var w written
		err := f.Objects(m.codec, v, 1, full, func(r Ref, b []byte) error {
			w.refs, w.bytes = append(w.refs, r), append(w.bytes, b)
			return nil
		})
		done <- result{w, err}
	}(m.done)
}

func (m *machine) wait(t *rapid.T) {
	if m.frozen == nil || m.result != nil {
		return
	}
	r := <-m.done
	if m.result = &r; r.err != nil {
		t.Fatal(r.err)
	}
}

func (m *machine) commit(t *rapid.T) {
	if m.frozen == nil {
		return
	}
	m.wait(t)
	for i, r := range m.result.w.refs {
		if err := Verify(r, m.result.w.bytes[i]); err != nil {
			t.Fatal(err)
		}
		m.store[r.ObjectID] = m.result.w.bytes[i]
	}
	next, err := m.manifest.Next(m.version, 1, 0, m.result.w.refs)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.table.Commit(m.frozen); err != nil {
		t.Fatal(err)
	}
	m.frozen.Release()
	m.manifest, m.committed, m.frozen = next, m.pending, nil
}

// rollback may come while the objects are still being made.
func (m *machine) rollback(t *rapid.T) {
	m.table.Rollback()
	m.model = maps.Clone(m.committed)
	if m.frozen == nil {
		return
	}
	m.put(t) // over what is still read
	m.wait(t)
	m.frozen.Release()
	m.frozen = nil
}

// chain opens the objects of a shard.
func (m *machine) chain(t *rapid.T, refs []Ref) []*Object {
	objects := make([]*Object, len(refs))
	for i, r := range refs {
		var err error
		if objects[i], err = m.codec.Open(m.store[r.ObjectID]); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// fold is the holders' work.
func (m *machine) fold(t *rapid.T) {
	m.wait(t)
	for i, refs := range m.manifest.Shards {
		if len(refs) < 2 || !rapid.Bool().Draw(t, "fold") {
			continue
		}
		b, err := m.codec.Fold(m.chain(t, refs))
		if err != nil {
			t.Fatal(err)
		}
		r, err := RefTo(testOwner, 1, b)
		if err != nil {
			t.Fatal(err)
		}
		m.store[r.ObjectID] = b
		m.manifest.Shards[i] = []Ref{r}
	}
}

// recover makes a new table of what is stored, in a random order of shards,
// with writes to shards that are there already.
func (m *machine) recover(t *rapid.T) {
	m.wait(t)
	m.frozen = nil
	m.table = NewTable(Options{Owner: testOwner, Target: modelTarget})
	m.model = maps.Clone(m.committed)
	encoded, err := m.manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if m.manifest, err = DecodeManifest(encoded); err != nil {
		t.Fatal(err)
	}
	if err := m.table.Expect(m.manifest.Ranges()...); err != nil {
		t.Fatal(err)
	}
	for _, refs := range rapid.Permutation(m.manifest.Shards).Draw(t, "order") {
		k := drawKey(t)
		missing := m.table.Missing([]byte(k))
		switch err := m.table.Put([]byte(k), []byte("early")); {
		case missing != errors.Is(err, ErrMissing):
			t.Fatalf("missing %v, put says %v", missing, err)
		case err == nil:
			m.model[k] = "early"
		}
		if err := m.table.Load(m.chain(t, refs)...); err != nil {
			t.Fatal(err)
		}
	}
	if left := m.table.MissingRanges(); len(left) > 0 {
		t.Fatalf("missing %v", left)
	}
}

// walkAndWrite changes the table while it walks through it.
func (m *machine) walkAndWrite(t *rapid.T) {
	seen, deleted := make(map[string]bool), make(map[string]bool)
	before := maps.Clone(m.model)
	for k, v := range m.table.All([]byte("b/")) {
		key := string(k)
		if seen[key] || m.model[key] != string(v) {
			t.Fatalf("%s came twice, or with %q instead of %q", key, v, m.model[key])
		}
		seen[key] = true
		switch rapid.IntRange(0, 9).Draw(t, "edit") {
		case 0:
			m.delete(t)
		case 1:
			m.put(t)
		}
		for k := range before {
			if _, ok := m.model[k]; !ok {
				deleted[k] = true
			}
		}
	}
	for k := range before {
		if k[:2] == "b/" && !seen[k] && !deleted[k] {
			t.Fatalf("%s was there all the time and did not come", k)
		}
	}
}

func (m *machine) check(t *rapid.T) {
	if got := m.table.Len(); got != len(m.model) {
		t.Fatalf("%d entries instead of %d", got, len(m.model))
	}
	size, last := 0, uint64(0)
	got := make(map[string]string)
	for k, v := range m.table.All(nil) {
		if h := Hash(k); h < last {
			t.Fatalf("%s out of order", k)
		} else {
			last = h
		}
		size += entrySize(len(k), len(v))
		got[string(k)] = string(v)
	}
	if !maps.Equal(got, m.model) {
		t.Fatalf("table has %d entries that differ from the model's %d", len(got), len(m.model))
	}
	if m.table.Bytes() != int64(size) {
		t.Fatalf("Bytes is %d, they are %d", m.table.Bytes(), size)
	}
	for k, v := range m.model {
		if have, ok := m.table.Get([]byte(k)); !ok || string(have) != v {
			t.Fatalf("%s is %q instead of %q", k, have, v)
		}
	}
	m.checkShards(t)
}

// checkShards holds the shards to what their fields claim.
func (m *machine) checkShards(t *rapid.T) {
	end := 0
	for _, s := range m.table.shards {
		if int(s.rng.First) != end || s.rng.Check() != nil {
			t.Fatalf("shard %v after slot %d", s.rng, end)
		}
		end = s.rng.End()
		if s.missing {
			continue
		}
		m.checkCells(t, s)
	}
	if end != NumSlots {
		t.Fatalf("shards end at %d", end)
	}
}

func (m *machine) checkCells(t *rapid.T, s *memShard) {
	end, total := int(s.rng.First), 0
	for _, c := range s.cells {
		live := 0
		for _, off := range c.index.ordered(c.log, nil) {
			live += sizeAt(c.log, int(off))
		}
		if live != c.live || c.garbage() < 0 || c.held < 0 || c.heldFrozen < 0 ||
			c.committed > c.frozen || c.frozen > len(c.log) {
			t.Fatalf("cell %v: live %d is %d, garbage %d, held %d and %d, log %d %d %d", c.rng, c.live, live,
				c.garbage(), c.held, c.heldFrozen, c.committed, c.frozen, len(c.log))
		}
		if int(c.rng.First) != end || c.shard != s || m.table.cells[m.table.route[end]] != c {
			t.Fatalf("cell %v of shard %v", c.rng, s.rng)
		}
		end, total = c.rng.End(), total+live
	}
	if end != s.rng.End() || total != s.live {
		t.Fatalf("cells of %v end at %d and have %d bytes, not %d", s.rng, end, total, s.live)
	}
}

func TestTableAgainstAMap(t *testing.T) {
	plain, packed := testCodec(t, 0), testCodec(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t, rapid.SampledFrom([]*Codec{plain, packed}).Draw(t, "codec"))
		t.Repeat(map[string]func(*rapid.T){
			"put":      m.put,
			"put more": m.put,
			"delete":   m.delete,
			"freeze":   m.freeze,
			"commit":   m.commit,
			"rollback": m.rollback,
			"fold":     m.fold,
			"recover":  m.recover,
			"walk":     m.walkAndWrite,
			"":         m.check,
		})
		m.wait(t)
		m.recover(t)
		m.check(t)
	})
}

// The bytes of an object depend on what was written, not on when it was
// rebuilt.
func TestSameWritesSameBytes(t *testing.T) {
	used := testCodec(t, 3)
	rapid.Check(t, func(t *rapid.T) {
		final := rapid.MapOfN(rapid.StringN(0, 20, -1), rapid.StringN(0, 60, -1), 1, 200).Draw(t, "final")
		noise := rapid.SliceOfN(rapid.StringN(0, 60, -1), 0, 5).Draw(t, "noise")
		keys := slices.Sorted(maps.Keys(final))
		make1 := func(order []string, c *Codec) []byte {
			table := NewTable(Options{Owner: testOwner})
			for _, n := range noise {
				for _, k := range order[:len(order)/2] {
					_ = table.Put([]byte(k), []byte(n))
				}
			}
			for _, k := range order {
				_ = table.Put([]byte(k), []byte(final[k]))
			}
			var stored []byte
			err := table.Freeze().Objects(c, 3, 4, false, func(_ Ref, b []byte) error {
				stored = b
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return stored
		}
		fresh, err := NewCodec(3, 0)
		if err != nil {
			t.Fatal(err)
		}
		a := make1(keys, used)
		noise = nil
		if b := make1(rapid.Permutation(keys).Draw(t, "order"), fresh); !bytes.Equal(a, b) {
			t.Fatal("the same entries gave other bytes")
		}
	})
}
