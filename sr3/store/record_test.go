package store

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/sr3/shard"
)

func heads() []head {
	o := shard.Owner{Topology: "t", Component: "c", Task: -3}
	return []head{
		{
			what: anObject, owner: o, size: 1 << 40, stored: MaxObject, sum: 1<<64 - 1,
			object: objectKey{shard.RangeOf(1023, 1024), 1<<63 - 1, -1, shard.Delta},
		},
		{what: aManifest, owner: o, version: 7, epoch: 8, stored: 9, sum: 10},
		{what: aFence, owner: shard.Owner{}, epoch: 1},
		{what: aDeletion, gone: []uint64{0, 1, 5, 1<<64 - 1}},
	}
}

func TestHeadsRoundTrip(t *testing.T) {
	for _, h := range heads() {
		b := h.encode()
		back, err := decodeHead(b)
		ok(t, err)
		if !reflect.DeepEqual(h, back) {
			t.Errorf("%+v came back as %+v", h, back)
		}
		for i := range b {
			bad := bytes.Clone(b)
			bad[i] ^= 4
			_, err := decodeHead(bad)
			is(t, err, ErrDamaged)
			_, err = decodeHead(b[:i])
			is(t, err, ErrDamaged)
		}
	}
}

// A head of a newer program is not called damaged: nobody must drop it.
func TestUnknownFormatIsNoDamage(t *testing.T) {
	for i, word := range []string{"format version 9: this program knows version 1", "unknown kind 9"} {
		h := heads()[2]
		b := h.encode()
		b = b[:len(b)-8]
		b[i] = 9
		sum := xxhash.Sum64(b)
		for range 8 {
			b = append(b, byte(sum))
			sum >>= 8
		}
		_, err := decodeHead(b)
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("error is %v", err)
		}
	}
}

func TestKeysAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n1, n2 := rapid.Uint64().Draw(t, "n1"), rapid.Uint64().Draw(t, "n2")
		p1, p2 := rapid.Uint32().Draw(t, "p1"), rapid.Uint32().Draw(t, "p2")
		number, part, good := parseKey(key(n1, p1))
		if !good || number != n1 || part != p1 {
			t.Fatalf("key %d %d came back as %d %d", n1, p1, number, part)
		}
		if less := n1 < n2 || n1 == n2 && p1 < p2; less != (bytes.Compare(key(n1, p1), key(n2, p2)) < 0) {
			t.Fatal("keys are out of order")
		}
	})
}

func FuzzDecodeHead(f *testing.F) {
	for _, h := range heads() {
		b := h.encode()
		f.Add(b[:len(b)-8])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		sum := xxhash.Sum64(b) // else nothing gets by the checksum
		for range 8 {
			b = append(b, byte(sum))
			sum >>= 8
		}
		h, err := decodeHead(b)
		if err != nil {
			return
		}
		again, err := decodeHead(h.encode())
		if err != nil || !reflect.DeepEqual(h, again) {
			t.Fatalf("%+v came back as %+v, %v", h, again, err)
		}
	})
}

func FuzzParseKey(f *testing.F) {
	f.Add(key(1, 2))
	f.Fuzz(func(t *testing.T, k []byte) {
		if n, p, good := parseKey(k); good && !bytes.Equal(key(n, p), k) {
			t.Fatalf("%x came back as %x", k, key(n, p))
		}
	})
}
