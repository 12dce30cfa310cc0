// Package compare measures stock Apache Storm and Stormring side by side, on one
// machine and over one ZooKeeper.
//
// Start at Run (run.go). It starts one system after the other (system.go: what they
// have in common; stock.go and ours.go: what they have not), submits the same
// topologies to both (shapes.go, submit.go) and measures each (measure.go, state.go).
// The topologies write journals, the same in Java (java/) and in Go
// (topologies/throughput), from which journal.go makes figures; what processes use is
// read from /proc (process.go). What came of it is in report.go, and goes to people
// through table.go, page.go and plot.go.
//
// Nothing of Storm is here: scripts/compare-storm fetches its jars and compiles java/.
package compare
