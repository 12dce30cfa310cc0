// Package node is a node of SR3's ring: it takes part in the ring, keeps the
// copies that the ring gives it, serves recoveries and repairs what got lost.
// A supervisor has one; several in one process know nothing of each other.
//
// Start at Start (node.go). What others ask is in handler.go; the rest is one
// file a job:
//
//   - circle.go: the goroutine that owns the ring's machine. What it believes is
//     published as a picture that everybody else reads;
//   - memory.go: whom it knows there, on disk for its next life;
//   - put.go, object.go: objects come in, and go to nodes that repair;
//   - fetch.go, own.go, relay.go, join.go, outlet.go: one stream of a recovery.
//     A leaf reads and sends; a relay also passes on what nodes behind it send,
//     chunk by chunk, and folds where neighbours of a chain meet;
//   - commits.go: what is committed, as far as heard;
//   - upkeep.go, mend.go: what package upkeep decides is done, again and again;
//   - talk.go: what this node asks others;
//   - status.go: the node's account of itself; rates.go: what it knows of its host's
//     link and processors, with what workers told.
//
// Decisions are those of pure packages: ring, upkeep, recovery. Durable things go
// through store, everything on the wire through transport and protocol.
package node
