package shard

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"
)

func baseRef(r Range, v Version) Ref {
	return Ref{ObjectID: ObjectID{testOwner, r, v, 1, Base}, Size: 100, Stored: 132, Checksum: 7, Holders: []NodeID{"a", "b"}}
}

func deltaRef(r Range, v Version) Ref {
	ref := baseRef(r, v)
	ref.Kind, ref.Holders = Delta, []NodeID{"b", "c"}
	return ref
}

func smallManifest() *Manifest {
	return &Manifest{Owner: testOwner, Version: 3, Epoch: 2, CreatedMillis: 1700000000000, Replicas: 3, Shards: [][]Ref{
		{baseRef(RangeOf(0, 2), 1), deltaRef(RangeOf(0, 2), 3)},
		{baseRef(RangeOf(3, 4), 2)},
	}}
}

func drawManifest(t *rapid.T) *Manifest {
	m := &Manifest{
		Owner:         Owner{rapid.String().Draw(t, "topology"), rapid.String().Draw(t, "component"), rapid.Int32().Draw(t, "task")},
		Version:       Version(rapid.Int64Range(100, 1<<40).Draw(t, "version")),
		Epoch:         Epoch(rapid.Int64Min(0).Draw(t, "epoch")),
		CreatedMillis: rapid.Int64().Draw(t, "created"),
		Replicas:      rapid.IntRange(0, 8).Draw(t, "replicas"),
	}
	n := 1 << rapid.IntRange(0, 5).Draw(t, "bits")
	nodes := rapid.SliceOfN(rapid.StringN(0, 30, -1), 1, 10).Draw(t, "nodes")
	for i := range n {
		var chain []Ref
		for j := range rapid.IntRange(0, 4).Draw(t, "chain") {
			r := Ref{
				ObjectID: ObjectID{m.Owner, RangeOf(i, n), m.Version - 10 + Version(j), Epoch(rapid.Int64Range(0, int64(m.Epoch)).Draw(t, "e")), Delta},
				Size:     rapid.Int64Min(0).Draw(t, "size"),
				Stored:   rapid.Int64Min(headerSize).Draw(t, "stored"),
				Checksum: rapid.Uint64().Draw(t, "sum"),
			}
			if j == 0 {
				r.Kind = Base
			}
			for range rapid.IntRange(0, 3).Draw(t, "holders") {
				r.Holders = append(r.Holders, NodeID(rapid.SampledFrom(nodes).Draw(t, "node")))
			}
			chain = append(chain, r)
		}
		if chain != nil {
			m.Shards = append(m.Shards, chain)
		}
	}
	return m
}

func TestManifestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawManifest(t)
		b, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeManifest(b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(m, got) {
			t.Fatalf("got %v, want %v", got, m)
		}
		again, err := got.Encode()
		if err != nil || !bytes.Equal(b, again) {
			t.Fatalf("other bytes: %v", err)
		}
	})
}

func TestManifestFormat(t *testing.T) {
	b, err := smallManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	sum := "0700000000000000"
	want := "5352336d" + "01" +
		"12" + hex.EncodeToString([]byte("words-1-1700000000")) + "05" + hex.EncodeToString([]byte("count")) + "0e" +
		"06" + "04" + "80a0abfef962" + "03" +
		"03" + "0161" + "0162" + "0163" +
		"02" +
		"00" + "8040" + "02" +
		"02" + "02" + "64" + "8401" + sum + "02" + "00" + "01" +
		"06" + "02" + "64" + "8401" + sum + "02" + "01" + "02" +
		"8060" + "8020" + "01" +
		"04" + "02" + "64" + "8401" + sum + "02" + "00" + "01"
	if got := hex.EncodeToString(b[:len(b)-8]); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if got := binary.LittleEndian.Uint64(b[len(b)-8:]); got != xxhash.Sum64(b[:len(b)-8]) {
		t.Errorf("checksum %#x", got)
	}
	if size, stored := smallManifest().Bytes(); size != 300 || stored != 396 {
		t.Errorf("%d and %d bytes", size, stored)
	}
}

func TestManifestDamage(t *testing.T) {
	b, err := smallManifest().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for at := range b {
		bad := bytes.Clone(b)
		bad[at] ^= 1
		_, err := DecodeManifest(bad)
		if at == 4 {
			if err == nil || errors.Is(err, ErrDamaged) || err.Error() != "manifest of format version 0: this program knows version 1; update it" {
				t.Errorf("unknown version: %v", err)
			}
			continue
		}
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d flipped: %v", at, err)
		}
		if _, err := DecodeManifest(b[:at]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", at, err)
		}
		// With a checksum that fits, what is read must still make sense.
		if at > 4 && at < len(b)-8 {
			if m, err := DecodeManifest(resum(bad)); err == nil && m.Check() != nil {
				t.Errorf("byte %d flipped: %v", at, m.Check())
			}
			if _, err := DecodeManifest(resum(append(bytes.Clone(b[:at]), make([]byte, 8)...))); !errors.Is(err, ErrDamaged) {
				t.Errorf("cut to %d bytes with a checksum: %v", at, err)
			}
		}
	}
	if _, err := DecodeManifest(resum(append(bytes.Clone(b), 0))); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "too many") {
		t.Errorf("longer: %v", err)
	}
}

