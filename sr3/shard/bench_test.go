package shard

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// The state that design and limits speak of: 1 M keys of 16 bytes with values
// of 100, in random order. Half of a value is random, so that compression has
// what it has in practice.
const benchKeys = 1 << 20

func benchKey(key []byte, i uint64) []byte {
	key = binary.BigEndian.AppendUint64(key[:0], i*0x9e3779b97f4a7c15)
	return binary.BigEndian.AppendUint64(key, i)
}

func benchValue() []byte {
	v := make([]byte, 100)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		v[i] = byte(rng.Uint32())
	}
	return v
}

func filled(b *testing.B, n int) *Table {
	b.Helper()
	t := NewTable(Options{Owner: testOwner})
	key, value := make([]byte, 0, 16), benchValue()
	rng := rand.NewPCG(5, 6)
	for i := range n {
		for at := 0; at < 48; at += 8 {
			binary.LittleEndian.PutUint64(value[at:], rng.Uint64())
		}
		if err := t.Put(benchKey(key, uint64(i)), value); err != nil {
			b.Fatal(err)
		}
	}
	return t
}

func BenchmarkFill(b *testing.B) {
	value := benchValue()
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			filled(b, benchKeys)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/put")
	})
	b.Run("map", func(b *testing.B) {
		key := make([]byte, 0, 16)
		for b.Loop() {
			m := make(map[string][]byte)
			for i := range benchKeys {
				m[string(benchKey(key, uint64(i)))] = append([]byte(nil), value...)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/put")
	})
}

// Puts of random keys. With dirty tracking there is a commit for as many puts
// as a second has at 1 M/s; encoding is another goroutine's work and measured
// apart.
func BenchmarkPut(b *testing.B) {
	value, key := benchValue(), make([]byte, 0, 16)
	rng := rand.New(rand.NewPCG(3, 4))
	b.Run("table", func(b *testing.B) {
		t := filled(b, benchKeys)
		checkpointBare(b, t)
		b.ReportAllocs()
		var worst time.Duration
		for i := 0; b.Loop(); i++ {
			if i%1_000_000 == 0 {
				checkpointBare(b, t)
			}
			start := time.Now()
			if err := t.Put(benchKey(key, rng.Uint64N(benchKeys)), value); err != nil {
				b.Fatal(err)
			}
			worst = max(worst, time.Since(start))
		}
		b.ReportMetric(float64(worst.Microseconds()), "worst-µs")
		b.ReportMetric(float64(t.Memory())/float64(t.Bytes()), "memory/live")
	})
	b.Run("table of 8-byte values", func(b *testing.B) {
		t := NewTable(Options{Owner: testOwner})
		for i := 0; b.Loop(); i++ {
			if i%1_000_000 == 0 {
				checkpointBare(b, t)
			}
			if err := t.Put(benchKey(key, rng.Uint64N(benchKeys)), value[:8]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		m := make(map[string][]byte)
		for i := range benchKeys {
			m[string(benchKey(key, uint64(i)))] = append([]byte(nil), value...)
		}
		b.ReportAllocs()
		for b.Loop() {
			time.Now() // as above
			copy(m[string(benchKey(key, rng.Uint64N(benchKeys)))], value)
			time.Now()
		}
	})
	b.Run("map with a map of what is dirty", func(b *testing.B) {
		m, dirty := make(map[string][]byte), make(map[string]struct{})
		for i := range benchKeys {
			m[string(benchKey(key, uint64(i)))] = append([]byte(nil), value...)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if i%1_000_000 == 0 {
				clear(dirty)
			}
			time.Now()
			k := benchKey(key, rng.Uint64N(benchKeys))
			copy(m[string(k)], value)
			dirty[string(k)] = struct{}{}
			time.Now()
		}
	})
}

func checkpointBare(b *testing.B, t *Table) {
	b.Helper()
	f := t.Freeze()
	f.Release()
	if err := t.Commit(f); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkGet(b *testing.B) {
	key := make([]byte, 0, 16)
	rng := rand.New(rand.NewPCG(3, 4))
	b.Run("table", func(b *testing.B) {
		t := filled(b, benchKeys)
		for b.Loop() {
			if v, ok := t.Get(benchKey(key, rng.Uint64N(benchKeys))); !ok || len(v) != 100 {
				b.Fatal("not there")
			}
		}
	})
	b.Run("map", func(b *testing.B) {
		m, value := make(map[string][]byte), benchValue()
		for i := range benchKeys {
			m[string(benchKey(key, uint64(i)))] = append([]byte(nil), value...)
		}
		for b.Loop() {
			if v, ok := m[string(benchKey(key, rng.Uint64N(benchKeys)))]; !ok || len(v) != 100 {
				b.Fatal("not there")
			}
		}
	})
}

func BenchmarkFreeze(b *testing.B) {
	t := filled(b, benchKeys)
	b.ReportAllocs()
	for b.Loop() {
		checkpointBare(b, t)
	}
	b.ReportMetric(float64(len(t.shards)), "shards")
}

func BenchmarkObjects(b *testing.B) {
	for _, level := range []int{0, 1, 3} {
		c := testCodec(b, level)
		t := filled(b, benchKeys)
		checkpoint(b, t, c, 1, false)
		run := func(name string, full bool) {
			b.Run(fmt.Sprintf("%s, zstd %d", name, level), func(b *testing.B) {
				f := t.Freeze()
				defer f.Release()
				var size, stored int64
				for b.Loop() {
					size, stored = 0, 0
					err := f.Objects(c, 2, 1, full, func(r Ref, _ []byte) error {
						size, stored = size+r.Size, stored+r.Stored
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size/132), "ns/entry")
				b.ReportMetric(float64(stored)/float64(size), "stored/size")
			})
		}
		run("bases", true)
		key, value := make([]byte, 0, 16), benchValue()
		for i := range uint64(benchKeys / 5) {
			if err := t.Put(benchKey(key, i*5), value); err != nil {
				b.Fatal(err)
			}
		}
		run("deltas", false)
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, level := range []int{0, 1} {
		c := testCodec(b, level)
		t := filled(b, benchKeys)
		bases := checkpoint(b, t, c, 1, true)
		ranges := t.Ranges()
		for _, verify := range []bool{false, true} {
			b.Run(fmt.Sprintf("zstd %d, verify %v", level, verify), func(b *testing.B) {
				for b.Loop() {
					n := NewTable(Options{Owner: testOwner})
					if err := n.Expect(ranges...); err != nil {
						b.Fatal(err)
					}
					for i, stored := range bases.bytes {
						if verify {
							if err := Verify(bases.refs[i], stored); err != nil {
								b.Fatal(err)
							}
						}
						o, err := c.Open(stored)
						if err != nil {
							b.Fatal(err)
						}
						if err := n.Load(o); err != nil {
							b.Fatal(err)
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/entry")
			})
		}
	}
}

func BenchmarkFold(b *testing.B) {
	c := testCodec(b, 0)
	t := filled(b, 1<<15)
	chain := []*Object{open(b, c, checkpoint(b, t, c, 1, true).bytes[0])}
	key, value := make([]byte, 0, 16), benchValue()
	for v := range uint64(4) {
		for i := range uint64(4000) {
			if err := t.Put(benchKey(key, i*8+v), value); err != nil {
				b.Fatal(err)
			}
		}
		chain = append(chain, open(b, c, checkpoint(b, t, c, Version(v)+2, false).bytes[0]))
	}
	for b.Loop() {
		if _, err := c.Fold(chain); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(1<<15+16000), "ns/entry")
}

// A rebuild is the longest pause of a put.
func BenchmarkRebuild(b *testing.B) {
	t := filled(b, benchKeys)
	for b.Loop() {
		t.rebuild(t.cells[0].rng, t.cells[0])
	}
	b.ReportMetric(float64(t.cells[0].live)/1024, "KiB")
}

func BenchmarkRollback(b *testing.B) {
	t := filled(b, benchKeys)
	checkpointBare(b, t)
	key, value := make([]byte, 0, 16), benchValue()
	for b.Loop() {
		b.StopTimer()
		for i := range uint64(2000) { // some in each shard
			if err := t.Put(benchKey(key, i), value); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		t.Rollback()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/entry")
}

func BenchmarkAll(b *testing.B) {
	t := filled(b, benchKeys)
	for b.Loop() {
		n := 0
		for range t.All(nil) {
			n++
		}
		if n != benchKeys {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchKeys, "ns/entry")
}
