//go:build !race

package simulation

// fewSeeds is how many seeds there are of each kind by default.
const fewSeeds = 150
