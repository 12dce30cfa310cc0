// Package clienttests runs real, unmodified Storm clients against a running
// Stormring: the Java clients of Storm 2.8, 2.2 and 1.2 and streamparse. It
// asserts what they print and how they exit. All of it is tests; begin at
// README.md and commands_test.go.
//
// The clients come from their registries (scripts/clients). What in here is
// Java or Python is what a user writes: topologies and the programs that
// submit them.
package clienttests
