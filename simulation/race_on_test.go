//go:build race

package simulation

// fewSeeds is how many there are of each kind by default: no more than a few
// where there is but one goroutine to race.
const fewSeeds = 8
