package store

import (
	"context"
	"runtime"
	"testing"

	"github.com/syndtr/goleveldb/leveldb/storage"

	"github.com/stormring/stormring/sr3/shard"
)

// Steady checkpoints: some objects stay, most are replaced. Garbage is bounded,
// and every byte is written little more than twice.
func TestCleaning(t *testing.T) {
	d := newDisk()
	var written int64
	d.set(1<<40, nil)
	s := open(t, Options{Storage: counting{d, &written}, tuning: tuning{writeBuffer: 1 << 20, leastDead: 2 << 20, mostRecords: 1 << 16, stretch: 2 << 20}})
	ctx := t.Context()
	const size = 16 << 10
	var given, kept int64
	for v := range shard.Version(400) {
		it := base(t, int(v)%8, v, size)
		ok(t, s.Put(ctx, it))
		given += size
		if v%8 == 0 {
			kept += size
			continue
		}
		ok(t, s.Delete(ctx, it.Ref))
	}
	u := s.Usage()
	if u.Bytes != kept || u.Objects != 50 {
		t.Errorf("usage is %+v, %d bytes should be here", u, kept)
	}
	ok(t, s.Put(ctx, base(t, 0, 1000, 40)))
	ok(t, s.Close())
	if most := kept + 2*(2<<20) + 2<<20; d.used > most {
		t.Errorf("%d bytes are on disk for %d, more than %d", d.used, kept, most)
	}
	t.Logf("given %d KiB, kept %d, on disk %d, written %d", given>>10, kept>>10, d.used>>10, written>>10)
	if written > given*3 {
		t.Errorf("%d bytes were written for %d", written, given)
	}
	s = open(t, Options{Storage: d})
	for v := shard.Version(0); v < 400; v += 8 {
		get(t, s, base(t, 0, v, size))
	}
	if len(s.Objects(testOwner)) != 51 {
		t.Errorf("%d objects are here", len(s.Objects(testOwner)))
	}
}

// counting counts the bytes written.
type counting struct {
	*disk
	written *int64
}

func (c counting) Create(fd storage.FileDesc) (storage.Writer, error) {
	w, err := c.disk.Create(fd)
	return countingWriter{w, c}, err
}

type countingWriter struct {
	storage.Writer
	c counting
}

func (w countingWriter) Write(b []byte) (int, error) {
	w.c.mu.Lock()
	*w.c.written += int64(len(b))
	w.c.mu.Unlock()
	return w.Writer.Write(b)
}

// Scrub keeps to its rate and stops when it is told to.
func TestScrubStops(t *testing.T) {
	s := open(t, Options{Storage: newDisk()})
	ok(t, s.Put(t.Context(), base(t, 0, 1, 1000), base(t, 1, 1, 1000)))
	ok(t, s.Scrub(t.Context(), 1<<40, nil))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Scrub(ctx, 1, nil) }()
	runtime.Gosched()
	cancel()
	is(t, <-done, context.Canceled)
}