func resum(b []byte) []byte {
	body := b[:len(b)-8]
	return binary.LittleEndian.AppendUint64(slices.Clip(body), xxhash.Sum64(body))
}

func TestManifestsThatCannotBe(t *testing.T) {
	for says, spoil := range map[string]func(*Manifest){
		"is another owner's":                      func(m *Manifest) { m.Shards[0][1].Owner.Task++ },
		"a base where a delta belongs":            func(m *Manifest) { m.Shards[0][1].Kind = Base },
		"a delta where a base belongs":            func(m *Manifest) { m.Shards[0] = m.Shards[0][1:] },
		"object 1 has slots 12288-16383":          func(m *Manifest) { m.Shards[0][1].Range = RangeOf(3, 4) },
		"object 1 has version 1, which is out":    func(m *Manifest) { m.Shards[0][1].Version = 1 },
		"object 0 has version 4, which is out":    func(m *Manifest) { m.Shards[1][0].Version = 4 },
		"has epoch 3, which is newer":             func(m *Manifest) { m.Shards[1][0].Epoch = 3 },
		"object 0 has 100 bytes, 31 stored":       func(m *Manifest) { m.Shards[1][0].Stored = 31 },
		"slots up to 16383 are those of shards":   func(m *Manifest) { m.Shards[0], m.Shards[1] = m.Shards[1], m.Shards[0] },
		"shard 1: no objects":                     func(m *Manifest) { m.Shards[1] = nil },
		"the width must be":                       func(m *Manifest) { m.Shards[1][0].Range.Slots = 5 },
		"1025 shards, more than 1024":             func(m *Manifest) { m.Shards = make([][]Ref, 1025) },
		"257 holders of an object, more than 256": func(m *Manifest) { m.Shards[0][0].Holders = make([]NodeID, 257) },
		"a name of 5000 bytes":                    func(m *Manifest) { m.Shards[0][0].Holders[0] = NodeID(make([]byte, 5000)) },
	} {
		m := smallManifest()
		spoil(m)
		if _, err := m.Encode(); err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "manifest of words-1-1700000000/count/7") {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

func TestNextManifest(t *testing.T) {
	m := smallManifest()
	half, left, right, last := RangeOf(0, 2), RangeOf(0, 4), RangeOf(1, 4), RangeOf(3, 4)
	for _, c := range []struct {
		name    string
		written []Ref
		want    [][]Ref
		fails   string
	}{
		{"nothing", nil, m.Shards, ""},
		{"a delta", []Ref{deltaRef(last, 4)}, [][]Ref{m.Shards[0], {m.Shards[1][0], deltaRef(last, 4)}}, ""},
		{"a base", []Ref{baseRef(half, 4)}, [][]Ref{{baseRef(half, 4)}, m.Shards[1]}, ""},
		{"a base where none was", []Ref{baseRef(RangeOf(2, 4), 4)}, [][]Ref{m.Shards[0], {baseRef(RangeOf(2, 4), 4)}, m.Shards[1]}, ""},
		{"a split", []Ref{baseRef(right, 4), baseRef(left, 4)}, [][]Ref{{baseRef(left, 4)}, {baseRef(right, 4)}, m.Shards[1]}, ""},
		{"a merge", []Ref{baseRef(Whole(), 4)}, [][]Ref{{baseRef(Whole(), 4)}}, ""},
		{"half a split", []Ref{baseRef(right, 4)}, nil, "new bases cover 4096 of the 8192 slots of shard 0-8191"},
		{"a delta without base", []Ref{deltaRef(RangeOf(2, 4), 4)}, nil, "a delta where a base belongs"},
		{"a delta of a split", []Ref{deltaRef(left, 4)}, nil, "a delta where a base belongs"},
		{"an old delta", []Ref{deltaRef(half, 3)}, nil, "version 3, which is out of order"},
		{"two objects of a shard", []Ref{deltaRef(last, 4), baseRef(last, 4)}, nil, "two objects of slots 12288-16383"},
	} {
		n, err := m.Next(4, 2, 99, c.written)
		switch {
		case c.fails != "":
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case n.Version != 4 || n.Epoch != 2 || n.CreatedMillis != 99 || !reflect.DeepEqual(n.Shards, c.want):
			t.Errorf("%s: %v", c.name, n)
		}
		if !reflect.DeepEqual(m, smallManifest()) {
			t.Fatalf("%s changed the manifest before", c.name)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	b, err := smallManifest().Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:60])
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := DecodeManifest(b); err == nil && len(b) < 14 {
			t.Fatal("too short to be one")
		}
		if len(b) < 14 {
			return
		}
		m, err := DecodeManifest(resum(bytes.Clone(b))) // get past the checksum
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if n, err := DecodeManifest(again); err != nil || !reflect.DeepEqual(m, n) {
			t.Fatalf("%v: %v instead of %v", err, n, m)
		}
	})
}
