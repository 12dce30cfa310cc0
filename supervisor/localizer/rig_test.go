package localizer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const topo = "words-1-1700000000"

type stored struct {
	version int64
	data    []byte
}

// source is a nimbus that does as told.
type source struct {
	mu      sync.Mutex
	blobs   map[string]stored
	fetched map[string]int
	// before is called before a fetch; an error ends it after half of the bytes.
	before func(ctx context.Context, key string) error
	longer int64 // added to the size that is told
}

func newSource() *source {
	return &source{fetched: map[string]int{}, blobs: map[string]stored{
		topo + "-stormcode.ser": {1, []byte("code")},
		topo + "-stormconf.ser": {1, []byte("conf")},
	}}
}

func (s *source) put(key, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[key] = stored{s.blobs[key].version + 1, []byte(data)}
}

func (s *source) counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.fetched)
}

func (s *source) Meta(_ context.Context, key string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blobs[key]
	if !ok {
		return 0, ErrNoBlob
	}
	return b.version, nil
}

func (s *source) Fetch(ctx context.Context, key string, w io.Writer) (int64, int64, error) {
	s.mu.Lock()
	b, ok := s.blobs[key]
	before := s.before
	if ok {
		s.fetched[key]++
	}
	s.mu.Unlock()
	if !ok {
		return 0, 0, ErrNoBlob
	}
	if before != nil {
		if err := before(ctx, key); err != nil {
			_, werr := w.Write(b.data[:len(b.data)/2])
			return 0, 0, errors.Join(err, werr)
		}
	}
	_, err := w.Write(b.data)
	return b.version, int64(len(b.data)) + s.longer, err
}

// rig is a localizer with what it stands on.
type rig struct {
	*Localizer
	t     *testing.T
	src   *source
	clk   *clock.Fake
	dir   string
	needs Needs
	step  func(string) error
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, src: newSource(), dir: t.TempDir(), clk: clock.NewFake(time.Unix(1e9, 0))}
	r.open()
	return r
}

// open is what a new supervisor does.
func (r *rig) open() {
	r.t.Helper()
	l, err := open(Config{
		Dir: r.dir, Source: r.src, Clock: r.clk, Logger: slog.New(slog.DiscardHandler), Grace: time.Minute,
		Needs: func(dir string) (Needs, error) {
			_, err := os.Stat(filepath.Join(dir, codeFile))
			return r.needs, err
		},
	}, func(what string) error {
		if r.step != nil {
			return r.step(what)
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.Localizer = l
}

func (r *rig) localise(update bool) Local {
	r.t.Helper()
	local, err := r.Localise(r.t.Context(), topo, update)
	if err != nil {
		r.t.Fatal(err)
	}
	return local
}

func (r *rig) want(path, text string) {
	r.t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		r.t.Fatalf("%s is %q, %v; want %q", path, got, err, text)
	}
}

func (r *rig) gone(path string) {
	r.t.Helper()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		r.t.Fatalf("%s is still there: %v", path, err)
	}
}
