package protocol

import (
	"bytes"
	"slices"
	"testing"

	"github.com/stormring/stormring/sr3/shard"
)

func testRef(stored int) shard.Ref {
	return shard.Ref{
		ObjectID: shard.ObjectID{
			Owner: shard.Owner{Topology: "words-1", Component: "count", Task: 7},
			Range: shard.RangeOf(1, 4), Version: 1<<40 | 9, Epoch: 3, Kind: shard.Delta,
		},
		Size: 999, Stored: int64(stored), Checksum: 0xfedcba9876543210, Holders: []shard.NodeID{"a", "b"},
	}
}

func TestObjectsComeOutAsTheyWentIn(t *testing.T) {
	ref := testRef(1)
	taker, err := NewAssembler(PutHeader{Owner: ref.Owner, Epoch: ref.Epoch})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 32, ChunkBytes - 1, ChunkBytes, ChunkBytes + 1, 3*ChunkBytes + 5} {
		sent, ref := bytes.Repeat([]byte{byte(size)}, size), testRef(size)
		finished := 0
		err := Put(func(m []byte) error {
			if len(m) > ChunkBytes {
				t.Errorf("a message of %d bytes", len(m))
			}
			got, stored, done, err := taker.Take(slices.Clone(m))
			if done {
				finished++
				if !bytes.Equal(stored, sent) || got.Checksum != ref.Checksum || got.ObjectID != ref.ObjectID || !slices.Equal(got.Holders, ref.Holders) {
					t.Errorf("object of %d bytes: came out as %+v, %d bytes", size, got, len(stored))
				}
			}
			return err
		}, ref, sent)
		if err != nil || finished != 1 || taker.End() != nil {
			t.Errorf("object of %d bytes: %v, finished %d times, %v", size, err, finished, taker.End())
		}
	}
}

func FuzzAssembler(f *testing.F) {
	head, err := EncodeRef(testRef(100))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(head, bytes.Repeat([]byte{1}, 60))
	f.Add([]byte("{}"), []byte("x"))
	f.Fuzz(func(t *testing.T, head, body []byte) {
		taker, err := NewAssembler(PutHeader{Owner: testRef(1).Owner, Epoch: 3})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, done, err := taker.Take(head); err != nil || done {
			return
		}
		for range 3 {
			ref, stored, done, err := taker.Take(body)
			if err != nil {
				return
			}
			if done {
				if int64(len(stored)) != ref.Stored {
					t.Fatalf("%d bytes for a ref of %d", len(stored), ref.Stored)
				}
				return
			}
		}
	})
}

func TestObjectsThatMakeNoSense(t *testing.T) {
	mine := testRef(100)
	header := PutHeader{Owner: mine.Owner, Epoch: mine.Epoch, Count: 2, Bytes: 150}
	other, old := mine, mine
	other.Owner.Task++
	old.Epoch--
	for name, c := range map[string]struct {
		refs []shard.Ref
		body int
		end  bool
	}{
		"another owner":  {refs: []shard.Ref{other}},
		"an older epoch": {refs: []shard.Ref{old}},
		"too many bytes": {refs: []shard.Ref{mine, mine}, body: 100},
		"a long body":    {refs: []shard.Ref{mine}, body: 101},
		"a short body":   {refs: []shard.Ref{mine}, body: 99, end: true},
		"too few":        {refs: []shard.Ref{mine}, body: 100, end: true},
	} {
		a, err := NewAssembler(header)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range c.refs {
			head, err := EncodeRef(ref)
			if err != nil {
				t.Fatal(err)
			}
			_, _, _, err = a.Take(head)
			if err == nil && c.body > 0 {
				_, _, _, err = a.Take(make([]byte, c.body))
			}
			if (err != nil) != (!c.end && ref.ObjectID == c.refs[len(c.refs)-1].ObjectID && (len(c.refs) == 1 || a.count == 2)) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if c.end && a.End() == nil {
			t.Errorf("%s: the end is taken for clean", name)
		}
	}
}
