// Package overview makes one picture of what many nodes say: of the ring, of the
// state of a topology's tasks, and of recoveries that have not been needed yet. It
// is pure: package inquiry asks the nodes, the command line and the UI show what
// comes out, as text (the methods Text) or as JSON.
//
// Start at MakeRing (ring.go). Then MakeTopology (topology.go), MakePlans (plan.go)
// and Lookup (lookup.go). Each picture has its text beside it in a file of its own.
//
// What nodes say may contradict: they were asked one after another, some are
// behind, some are away. The rules are one for each kind of fact:
//
//   - of a node's status the most voices count, and of as many the worse one, unless
//     the node answers and one says that it is alive;
//   - a version that somebody knows of exists;
//   - of several reports of one task the newest counts, and what older ones say of
//     recoveries is its history;
//   - what a node has, only it can say; what a manifest names is a hint.
//
// Positions on the ring and hashes are text of 16 hexadecimal digits in JSON, since
// many readers of JSON have no integers of 64 bits. Times are milliseconds.
package overview
