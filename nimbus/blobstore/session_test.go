package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/clock"
)

func TestCreateUpdateDownload(t *testing.T) {
	s := openReal(t, Config{})
	id, err := s.BeginCreate("k", Meta{}, Subject{User: "ann"})
	noErr(t, err)
	content := strings.Repeat("0123456789", 20_000)
	for i := 0; i < len(content); i += 65536 {
		noErr(t, s.UploadChunk(id, []byte(content[i:min(i+65536, len(content))])))
	}
	if s.Exists("k") {
		t.Error("the blob is there before it is finished")
	}
	v1, err := s.FinishUpload(id)
	noErr(t, err)
	wantErr(t, s.UploadChunk(id, nil), ErrSession)
	_, err = s.FinishUpload(id)
	wantErr(t, err, ErrSession)

	d, err := s.BeginDownload("k", Subject{})
	noErr(t, err)
	if d.Version != v1 || d.Size != 200_000 {
		t.Errorf("download %+v, want version %d, size 200000", d, v1)
	}
	// The download goes on with what it began with.
	id, err = s.BeginUpdate("k", Subject{})
	noErr(t, err)
	noErr(t, s.UploadChunk(id, []byte("new")))
	v2, err := s.FinishUpload(id)
	noErr(t, err)
	if v2 <= v1 {
		t.Errorf("version %d after %d", v2, v1)
	}
	wantGet(t, s, "k", "new")
	noErr(t, s.Delete("k", Subject{}))
	var sizes []int
	var got strings.Builder
	for {
		chunk, err := s.DownloadChunk(d.Session)
		noErr(t, err)
		sizes = append(sizes, len(chunk))
		got.Write(chunk)
		if len(chunk) == 0 {
			break
		}
	}
	if fmt.Sprint(sizes) != "[65536 65536 65536 3392 0]" || got.String() != content {
		t.Errorf("chunks of %v bytes", sizes)
	}
	_, err = s.DownloadChunk(d.Session)
	wantErr(t, err, ErrSession)
}

func TestCancel(t *testing.T) {
	d := newMemDisk()
	s := openMem(t, d, Config{})
	id, err := s.BeginCreate("k", Meta{}, Self())
	noErr(t, err)
	noErr(t, s.UploadChunk(id, []byte("x")))
	noErr(t, s.CancelUpload(id))
	wantErr(t, s.CancelUpload(id), ErrSession)
	_, err = s.FinishUpload(id)
	wantErr(t, err, ErrSession)
	wantTidy(t, d, s)
	if n := d.openFiles(); n != 0 {
		t.Errorf("%d files are open", n)
	}
}

func TestSessionsOfAnotherKind(t *testing.T) {
	s := openMem(t, newMemDisk(), Config{})
	put(t, s, "k", "x")
	up, err := s.BeginUpdate("k", Self())
	noErr(t, err)
	if key, err := s.UploadKey(up); key != "k" || err != nil {
		t.Errorf("the upload is for %q, %v", key, err)
	}
	down, err := s.BeginDownload("k", Self())
	noErr(t, err)
	_, list, err := s.List("")
	noErr(t, err)
	for _, id := range []string{up, list, "", "no such"} {
		_, err := s.DownloadChunk(id)
		wantErr(t, err, ErrSession)
	}
	for _, id := range []string{down.Session, list, "", "no such"} {
		wantErr(t, s.UploadChunk(id, nil), ErrSession)
	}
	for _, id := range []string{down.Session, up, "no such"} {
		_, _, err := s.List(id)
		wantErr(t, err, ErrSession)
	}
}

