package shard

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"
)

// sample is a chain of one base and one delta, as stored.
func sample(tb testing.TB, c *Codec) written {
	tb.Helper()
	t := NewTable(Options{Owner: testOwner})
	for i := range 60 {
		put(tb, t, strings.Repeat("k", i), strings.Repeat("value ", i))
	}
	w := checkpoint(tb, t, c, 5, false)
	put(tb, t, "new", "1")
	put(tb, t, "k", "2")
	del(tb, t, "kk")
	d := checkpoint(tb, t, c, 6, false)
	return written{append(w.refs, d.refs...), append(w.bytes, d.bytes...)}
}

func TestObjectFormat(t *testing.T) {
	table := NewTable(Options{Owner: testOwner})
	put(t, table, "storm", "ring")
	w := checkpoint(t, table, testCodec(t, 1), 0x0102, false)
	put(t, table, "wide", strings.Repeat("-", 900))
	checkpoint(t, table, testCodec(t, 1), 0x0103, false)
	del(t, table, "storm")
	put(t, table, "a", "b")
	w.bytes = append(w.bytes, checkpoint(t, table, testCodec(t, 1), 0x0104, false).bytes...)
	const (
		header = "5352336f" + "01" // magic, format
		slots  = "0000" + "0040"
		storm  = "347bb4bf1799b144"
	)
	for i, want := range []string{
		header + "01" + "00" + "00" + slots + "01000000" + "0201000000000000" + "1900000000000000" +
			storm + "04000000" + "050000" + "00" + "73746f726d" + "72696e67",
		header + "02" + "00" + "00" + slots + "02000000" + "0401000000000000" + "2700000000000000" +
			storm + "00000000" + "050000" + "01" + "73746f726d" +
			"5b6e8ca9f1c44ed2" + "01000000" + "010000" + "00" + "61" + "62",
	} {
		if got := hex.EncodeToString(w.bytes[i]); got != want {
			t.Errorf("object %d is\n%s, want\n%s", i, got, want)
		}
	}
}

func TestObjectsAreWhatWasWritten(t *testing.T) {
	for _, level := range []int{0, 1, 9} {
		c := testCodec(t, level)
		w := sample(t, c)
		if len(w.bytes) != 2 || w.refs[0].Kind != Base || w.refs[1].Kind != Delta {
			t.Fatalf("level %d: %v", level, w.refs)
		}
		if packed := w.bytes[0][6] == zstdRaw; packed != (level > 0) {
			t.Errorf("level %d: packed is %v", level, packed)
		}
		base, delta := open(t, c, w.bytes[0]), open(t, c, w.bytes[1])
		if base.Entries != 60 || base.Version != 5 || base.Size() != w.refs[0].Size || base.String() != "base of slots 0-16383 version 5" {
			t.Errorf("level %d: %v with %d entries", level, base, base.Entries)
		}
		got := make(map[string]string)
		for k, v := range delta.All() {
			got[string(k)] = string(v)
			if (v == nil) != (string(k) == "kk") {
				t.Errorf("%s: deleted is %v", k, v == nil)
			}
		}
		if want := map[string]string{"new": "1", "k": "2", "kk": ""}; !maps.Equal(got, want) {
			t.Errorf("level %d: delta %v", level, got)
		}
		folded, err := c.Fold([]*Object{base, delta})
		if err != nil {
			t.Fatal(err)
		}
		if f := open(t, c, folded); f.Kind != Base || f.Version != 6 || f.Entries != 60 {
			t.Errorf("level %d: folded into %v with %d entries", level, f, f.Entries)
		}
	}
}

func TestEveryFlippedByteIsFound(t *testing.T) {
	for _, level := range []int{0, 1} {
		c := testCodec(t, level)
		w := sample(t, c)
		for i, stored := range w.bytes {
			for at := range stored {
				bad := bytes.Clone(stored)
				bad[at] ^= 0x40
				if err := Verify(w.refs[i], bad); !errors.Is(err, ErrDamaged) {
					t.Fatalf("level %d: byte %d flipped: %v", level, at, err)
				}
				// Without the checksum damage may pass, but never as a panic.
				if o, err := c.Open(bad); err == nil {
					_ = o.Check()
				}
			}
			for n := range stored {
				if err := Verify(w.refs[i], stored[:n]); !errors.Is(err, ErrDamaged) {
					t.Fatalf("level %d: cut to %d bytes: %v", level, n, err)
				}
				if o, err := c.Open(stored[:n]); err == nil && o.Check() == nil {
					t.Fatalf("level %d: %d bytes of %d open", level, n, len(stored))
				}
			}
		}
	}
}

