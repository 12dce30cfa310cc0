//go:build !race

package simulation

// ringSeeds is how many worlds of state on the ring there are by default.
const ringSeeds = 100
