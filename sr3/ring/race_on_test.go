//go:build race

package ring

const (
	// fewSeeds is how many worlds of each kind are run by default.
	fewSeeds = 1
	// largest is the largest ring.
	largest = 256
)
