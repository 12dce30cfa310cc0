package store

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

// cpu is the processor time of this process.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// perCPU reports bytes by processor time, which a busy machine changes little.
func perCPU(b *testing.B, size int, before time.Duration) {
	b.Helper()
	b.ReportMetric(float64(size)*float64(b.N)/1e6/(cpu()-before).Seconds(), "MB/cpu-s")
}

// What is measured: bytes of objects per second, on one store in a folder.
func BenchmarkGet(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 4 << 20, 64 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			s := open(b, Options{Dir: b.TempDir()})
			var refs []shard.Ref
			for i := range max(2, min(64, 256<<20/size)) {
				it := base(b, i, 1, size)
				ok(b, s.Put(b.Context(), it))
				refs = append(refs, it.Ref)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			before := cpu()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Get(b.Context(), refs[i%len(refs)]); err != nil {
					b.Fatal(err)
				}
			}
			perCPU(b, size, before)
		})
	}
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 1 << 20, 4 << 20} {
		for _, callers := range []int{1, 8} {
			b.Run(fmt.Sprintf("%dKiB/callers=%d", size>>10, callers), func(b *testing.B) {
				s := open(b, Options{Dir: b.TempDir()})
				b.SetBytes(int64(size))
				b.ReportAllocs()
				items := make([]Item, b.N)
				bodies := make([]Item, 16)
				for i := range bodies {
					bodies[i] = base(b, i, 1, size)
				}
				for i := range items {
					it := bodies[i%len(bodies)]
					it.Ref.Epoch = shard.Epoch(i) // other name, same bytes
					items[i] = it
				}
				var wg sync.WaitGroup
				before := cpu()
				b.ResetTimer()
				for c := range callers {
					wg.Go(func() {
						for i := c; i < len(items); i += callers {
							if err := s.Put(b.Context(), items[i]); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				perCPU(b, size, before)
			})
		}
	}
}