func TestDamagedObjects(t *testing.T) {
	c := testCodec(t, 0)
	base, delta := sample(t, c).bytes[0], sample(t, c).bytes[1]
	second := headerSize + sizeAt(base, headerSize)
	edit := func(b []byte, at int, with ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], with)
		return b
	}
	for _, d := range []struct {
		bytes []byte
		says  string
	}{
		{nil, "object of 0 bytes: it does not start as an object does"},
		{edit(base, 0, 'x'), "it does not start as an object does"},
		{edit(base, 5, 3), "object of unknown kind 3"},
		{edit(base, 6, 9), "format version 1 with compression 9"},
		{edit(base, 7, 1), "format version 1 with compression 0 and layout 1"},
		{edit(base, 7, 2), "layout 2"},
		{edit(base, 10, 3, 0), "the width must be a power of two"},
		{edit(base, 12, 61), "it ends 1 entries early"},
		{edit(base, 12, 59), "more entries than its header says"},
		{edit(base, 12, 0, 0, 0, 255), "entries in"},
		{edit(base, 24, 1), "bytes of entries where its header says"},
		{edit(base, 6, zstdRaw), "zstd:"},
		{edit(base, headerSize+15, 2), "at byte 32: unknown flags 0x2"},
		{edit(base, headerSize+15, 1), "at byte 32: a deleted key in a base"},
		{edit(base, headerSize+12, 255, 255), "do not fit"},
		{edit(base, second+7, 0), "entries out of order"},
		{edit(base, 8, 0, 0, 0, 32), "a key of slot"},
		{append(edit(base, 24, byte(len(base)-headerSize+3), byte((len(base)-headerSize+3)>>8)), 1, 2, 3), "3 bytes are too few for an entry"},
		{edit(delta, 5, 1), "deleted key in a base"},
	} {
		o, err := c.Open(d.bytes)
		if err == nil {
			err = o.Check()
			if table := NewTable(Options{}); o.Kind == Base && table.Expect(o.Range) == nil {
				if loadErr := table.Load(o); !errors.Is(loadErr, ErrDamaged) {
					t.Errorf("%s: loads: %v", d.says, loadErr)
				}
			}
		}
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), d.says) {
			t.Errorf("got %v, want %q", err, d.says)
		}
	}
	if _, err := c.Open(edit(base, 4, 9)); err == nil || errors.Is(err, ErrDamaged) ||
		err.Error() != "object of format version 9: this program knows versions 1 and 2; update it" {
		t.Errorf("unknown version: %v", err)
	}
}

func TestVerifyKnowsObjectsApart(t *testing.T) {
	w := sample(t, testCodec(t, 0))
	ref := w.refs[0]
	ref.Version = 4
	if err := Verify(ref, w.bytes[0]); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "the bytes are of another object") {
		t.Error(err)
	}
	ref = w.refs[0]
	ref.Checksum++
	want := "words-1-1700000000/count/7 slots 0-16383 version 5 epoch 1 base: checksum"
	if err := Verify(ref, w.bytes[0]); !errors.Is(err, ErrDamaged) || !strings.HasPrefix(err.Error(), want) {
		t.Error(err)
	}
}

// What shrinks to nothing is padded, so that a small object cannot claim to be
// a large one.
func TestHostileLengths(t *testing.T) {
	c := testCodec(t, 1)
	table := NewTable(Options{Owner: testOwner})
	put(t, table, "zeros", string(make([]byte, 4<<20)))
	stored := checkpoint(t, table, c, 1, false).bytes[0]
	if len(stored) < 4<<10 || len(stored) > 5<<10 {
		t.Errorf("4 MiB of zeros have %d bytes", len(stored))
	}
	if o := open(t, c, stored); o.Entries != 1 {
		t.Errorf("%d entries", o.Entries)
	}
	small, err := NewCodec(1, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.Open(stored); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
	claim := bytes.Clone(stored[:headerSize+1000])
	binary.LittleEndian.PutUint64(claim[24:], 1<<30)
	allocated := testing.AllocsPerRun(1, func() {
		if _, err := c.Open(claim); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "claim to expand") {
			t.Error(err)
		}
	})
	if allocated > 50 {
		t.Errorf("%v allocations", allocated)
	}
	// The frame says less or more than the header.
	for _, raw := range []uint64{1 << 20, 4<<20 + 60} {
		b := bytes.Clone(stored)
		binary.LittleEndian.PutUint64(b[24:], raw)
		if _, err := c.Open(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("header says %d: %v", raw, err)
		}
	}
}

