//go:build race

package simulation

// ringSeeds is how many worlds of state on the ring there are by default: fewer,
// since each has but one goroutine.
const ringSeeds = 16
