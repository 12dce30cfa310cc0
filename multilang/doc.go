// Package multilang runs spouts and bolts that are written in other languages:
// each task has a child process that speaks Storm's shell protocol on its
// standard input and output.
//
// Begin at Spec, from which NewBolt and NewSpout make components that a
// topology holds like any other. Below them, shell (shell.go) owns the life of
// the process: it starts it, shakes hands, watches whether it answers, kills it
// with all its descendants and starts it anew. child (child.go) is one such
// process with three goroutines, one for each pipe, so that none can ever hold
// up another. Everything that a child says arrives on the task's own goroutine,
// where ShellBolt and ShellSpout act on it. StatefulShellBolt (boltstate.go) is a
// ShellBolt that takes part in checkpoints.
//
// Nothing waits for ever. The pipes are always drained; answers to a child have
// a lane of their own past the tuples; and a child that does not answer within
// topology.subprocess.timeout.secs is killed, its tuples fail at once, and it is
// started again within the same worker.
package multilang