// Deltas are S2 blocks and bases zstd frames, both without hashes, of a format version
// that older programs refuse instead of taking it for damage.
func TestDeltasAreBlocks(t *testing.T) {
	c := testCodec(t, 1)
	table := NewTable(Options{Owner: testOwner})
	for i := range 1000 {
		put(t, table, fmt.Sprintf("key-%d", i), "some value")
	}
	base := checkpoint(t, table, c, 1, false).bytes[0]
	for i := range 100 {
		put(t, table, fmt.Sprintf("key-%d", i), "some other value")
	}
	delta := checkpoint(t, table, c, 2, false).bytes[0]
	if want := []byte{2, byte(Base), zstdRaw, layoutLean}; !bytes.Equal(base[4:8], want) {
		t.Errorf("the base's header has %v, not %v", base[4:8], want)
	}
	if want := []byte{2, byte(Delta), s2Raw, layoutLean}; !bytes.Equal(delta[4:8], want) {
		t.Errorf("the delta's header has %v, not %v", delta[4:8], want)
	}
	o := open(t, c, delta)
	if err := o.Check(); err != nil || o.Kind != Delta || o.Entries != 100 || !bytes.Equal(o.image[4:8], []byte{1, byte(Delta), asIs, layoutWhole}) {
		t.Errorf("%v with %d entries, header %v: %v", o, o.Entries, o.image[4:8], err)
	}
	edit := func(at int, with ...byte) []byte {
		b := bytes.Clone(delta)
		copy(b[at:], with)
		return b
	}
	raw := binary.LittleEndian.Uint64(delta[24:])
	for _, d := range []struct {
		bytes []byte
		says  string
	}{
		{edit(4, 1), "format version 1 with compression 2"},
		{edit(6, zstdRaw), "zstd:"},
		{edit(6, asIs), "bytes of entries where its header says"},
		{edit(7, layoutWhole), "does not expand to"},
		{edit(12, 99), "does not expand to"},
		{edit(24, byte(raw+1)), "does not expand to"},
		{edit(headerSize, 255, 255, 255, 255, 255, 255), "does not expand to"},
		{delta[:len(delta)-9], "S2:"},
		{delta[:headerSize], "claim to expand"},
	} {
		if _, err := c.Open(d.bytes); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), d.says) {
			t.Errorf("got %v, want %q", err, d.says)
		}
	}

	// Nobody would believe a block of zeros; it gets a frame with padding.
	image := appendEntry(make([]byte, headerSize), Hash([]byte("zeros")), []byte("zeros"), make([]byte, 4<<20), 0)
	zeros := c.seal(image, &Object{Kind: Delta, Range: Whole(), Version: 3, Entries: 1})
	if zeros[4] != 1 || zeros[6] != zstdRaw || len(zeros) > 5<<10 {
		t.Errorf("a delta of zeros is of format version %d with compression %d and has %d bytes", zeros[4], zeros[6], len(zeros))
	}
	if o := open(t, c, zeros); o.Entries != 1 {
		t.Errorf("%d entries", o.Entries)
	}
}

func TestCodecOptions(t *testing.T) {
	for _, level := range []int{-1, 23} {
		if _, err := NewCodec(level, 0); err == nil {
			t.Errorf("level %d passes", level)
		}
	}
	if c := testCodec(t, 0); c.limit != defaultLimit {
		t.Errorf("limit %d", c.limit)
	}
}

func FuzzOpen(f *testing.F) {
	c0, c1 := testCodec(f, 0), testCodec(f, 1)
	for _, c := range []*Codec{c0, c1} {
		for _, b := range sample(f, c).bytes {
			f.Add(b)
		}
	}
	limited, err := NewCodec(1, 1<<20)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := limited.Open(b)
		if err != nil {
			return
		}
		if b[6] != asIs && cap(o.image) > len(b)*maxRatio+headerSize {
			t.Fatalf("%d bytes for an input of %d", cap(o.image), len(b))
		}
		bad := o.Check()
		table := NewTable(Options{})
		if o.Kind == Base && table.Expect(o.Range) == nil {
			if err := table.Load(o); (err == nil) != (bad == nil) {
				t.Fatalf("Check says %v, Load %v", bad, err)
			}
		}
		ref, err := RefTo(testOwner, 1, b)
		if err != nil || ref.Checksum != xxhash.Sum64(b) || Verify(ref, b) != nil {
			t.Fatalf("ref %v, %v", ref, err)
		}
		if _, err := limited.Fold([]*Object{o}); (err == nil) != (bad == nil && o.Kind == Base) {
			t.Fatalf("Check says %v, Fold %v", bad, err)
		}
	})
}
