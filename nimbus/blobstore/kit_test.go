package blobstore

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// tester is what *testing.T and *rapid.T share.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

const memDir0 = "/nimbus"

// openMem opens a store on a disk in memory.
func openMem(t tester, d *memDisk, cfg Config) *Store {
	t.Helper()
	if cfg.Clock == nil {
		cfg.Clock = clock.NewFake(epoch)
	}
	s, err := openOn(d, memDir0, cfg)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return s
}

// openReal opens a store on the computer's disk.
func openReal(tb testing.TB, cfg Config) *Store {
	tb.Helper()
	if cfg.Dir == "" {
		cfg.Dir = tb.TempDir()
	}
	s, err := Open(cfg)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

func put(t tester, s *Store, key, content string) int64 {
	t.Helper()
	v, err := s.Put(context.Background(), key, Meta{}, strings.NewReader(content))
	if err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
	return v
}

func get(t tester, s *Store, key string) (string, ReadableMeta) {
	t.Helper()
	r, meta, err := s.Get(context.Background(), key)
	if err != nil {
		t.Fatalf("get %q: %v", key, err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read %q: %v", key, err)
	}
	return string(text), meta
}

func wantGet(t tester, s *Store, key, want string) {
	t.Helper()
	if got, _ := get(t, s, key); got != want {
		t.Errorf("blob %q is %.60q, want %.60q", key, got, want)
	}
}

func wantErr(t tester, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func noErr(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// download is all of a blob by a session.
func download(s *Store, key string, who Subject) (string, Download, error) {
	d, err := s.BeginDownload(key, who)
	if err != nil {
		return "", d, err
	}
	var all bytes.Buffer
	for {
		chunk, err := s.DownloadChunk(d.Session)
		if err != nil {
			return all.String(), d, err
		}
		if len(chunk) == 0 {
			return all.String(), d, nil
		}
		all.Write(chunk)
	}
}
