package protocol

import (
	"bytes"
	"slices"
	"strings"
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
	for _, c := range []struct {
		name string
		refs []shard.Ref
		body int // bytes sent of each
		want string
	}{
		{"another owner", []shard.Ref{other}, 0, "in a stream of"},
		{"an older epoch", []shard.Ref{old}, 0, "in a stream of"},
		{"too many bytes", []shard.Ref{mine, mine}, 100, "2 objects of 200 bytes and more"},
		{"a long body", []shard.Ref{mine}, 101, "101 bytes and more, where its ref says 100"},
		{"a short body", []shard.Ref{mine}, 99, "99 bytes, where its ref says 100"},
		{"too few", []shard.Ref{mine}, 100, "1 objects, where the header says 2"},
	} {
		if err := assemble(t, header, c.refs, c.body); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if err := assemble(t, PutHeader{Owner: mine.Owner, Epoch: mine.Epoch}, []shard.Ref{mine, mine}, 100); err != nil {
		t.Errorf("a sender that does not know how much it sends: %v", err)
	}
	if _, err := NewAssembler(PutHeader{Count: -1}); err == nil {
		t.Error("a header of -1 objects")
	}
}

// assemble takes objects with bodies of so many bytes.
func assemble(t *testing.T, header PutHeader, refs []shard.Ref, body int) error {
	t.Helper()
	a, err := NewAssembler(header)
	if err != nil {
		t.Fatal(err)
	}
	for _, ref := range refs {
		head, err := EncodeRef(ref)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := a.Take(head); err != nil {
			return err
		}
		if _, _, _, err := a.Take(make([]byte, body)); err != nil {
			return err
		}
	}
	return a.End()
}
