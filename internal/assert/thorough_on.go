//go:build invariants || race

package assert

// Thorough tells whether Costly checks run in this build.
const Thorough = true
