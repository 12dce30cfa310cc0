package store

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

func rss() string {
	b, _ := os.ReadFile("/proc/self/status")
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmHWM") || strings.HasPrefix(l, "RssAnon") {
			out = append(out, strings.Join(strings.Fields(l), " "))
		}
	}
	return strings.Join(out, " ")
}

func TestZZ(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	body := base(t, 0, 1, 4<<20)
	var refs []shard.Ref
	start := time.Now()
	for i := range 512 {
		it := body
		it.Ref.Epoch = shard.Epoch(i)
		ok(t, s.Put(t.Context(), it))
		refs = append(refs, it.Ref)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("2 GiB put in %v, heap %d MiB sys %d, %s", time.Since(start), m.HeapAlloc>>20, m.Sys>>20, rss())
	start = time.Now()
	for _, r := range refs {
		if _, err := s.Get(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("got in %v %s", time.Since(start), rss())
	start = time.Now()
	ok(t, s.Scrub(t.Context(), 0, nil))
	t.Logf("scrubbed in %v %s", time.Since(start), rss())
	ok(t, s.Close())
	start = time.Now()
	s = open(t, Options{Dir: dir})
	t.Logf("opened in %v %+v", time.Since(start), s.Usage())
	start = time.Now()
	ok(t, s.Delete(t.Context(), refs[:400]...))
	t.Logf("delete in %v %+v", time.Since(start), s.Usage())
	for s.Usage().DiskBytes > 800<<20 && time.Since(start) < 20*time.Second {
		ok(t, s.Put(t.Context(), base(t, 1, shard.Version(time.Since(start)), 1000)))
	}
	t.Logf("cleaned in %v %+v %s", time.Since(start), s.Usage(), rss())
	start = time.Now()
	small := make([]Item, 100)
	for i := range 300 {
		for j := range small {
			small[j] = base(t, j, shard.Version(100+i), 2000)
		}
		ok(t, s.Put(t.Context(), small...))
	}
	t.Logf("30000 small in %v", time.Since(start))
	ok(t, s.Close())
	start = time.Now()
	s = open(t, Options{Dir: dir})
	t.Logf("opened in %v %+v", time.Since(start), s.Usage())
	ok(t, s.Close())
}
