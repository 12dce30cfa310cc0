//go:build race

package acker

// raceEnabled shortens what the race detector makes slow.
const raceEnabled = true
