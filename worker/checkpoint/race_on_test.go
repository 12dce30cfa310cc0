//go:build race

package checkpoint

// raceEnabled shortens what the race detector makes slow.
const raceEnabled = true
