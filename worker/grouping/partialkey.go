package grouping

import "github.com/stormring/stormring/storm"

// javaRandom is java.util.Random: 48 bits of linear congruential state.
type javaRandom uint64

const (
	lcgMultiplier = 0x5DEECE66D
	lcgIncrement  = 0xB
	lcgMask       = 1<<48 - 1
)

func newJavaRandom(seed int64) javaRandom {
	return javaRandom((uint64(seed) ^ lcgMultiplier) & lcgMask)
}

// next31 draws 31 bits.
func (r *javaRandom) next31() int32 {
	*r = (*r*lcgMultiplier + lcgIncrement) & lcgMask
	return int32(*r >> 17)
}

// nextInt draws from [0, bound); bound must be positive.
func (r *javaRandom) nextInt(bound int32) int32 {
	u := r.next31()
	if bound&(bound-1) == 0 {
		return int32(int64(bound) * int64(u) >> 31)
	}
	for {
		m := u % bound
		// The last, incomplete run of bound values would skew the result;
		// there the sum overflows.
		if u-m+(bound-1) >= 0 {
			return m
		}
		u = r.next31()
	}
}

// candidates are the two targets, of n, that may get the tuples of a key.
// They are different if n > 1.
func candidates(keyHash, n int32) (first, second int32) {
	r := newJavaRandom(int64(keyHash))
	first, second = r.nextInt(n), r.nextInt(n)
	if first == second {
		second = (second + 1) % n
	}
	return first, second
}

// partialKey gives the tuple to that of its key's two candidates which had
// fewer tuples from this emitter.
func (g *Grouping) partialKey(t *storm.Tuple) int {
	pick, second := candidates(g.keyHash(t), g.n)
	if g.sent[second] < g.sent[pick] {
		pick = second
	}
	g.sent[pick]++
	return int(pick)
}

// keyHash is Arrays.hashCode of the key's bytes: four for each grouping field,
// or the text of the first value if no fields were named.
func (g *Grouping) keyHash(t *storm.Tuple) int32 {
	h := uint32(1)
	if len(g.fields) == 0 {
		if t.Len() == 0 {
			return int32(h)
		}
		return int32(hashText(h, t.Value(0)))
	}
	for _, f := range g.fields {
		h = hashWord(h, Hash(t.Value(f)))
	}
	return int32(h)
}

// hashWord continues h over the bytes of w, highest first.
func hashWord(h uint32, w int32) uint32 {
	for shift := 24; shift >= 0; shift -= 8 {
		h = 31*h + signExtend(byte(w>>shift))
	}
	return h
}
