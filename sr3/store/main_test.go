package store

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/sr3/shard"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// goleveldb leaves this one behind for up to a second after it is closed,
		goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"),
		// and this one, for ever, after leveldb.Recover.
		goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb/util.(*BufferPool).drain"))
}

var testOwner = shard.Owner{Topology: "words-1-1700000000", Component: "count", Task: 7}

// object makes an item of n stored bytes (at least 32), shard i of 1024.
func object(tb testing.TB, o shard.Owner, i int, v shard.Version, e shard.Epoch, k shard.Kind, n int) Item {
	tb.Helper()
	b := make([]byte, n)
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(i))
	binary.LittleEndian.PutUint64(seed[8:], uint64(v)<<32|uint64(e))
	_, _ = rand.NewChaCha8(seed).Read(b[32:])
	slots := shard.RangeOf(i, shard.MaxShards)
	copy(b, "SR3o\x01")
	b[5] = byte(k)
	binary.LittleEndian.PutUint16(b[8:], uint16(slots.First))
	binary.LittleEndian.PutUint16(b[10:], slots.Slots)
	binary.LittleEndian.PutUint64(b[16:], uint64(v))
	binary.LittleEndian.PutUint64(b[24:], uint64(n-32))
	ref, err := shard.RefTo(o, e, b)
	if err != nil {
		tb.Fatal(err)
	}
	return Item{ref, b}
}

func base(tb testing.TB, i int, v shard.Version, n int) Item {
	tb.Helper()
	return object(tb, testOwner, i, v, 1, shard.Base, n)
}

func open(tb testing.TB, o Options) *Store {
	tb.Helper()
	s, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func ok(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// clock is one that stands still until it is moved.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }
