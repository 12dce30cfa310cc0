// Package transport carries tuples, acker messages and outcomes between two
// workers of one topology over TCP.
//
// Each direction is a link of its own: the sending worker has a [Peer] for
// every remote worker and dials it; the remote's [Listener] accepts and hands
// what arrives to a [Receiver]. On the way back go only acknowledgements,
// credits and signs of life.
//
//	executor ──SendTuples──> Peer ──> outlog ──> link ═══TCP═══> session ──> Receiver
//	             waits for    │  keeps frames     │  ^              │  decodes
//	             credits      └──until acked──────┘  └──ack, grants─┘<── Batch.Release
//
// What it promises:
//
//   - While both processes live, everything arrives exactly once and, for one
//     destination executor or task, in the order it was sent: frames are
//     numbered, kept until acknowledged, and sent again on the next connection.
//   - Only the executor that sends to a slow executor waits: each destination
//     has credits of its own. The reader of a connection never waits for
//     anybody, since a sender sends no more than it has credits for.
//   - A tuple that cannot be encoded, or whose value the other end's codec
//     refuses, costs that tuple and no other.
//   - If the remote worker dies, what it had not acknowledged is dropped and
//     counted; the tuples time out and are replayed by their spout.
//
// Read peer.go and outlog.go for the sending side, listener.go and session.go
// for the receiving side, frame.go for the frames between them and encode.go
// and decode.go for what is inside.
package transport
