// Package recovery measures how state comes back: every mode of recovery, over
// links whose rates are set, beside what physics allows and beside one remote
// store.
//
// Start at Run (run.go). It makes a lab (lab.go): hosts that are network
// namespaces with shaped links (network.go), on each of which a ring node runs as
// a process of its own, and workers that save states and bring them back. The
// processes are this program again (child.go starts one, role.go is what runs in
// it, worker.go what a worker does); they are told what to do through a pipe. What
// is measured where says setups.go, how fill.go (states are saved), traffic.go (hosts
// get to know their links), run.go (one mode after the other), series.go (several
// failures) and loopback.go (no links); what came of it is in report.go, and goes to
// people through table.go and plot.go.
//
// Every state that comes back is compared with what was saved. A figure whose
// state was wrong does not exist: the run fails.
package recovery
