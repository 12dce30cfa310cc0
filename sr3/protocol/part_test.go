package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/sr3/shard"
)

func newCodec(t interface{ Fatal(args ...any) }) *shard.Codec {
	c, err := shard.NewCodec(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// objects are a chain of one shard: a base of size keys and deltas.
func objects(t interface{ Fatal(args ...any) }, c *shard.Codec, size, deltas int) [][]byte {
	table := shard.NewTable(shard.Options{Owner: shard.Owner{Topology: "t", Component: "c"}})
	var out [][]byte
	for v := range deltas + 1 {
		for i := range size {
			if v > 0 && i%10 != v%10 {
				continue
			}
			key := fmt.Appendf(nil, "key %d", i)
			var err error
			if v > 0 && i%3 == 0 {
				err = table.Delete(key)
			} else {
				err = table.Put(key, fmt.Appendf(nil, "value %d of version %d", i, v))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		f := table.Freeze()
		err := f.Objects(c, shard.Version(v+1), 1, false, func(_ shard.Ref, b []byte) error {
			out = append(out, b)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
		if err := table.Commit(f); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// However a chain is cut into parts, and whatever parts are joined on the way, the
// bytes of the whole are the same.
func TestJoinIsAssociative(t *testing.T) {
	c := newCodec(t)
	chain := objects(t, c, 500, 6)
	if len(chain) != 7 {
		t.Fatalf("a chain of %d objects, want 7", len(chain))
	}
	whole, err := JoinParts(c, chain)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := slices.Clone(chain)
		for len(parts) > 1 {
			from := rapid.IntRange(0, len(parts)-2).Draw(t, "from")
			until := rapid.IntRange(from+2, len(parts)).Draw(t, "until")
			joined, err := JoinParts(c, parts[from:until])
			if err != nil {
				t.Fatal(err)
			}
			parts = slices.Replace(parts, from, until, joined)
		}
		if !bytes.Equal(parts[0], whole) {
			t.Fatalf("%d bytes, want %d, or others", len(parts[0]), len(whole))
		}
	})
}

func TestPartsOfDeltasArePacks(t *testing.T) {
	c := newCodec(t)
	chain := objects(t, c, 500, 4)
	pack, err := JoinParts(c, chain[1:])
	if err != nil {
		t.Fatal(err)
	}
	got, err := OpenPart(c, pack)
	if err != nil || len(got) != 4 {
		t.Fatalf("%d objects, %v", len(got), err)
	}
	for i, o := range got {
		if o.Kind != shard.Delta || o.Version != shard.Version(i+2) {
			t.Errorf("object %d is %v", i, o)
		}
	}
	if _, err := PackPart(nil); err == nil {
		t.Error("a part of nothing is none")
	}
	if one, err := PackPart(chain[:1]); err != nil || !bytes.Equal(one, chain[0]) {
		t.Errorf("one object is its own pack: %v", err)
	}
	for _, cut := range []int{packHead, packHead + 3, len(pack) - 1} {
		if _, err := UnpackPart(pack[:cut]); !errors.Is(err, shard.ErrDamaged) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
	newer := slices.Clone(pack)
	newer[4] = 9
	if _, err := UnpackPart(newer); err == nil || errors.Is(err, shard.ErrDamaged) {
		t.Errorf("a format of the future is no damage: %v", err)
	}
}

func FuzzUnpackPart(f *testing.F) {
	c := newCodec(f)
	chain := objects(f, c, 50, 3)
	pack, err := PackPart(chain[1:])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pack)
	f.Add(chain[0])
	f.Add([]byte("SR3p\x01\x00\x02\x00"))
	f.Fuzz(func(t *testing.T, part []byte) {
		raw, err := UnpackPart(part)
		if err != nil {
			return
		}
		if again, err := PackPart(raw); err == nil && len(raw) > 1 {
			if !bytes.Equal(again[8:], part[8:]) {
				t.Errorf("%x is packed as %x", part, again)
			}
		}
		if joined, err := JoinParts(c, [][]byte{part}); err == nil && len(raw) == 1 && !bytes.Equal(joined, part) {
			t.Error("one object was changed")
		}
	})
}