func TestList(t *testing.T) {
	s := openMem(t, newMemDisk(), Config{})
	for i := range 250 {
		put(t, s, fmt.Sprintf("k%03d", i), "")
	}
	var pages []int
	var all []string
	id := ""
	for {
		keys, next, err := s.List(id)
		noErr(t, err)
		if id != "" && next != id || next == "" {
			t.Fatalf("session %q after %q", next, id)
		}
		id = next
		pages, all = append(pages, len(keys)), append(all, keys...)
		if len(keys) == 0 {
			break
		}
	}
	if fmt.Sprint(pages) != "[100 100 50 0]" || all[0] != "k000" || all[249] != "k249" {
		t.Errorf("pages of %v keys", pages)
	}
	_, _, err := s.List(id)
	wantErr(t, err, ErrSession)
	if keys := s.Keys("k01"); len(keys) != 10 || keys[9] != "k019" {
		t.Errorf("keys with k01: %v", keys)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	d, c := newMemDisk(), clock.NewFake(epoch)
	s := openMem(t, d, Config{Clock: c})
	put(t, s, "k", "text")
	up, err := s.BeginCreate("new", Meta{}, Self())
	noErr(t, err)
	late, err := s.BeginUpdate("k", Self())
	noErr(t, err)
	down, err := s.BeginDownload("k", Self())
	noErr(t, err)
	c.Advance(400 * time.Second)
	noErr(t, s.UploadChunk(late, []byte("kept alive")))
	c.Advance(200 * time.Second)
	// Also without a sweep they are over.
	wantErr(t, s.UploadChunk(up, nil), ErrSession)
	noErr(t, s.Sweep(c.Now()))
	_, err = s.DownloadChunk(down.Session)
	wantErr(t, err, ErrSession)
	if n := d.openFiles(); n != 1 {
		t.Errorf("%d files are open, want 1", n)
	}
	_, err = s.FinishUpload(late)
	noErr(t, err)
	wantGet(t, s, "k", "kept alive")
	wantTidy(t, d, s)
}

func TestSessionLimit(t *testing.T) {
	c := clock.NewFake(epoch)
	s := openMem(t, newMemDisk(), Config{Clock: c, MaxSessions: 2})
	put(t, s, "k", "x")
	for range 2 {
		_, err := s.BeginDownload("k", Self())
		noErr(t, err)
	}
	_, err := s.BeginCreate("new", Meta{}, Self())
	wantErr(t, err, ErrTooMany)
	if !strings.Contains(fmt.Sprint(err), "limit (MaxSessions) is 2") {
		t.Errorf("%v", err)
	}
	_, _, err = s.List("")
	wantErr(t, err, ErrTooMany)
	c.Advance(600 * time.Second) // those that are idle make room
	_, err = s.BeginCreate("new", Meta{}, Self())
	noErr(t, err)
	_, err = s.BeginDownload("none", Self())
	wantErr(t, err, ErrKeyNotFound) // and gives its place back
	_, err = s.BeginDownload("k", Self())
	noErr(t, err)
}

func TestOneCreatorWins(t *testing.T) {
	s := openReal(t, Config{})
	const n = 8
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	var ids [n]string
	for i := range ids {
		var err error
		ids[i], err = s.BeginCreate("k", Meta{}, Self())
		noErr(t, err)
	}
	for i, id := range ids {
		wg.Go(func() {
			err := s.UploadChunk(id, fmt.Appendf(nil, "of %d", i))
			if err == nil {
				_, err = s.FinishUpload(id)
			}
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, ErrKeyExists):
				lost.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 || lost.Load() != n-1 {
		t.Errorf("%d won, %d lost", won.Load(), lost.Load())
	}
	_, err := s.BeginCreate("k", Meta{}, Self())
	wantErr(t, err, ErrKeyExists)
}

// Readers see whole versions while writers change and delete.
func TestConcurrentUse(t *testing.T) {
	s := openReal(t, Config{ChunkSize: 1000})
	var wg sync.WaitGroup
	for w := range 3 {
		wg.Go(func() {
			for i := range 15 {
				text := strings.Repeat(string(rune('a'+w)), 3000+i)
				if _, err := s.Put(context.Background(), "k", Meta{}, strings.NewReader(text)); err != nil {
					t.Error(err)
				}
				if i%5 == 4 {
					if err := s.Delete("k", Self()); err != nil && !errors.Is(err, ErrKeyNotFound) {
						t.Error(err)
					}
				}
				_ = s.Sweep(time.Now())
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			for range 30 {
				text, d, err := download(s, "k", Self())
				if errors.Is(err, ErrKeyNotFound) {
					runtime.Gosched()
					continue
				}
				if err != nil || int64(len(text)) != d.Size || strings.Trim(text, text[:1]) != "" {
					t.Errorf("%d bytes of %d: %v", len(text), d.Size, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestDamageIsFound(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"changed": func(path string) error { return os.WriteFile(path, []byte("Xext"), 0o600) },
		"cut off": func(path string) error { return os.Truncate(path, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			s := openReal(t, Config{})
			v := put(t, s, "k", "text")
			e, err := s.find("k")
			noErr(t, err)
			noErr(t, damage(filepath.Join(s.blobs, e.dataName())))
			text, _, err := download(s, "k", Self())
			wantErr(t, err, ErrDamaged)
			if text != "" || !strings.Contains(fmt.Sprint(err), fmt.Sprintf(`blob "k", version %d:`, v)) {
				t.Errorf("%q, %v", text, err)
			}
			_, _, err = s.Get(context.Background(), "k")
			wantErr(t, err, ErrDamaged)
			// Any version makes it whole again.
			noErr(t, s.Import(context.Background(), "k", v, Meta{}, strings.NewReader("text")))
			wantGet(t, s, "k", "text")
			err = s.Import(context.Background(), "k", v, Meta{}, strings.NewReader("other"))
			wantErr(t, err, ErrStale)
		})
	}
}

func TestDamageAtOpen(t *testing.T) {
	dir := t.TempDir()
	s := openReal(t, Config{Dir: dir})
	for _, key := range []string{"good", "lost", "bad"} {
		put(t, s, key, key)
	}
	lost, err := s.find("lost")
	noErr(t, err)
	bad, err := s.find("bad")
	noErr(t, err)
	noErr(t, s.Close())
	noErr(t, os.Remove(filepath.Join(s.blobs, lost.dataName())))
	noErr(t, os.WriteFile(filepath.Join(s.blobs, bad.metaName()), []byte("{}"), 0o600))
	noErr(t, os.WriteFile(filepath.Join(s.blobs, "note.txt"), nil, 0o600))

	for range 2 { // twice: what was set aside stays so
		s = openReal(t, Config{Dir: dir})
		wantGet(t, s, "good", "good")
		_, err = s.BeginDownload("lost", Self())
		wantErr(t, err, ErrDamaged)
		_, err = s.BeginDownload("bad", Self())
		wantErr(t, err, ErrKeyNotFound)
		for _, name := range []string{bad.metaName() + damagedEnding, bad.dataName(), "note.txt"} {
			if _, err := os.Stat(filepath.Join(s.blobs, name)); err != nil {
				t.Error(err)
			}
		}
		noErr(t, s.Close())
	}
}

func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	s := openReal(t, Config{Dir: dir})
	_, err := Open(Config{Dir: dir})
	wantErr(t, err, ErrInUse)
	noErr(t, s.Close())
	noErr(t, s.Close())
	openReal(t, Config{Dir: dir})
	_, err = s.Put(context.Background(), "k", Meta{}, strings.NewReader(""))
	wantErr(t, err, ErrClosed)
	_, err = s.BeginCreate("k", Meta{}, Self())
	wantErr(t, err, ErrClosed)
	_, err = s.BeginFileUpload()
	wantErr(t, err, ErrClosed)
}

func TestPutStopsWithItsContext(t *testing.T) {
	d := newMemDisk()
	s := openMem(t, d, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Put(ctx, "k", Meta{}, readerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil // without an end
	}))
	wantErr(t, err, context.Canceled)
	wantTidy(t, d, s)
	_, err = s.Put(t.Context(), "k", Meta{}, io.MultiReader(strings.NewReader("x"), readerFunc(func([]byte) (int, error) { return 0, errBroken })))
	wantErr(t, err, errBroken)
	wantTidy(t, d, s)
}

// An older version in place of a damaged one does not bring versions back,
// not even after a restart with a clock that was set back.
func TestVersionsAfterARepair(t *testing.T) {
	d, c := newMemDisk(), clock.NewFake(epoch)
	s := openMem(t, d, Config{Clock: c})
	v := put(t, s, "k", "text")
	e, err := s.find("k")
	noErr(t, err)
	s.setDamaged(e.record)
	noErr(t, s.Import(t.Context(), "k", v-10, Meta{}, strings.NewReader("older")))
	noErr(t, s.Close())
	s = openMem(t, d, Config{Clock: clock.NewFake(epoch.Add(-time.Hour))})
	if got := put(t, s, "k", "new"); got != v+1 {
		t.Errorf("version %d after %d", got, v)
	}
	wantTidy(t, d, s)
}

// zeros gives n zeros.
func zeros(n int64) io.Reader {
	return io.LimitReader(readerFunc(func(p []byte) (int, error) { return len(p), nil }), n)
}

// A blob of any size takes the same memory.
func TestConstantMemory(t *testing.T) {
	s := openReal(t, Config{})
	const size = 32 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.Put(t.Context(), "k", Meta{}, zeros(size))
	noErr(t, err)
	r, _, err := s.Get(t.Context(), "k")
	noErr(t, err)
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, r, make([]byte, 65536))
	noErr(t, err)
	noErr(t, r.Close())
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; n != size || got > 2<<20 {
		t.Errorf("%d bytes allocated for %d", got, n)
	}
}

func BenchmarkUpload(b *testing.B) {
	for _, size := range []int{64 << 10, 300 << 10} {
		b.Run(fmt.Sprintf("chunk=%dK", size>>10), func(b *testing.B) {
			s := openReal(b, Config{})
			chunk := make([]byte, size)
			const total = 64 << 20
			b.SetBytes(total)
			b.ReportAllocs()
			for b.Loop() {
				id, err := s.BeginCreate("k", Meta{}, Self())
				noErr(b, err)
				for sent := 0; sent < total; sent += size {
					noErr(b, s.UploadChunk(id, chunk[:min(size, total-sent)]))
				}
				_, err = s.FinishUpload(id)
				noErr(b, err)
				noErr(b, s.Delete("k", Self()))
			}
		})
	}
}

func BenchmarkDownload(b *testing.B) {
	s := openReal(b, Config{})
	const total = 64 << 20
	_, err := s.Put(b.Context(), "k", Meta{}, zeros(total))
	noErr(b, err)
	b.SetBytes(total)
	for b.Loop() {
		d, err := s.BeginDownload("k", Self())
		noErr(b, err)
		for {
			chunk, err := s.DownloadChunk(d.Session)
			noErr(b, err)
			if len(chunk) == 0 {
				break
			}
		}
	}
}

func BenchmarkPutSmall(b *testing.B) {
	s := openReal(b, Config{})
	for b.Loop() {
		put(b, s, "k", "small")
	}
}
