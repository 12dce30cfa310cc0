package localizer

import (
	"context"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/clock"
)

// large is a nimbus with a jar of that many bytes, and code and conf.
type large int64

func (n large) Meta(context.Context, string) (int64, error) { return 1, nil }

func (n large) Fetch(_ context.Context, key string, w io.Writer) (int64, int64, error) {
	size := int64(1)
	if strings.HasSuffix(key, jarFile) {
		size = int64(n)
	}
	chunk := make([]byte, 64<<10)
	for left := size; left > 0; left -= int64(len(chunk)) {
		if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
			return 0, 0, err
		}
	}
	return 1, size, nil
}

func TestMemoryDoesNotGrowWithTheJar(t *testing.T) {
	const jar = 64 << 20
	dir := t.TempDir()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 2 { // the second reads it all again
		l, err := Open(Config{
			Dir: dir, Source: large(jar), Logger: slog.New(slog.DiscardHandler), Clock: clock.Real{},
			Needs: func(string) (Needs, error) { return Needs{}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Localise(t.Context(), topo, false); err != nil {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > jar/16 {
		t.Fatalf("%d bytes of memory were taken for %d of jar", used, jar)
	}
}
