package transport

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// benchTuples are n tuples of (word, int64, 12-byte string) with one anchor
// each: Zipf words out of 5000, ids out of ids.
func benchTuples(n, ids int) []storm.Tuple {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.2, 1, 4999)
	o := testStreams().Origin(1, 0)
	ts := make([]storm.Tuple, n)
	for i := range ts {
		ts[i] = storm.NewTuple(o, 7, []track.Anchor{{Root: track.MakeRoot(3, uint64(i+1)), Edge: r.Uint64()}},
			storm.String(fmt.Sprint("word", zipf.Uint64())), storm.Int(int64(r.Uint32())), storm.String(fmt.Sprintf("id-%09d", r.IntN(ids))))
	}
	return ts
}

func BenchmarkEncode(b *testing.B) {
	ts := benchTuples(100, 100)
	e := encoder{limit: 1 << 30}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf, _, _ = e.appendTuples(buf[:0], 7, ts, 1<<30)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ts)), "ns/tuple")
	b.ReportMetric(float64(len(buf))/float64(len(ts)), "B/tuple")
}

func BenchmarkDecode(b *testing.B) {
	for _, ids := range []int{100, 1 << 30} {
		name := "repetitive"
		if ids > 100 {
			name = "unique"
		}
		b.Run(name, func(b *testing.B) {
			// Far more tuples than fit into the cache of words, when unique.
			const batches, size = 1000, 100
			ts := benchTuples(batches*size, ids)
			e := encoder{limit: 1 << 30}
			var frames [][]byte
			for i := range batches {
				buf, _, _ := e.appendTuples(nil, 7, ts[i*size:][:size], 1<<30)
				frames = append(frames, buf)
			}
			d := decoder{origins: testStreams()}
			out := make([]storm.Tuple, size)
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				clear(out)
				r := reader{b: frames[i%batches]}
				r.byte()
				ex, _ := r.tuplesHead()
				d.tuples(&r, ex, out)
				if r.err != nil {
					b.Fatal(r.err)
				}
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/tuple")
		})
	}
}

func BenchmarkAckerCodec(b *testing.B) {
	msgs := make([]acker.Message, 100)
	for i := range msgs {
		msgs[i] = acker.Message{Root: track.MakeRoot(3, uint64(i+1)), Val: rand.Uint64()}
	}
	var buf []byte
	batch := new(AckerBatch)
	b.ReportAllocs()
	for b.Loop() {
		buf = appendAcker(buf[:0], 5, msgs, nil, nil)
		r := reader{b: buf[1:]}
		_, m, f, n := r.ackerHead()
		r.acker(batch, m, f, n)
		batch.clear()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(msgs)), "ns/msg")
}

// BenchmarkLink sends tuples over loopback TCP, both ends in this process.
func BenchmarkLink(b *testing.B) {
	for _, size := range []int{1, 10, 100, 1000} {
		for _, s2 := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/s2=%v", size, s2), func(b *testing.B) {
				benchLink(b, size, s2)
			})
		}
	}
}

// BenchmarkLatency sends one tuple and waits until it has come.
func BenchmarkLatency(b *testing.B) {
	came := make(chan struct{})
	p, _ := testPair(b, DefaultConfig("t", "b"), &inbox{onTuples: func(_ WorkerID, _ ExecutorID, batch *Batch) {
		batch.Release()
		came <- struct{}{}
	}})
	ts := benchTuples(1, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.SendTuples(b.Context(), 7, ts); err != nil {
			b.Fatal(err)
		}
		<-came
	}
}

func benchLink(b *testing.B, size int, s2 bool) {
	cfg := DefaultConfig("t", "b")
	cfg.Compress = s2
	var got atomic.Int64
	var want atomic.Int64
	want.Store(-1)
	done := make(chan struct{}, 1)
	recv := &inbox{onTuples: func(_ WorkerID, _ ExecutorID, batch *Batch) {
		n := got.Add(int64(len(batch.Tuples)))
		batch.Release()
		if n == want.Load() {
			done <- struct{}{}
		}
	}}
	p, _ := testPair(b, cfg, recv)
	const lots = 100
	ts := benchTuples(lots*size, 100)
	if err := p.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	sent := 0
	b.ReportAllocs()
	for b.Loop() {
		at := sent % len(ts)
		if _, err := p.SendTuples(b.Context(), 7, ts[at:][:size]); err != nil {
			b.Fatal(err)
		}
		sent += size
	}
	want.Store(int64(sent))
	if got.Load() != int64(sent) {
		<-done
	}
	b.ReportMetric(float64(sent)/b.Elapsed().Seconds()/1e6, "Mtuples/s")
	b.ReportMetric(float64(p.Stats().Bytes)/float64(sent), "B/tuple")
}
