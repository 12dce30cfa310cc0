package client

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/node"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// grow fills the state with about size bytes: keys of 16 bytes, values of 100, of
// which half is random, as in the benchmarks of package shard.
func (w *worker) grow(size int) {
	w.t.Helper()
	key, value := make([]byte, 16), make([]byte, 100)
	rng := rand.NewPCG(5, 6)
	for i := range size / 132 {
		binary.BigEndian.PutUint64(key, uint64(i)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(key[8:], uint64(i))
		for at := 0; at < 48; at += 8 {
			binary.LittleEndian.PutUint64(value[at:], rng.Uint64())
		}
		if err := w.Put(key, value); err != nil {
			w.t.Fatal(err)
		}
	}
}

func bigRig(b *testing.B, size int) (*rig, *worker) {
	b.Helper()
	r := newRig(b, 0)
	for i := range 8 {
		// With the times of tests, nodes that do not get a processor count as dead.
		r.start(fmt.Sprintf("n%d", i), func(c *node.Config) { c.Ring = ring.Default() })
	}
	r.settle()
	w := r.worker(r.client("n0"), func(o *TaskOptions) {
		o.ShardBytes = shard.DefaultTarget
		o.SaveTimeout, o.HolderTimeout = 5*time.Minute, time.Minute
		o.Params = recovery.Params{}
	})
	w.mustLoad(0)
	w.grow(size)
	began := time.Now()
	if err := w.save(1); err != nil {
		b.Fatal(err)
	}
	c := w.Report().Checkpoint
	b.Logf("saved %d MiB as %d MiB in %v, freeze %.3f ms", size>>20, c.Bytes>>20, time.Since(began), c.FreezeMS)
	w.commit(1)
	return r, w
}

// cpu is what this process, nodes included, has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRecovery is from Load to done, on a ring of 8 nodes in this process.
func BenchmarkRecovery(b *testing.B) {
	for _, size := range []int{1 << 20, 128 << 20, 1 << 30} {
		b.Run(fmt.Sprintf("%dMiB", size>>20), func(b *testing.B) {
			r, w := bigRig(b, size)
			for _, mode := range []recovery.Mode{recovery.Star, recovery.Line, recovery.Tree} {
				for _, onDemand := range []bool{false, true} {
					b.Run(fmt.Sprintf("%s,ondemand=%v", mode, onDemand), func(b *testing.B) {
						b.SetBytes(int64(size))
						for b.Loop() {
							b.StopTimer()
							c := r.client("n1")
							h := r.heir(w, c, func(o *TaskOptions) { o.Mode, o.OnDemand = mode, onDemand })
							if _, err := c.View(b.Context()); err != nil {
								b.Fatal(err)
							}
							before := cpu()
							b.StartTimer()
							h.mustLoad(1)
							if onDemand {
								h.Get([]byte("some key"))
							}
							b.StopTimer()
							if h.Len() == 0 {
								b.Fatal("nothing came back")
							}
							b.ReportMetric(float64((cpu() - before).Milliseconds()), "cpu-ms")
							e := h.Report().Recoveries[0]
							b.ReportMetric(e.FetchMS+e.RebuildMS, "ms/plan-to-installed")
							b.ReportMetric(e.FirstMS, "ms/first")
							c.Close()
							b.StartTimer()
						}
					})
				}
			}
		})
	}
}
