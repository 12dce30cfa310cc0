package shard

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// imageOf is the image of a base with these keys and values.
func imageOf(state map[string]string) ([]byte, *Object) {
	keys := make([]string, 0, len(state))
	for k := range state {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(Hash([]byte(a)), Hash([]byte(b))), cmp.Compare(a, b))
	})
	image := make([]byte, headerSize)
	for _, k := range keys {
		image = appendEntry(image, Hash([]byte(k)), []byte(k), []byte(state[k]), 0)
	}
	o := &Object{Kind: Base, Range: Whole(), Version: 3, Entries: len(keys)}
	putHeader(image, o)
	return image, o
}

// Whatever is in an object, it opens to the very bytes that it was made of, and is lean
// if its entries are small.
func TestLeanObjectsComeBack(t *testing.T) {
	c := testCodec(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		long := rapid.SampledFrom([]int{0, 8, 100, 300, 2000}).Draw(t, "long")
		state := rapid.MapOfN(rapid.StringN(0, 40, -1), rapid.StringN(0, long, -1), 0, 200).Draw(t, "state")
		image, o := imageOf(state)
		o.Kind = rapid.SampledFrom([]Kind{Base, Delta}).Draw(t, "kind")
		putHeader(image, o)
		raw := len(image) - headerSize
		want := bytes.Clone(image)
		stored := c.seal(image, o)
		if lean := stored[7] == layoutLean; lean != (raw >= worthwhile && raw/len(state) < leanBelow) {
			t.Fatalf("%d entries in %d bytes are lean: %v", len(state), raw, lean)
		}
		got, err := c.Open(stored)
		if err != nil || !bytes.Equal(got.image, want) {
			t.Fatalf("%v: opens to %d bytes of %d: %v", o, len(got.image), len(want), err)
		}
	})
}

// Small entries take less than half of what they would with their hashes.
func TestLeanObjectsAreSmall(t *testing.T) {
	state := map[string]string{}
	for i := range 10_000 {
		state[fmt.Sprintf("word%012d", i*7)] = string(binary.BigEndian.AppendUint64(nil, uint64(i%9)))
	}
	c := testCodec(t, 1)
	image, o := imageOf(state)
	whole, ok := c.shrink(image, headerSize, len(image)-headerSize)
	lean := c.seal(image, o)
	if !ok || 2*len(lean) > len(whole) {
		t.Errorf("%d bytes without hashes, %d with", len(lean), len(whole))
	}
}

// What cannot be compressed is lean all the same.
func TestLeanObjectsOfNoise(t *testing.T) {
	state, x := map[string]string{}, uint64(1)
	for range 500 {
		x = Hash(binary.BigEndian.AppendUint64(nil, x))
		state[string(binary.BigEndian.AppendUint64(nil, x))] = ""
	}
	c := testCodec(t, 1)
	image, o := imageOf(state)
	want := bytes.Clone(image)
	// Without their heads, which compress well, they would stay as they are.
	if stored := strip(bytes.Clone(image)); len(stored) != len(image)-500*hashSize {
		t.Errorf("%d bytes of %d", len(stored), len(image))
	} else if got, err := c.Open(stored); err != nil || !bytes.Equal(got.image, want) {
		t.Errorf("opens to other bytes: %v", err)
	}
	if got := open(t, c, c.seal(image, o)); !bytes.Equal(got.image, want) {
		t.Error("opens to other bytes")
	}
}

func TestDamagedLeanObjects(t *testing.T) {
	c := testCodec(t, 1)
	image, _ := imageOf(map[string]string{"one": "1", "two": "22", "three": "333"})
	lean := strip(image)
	edit := func(at int, with ...byte) []byte {
		b := bytes.Clone(lean)
		copy(b[at:], with)
		return b
	}
	gap := headerSize + 3*hashSize
	first := 8 + int(lean[headerSize+4]) + int(lean[headerSize])
	for _, d := range []struct {
		bytes []byte
		says  string
	}{
		{edit(headerSize, 255), fmt.Sprintf("at byte %d: key of", gap)},
		{edit(headerSize+6, 255), "do not fit"},
		{edit(headerSize+3, 255), "do not fit"},
		{edit(headerSize+first, 255), fmt.Sprintf("at byte %d: key of", gap+first)},
		{edit(headerSize, 0), "bytes"},
		{edit(12, 2), "bytes of entries where its header says"},
		{edit(24, lean[24]+8), "bytes of entries where its header says"},
		{lean[:len(lean)-1], "bytes of entries where its header says"},
		{edit(4, objectFormat), "format version 1 with compression 0 and layout 1"},
		{edit(7, layoutWhole), "format version 2 with compression 0 and layout 0"},
	} {
		o, err := c.Open(d.bytes)
		if err == nil {
			err = o.Check()
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), d.says) {
			t.Errorf("got %v, want %q", err, d.says)
		}
	}
	// Another key has another hash, which is out of order or of the wrong shard, at least
	// mostly; the checksum finds it in any case.
	if o := open(t, c, lean); o.Entries != 3 || o.Check() != nil {
		t.Errorf("%v: %v", o, o.Check())
	}
}
