package acker

import (
	"math/bits"

	"github.com/stormring/stormring/internal/track"
)

// chunkBits is the width of a run of trees that go to the same acker task, so
// that their messages share batches.
const chunkBits = 6

// golden is 2^64 divided by the golden ratio. Its multiples spread evenly over
// the 64-bit numbers however many of them are taken in a row.
const golden = 0x9E3779B97F4A7C15

// Choose is the rank, from 0, of the acker task that follows a tree, out of
// ackers tasks (1 or more). Spout and bolts agree on it without talking: it
// depends on nothing else.
func Choose(root track.Root, ackers int) int {
	chunk := uint64(root&^InitFlag) >> chunkBits
	i, _ := bits.Mul64(chunk*golden, uint64(ackers))
	return int(i)
}
