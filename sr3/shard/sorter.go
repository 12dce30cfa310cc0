package shard

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// place is where an entry lies in a log.
type place struct {
	hash uint64
	off  uint32
}

// sorter brings a piece of a log into the order of objects. It keeps its
// memory from one use to the next.
type sorter struct {
	found, sorted, merged []place
	counts                []uint32
	taken                 int // entries that a rebuild has taken over
}

// latest gives, for each key of the range in log[from:to], the place of its
// last entry, ordered by hash, then key. Up to sorted they are in that order already,
// each key once. The result is valid until the next call.
func (z *sorter) latest(log []byte, from, sorted, to int, r Range) []place {
	z.found = z.found[:0]
	for off := sorted; off < to; off += sizeAt(log, off) {
		if hash := hashAt(log, off); r.Has(hash) {
			z.found = append(z.found, place{hash, uint32(off)})
		}
	}
	z.sort(r)
	newer := lastOfEach(log, z.sorted)
	if sorted == from {
		return newer
	}
	return z.merge(log, from, sorted, r, newer)
}

// merge puts newer entries among the sorted ones of log[from:to], or in their place.
func (z *sorter) merge(log []byte, from, to int, r Range, newer []place) []place {
	z.merged = z.merged[:0]
	for off := from; off < to; off += sizeAt(log, off) {
		hash := hashAt(log, off)
		if !r.Has(hash) {
			continue
		}
		n := 0
		for n < len(newer) && newer[n].hash < hash {
			n++
		}
		z.merged, newer = append(z.merged, newer[:n]...), newer[n:]
		if len(newer) > 0 && newer[0].hash == hash {
			n, same := amongEqual(log, newer, keyAt(log, off))
			z.merged, newer = append(z.merged, newer[:n]...), newer[n:]
			if same {
				continue // it comes before the next sorted entry
			}
		}
		z.merged = append(z.merged, place{hash, uint32(off)})
	}
	z.merged = append(z.merged, newer...)
	return z.merged
}

// amongEqual is how many of newer, which begins with entries of one hash, come before
// the key, and whether the one after them is of the key.
func amongEqual(log []byte, newer []place, key []byte) (n int, same bool) {
	for ; n < len(newer) && newer[n].hash == newer[0].hash; n++ {
		if c := bytes.Compare(keyAt(log, int(newer[n].off)), key); c >= 0 {
			return n, c == 0
		}
	}
	return n, false
}

// sort spreads what was found over buckets by the bits of the hash, which are
// even, and sorts each bucket. Equal hashes stay in order of their places.
func (z *sorter) sort(r Range) {
	n := len(z.found)
	z.sorted = slices.Grow(z.sorted[:0], n)[:n]
	width := max(1, bits.Len(uint(n)))
	shared, shift := r.bits(), 64-width
	bucket := func(hash uint64) uint64 { return hash << shared >> shift }
	z.counts = slices.Grow(z.counts[:0], 1<<width+1)[:1<<width+1]
	clear(z.counts)
	for i := range z.found {
		z.counts[bucket(z.found[i].hash)+1]++
	}
	for i := 1; i < len(z.counts); i++ {
		z.counts[i] += z.counts[i-1]
	}
	for i := range z.found {
		b := bucket(z.found[i].hash)
		z.sorted[z.counts[b]] = z.found[i]
		z.counts[b]++
	}
	// Each count is now the end of its bucket.
	start := uint32(0)
	for _, end := range z.counts[:1<<width] {
		if end-start > 1 {
			sortBucket(z.sorted[start:end])
		}
		start = end
	}
}

func sortBucket(list []place) {
	if len(list) > 12 {
		slices.SortFunc(list, func(a, b place) int {
			return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.off, b.off))
		})
		return
	}
	for i := 1; i < len(list); i++ {
		for j := i; j > 0 && list[j-1].hash > list[j].hash; j-- {
			list[j-1], list[j] = list[j], list[j-1]
		}
	}
}

// lastOfEach drops, in place, all entries of a key but the last. Different keys
// with one hash, which are rare, get into the order of keys.
func lastOfEach(log []byte, list []place) []place {
	kept := list[:0]
	for start := 0; start < len(list); {
		end := start + 1
		for end < len(list) && list[end].hash == list[start].hash {
			end++
		}
		run := list[start:end]
		if len(run) > 1 {
			slices.SortStableFunc(run, func(a, b place) int {
				return bytes.Compare(keyAt(log, int(a.off)), keyAt(log, int(b.off)))
			})
		}
		for i, p := range run {
			if i+1 < len(run) && bytes.Equal(keyAt(log, int(p.off)), keyAt(log, int(run[i+1].off))) {
				continue
			}
			kept = append(kept, p)
		}
		start = end
	}
	return kept
}
