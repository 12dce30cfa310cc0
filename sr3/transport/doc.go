// Package transport carries what ring nodes say to each other over TCP: small
// requests and ring messages, and shards by the gigabyte, side by side.
//
// Start at [Endpoint] (endpoint.go): it listens, dials, and keeps one
// multiplexed connection to every address that it calls. Who dials asks: calls,
// streams and messages go from the dialing to the accepting side, and on a
// stream both send. So a pair of nodes that talk both ways has two connections.
//
//	Call ─┐                       ┌─> Handler.Call    a goroutine each
//	Send ─┼─ control ─┐           ├─> Handler.Message one goroutine
//	Open ─┘           ├─ writer ══╪═> reader
//	Stream.Send─ bulk ┘    TCP    └─> Stream.Recv, or the buffer of RecvHead
//
// What it promises:
//
//   - Only who reads slowly waits: each stream has a window of its own, and the
//     reader of a connection never waits for anybody.
//   - Control goes before bulk: a call passes at most the one batch that is just
//     being written, and what the kernel holds (kept small where it can be).
//   - Whoever waits can be cancelled, and gets the buffers back that it lent: a
//     read or write that is under way is interrupted and goes on with a copy.
//   - Big messages are not copied on their way to the socket, and at most once
//     on their way from it.
//   - A peer that neither answers nor takes bytes for three pings is cut, and
//     all that waits for it fails with [ErrLost].
//   - Lengths from outside are checked before memory is taken; every queue has
//     a bound; what is dropped is counted ([Peer]).
//
// Reading order: frame.go and hello.go for the format, conn.go for what one
// connection owns, writer.go, reader.go and dispatch.go for its two goroutines,
// calls.go, stream.go and recv.go for what runs on it, peer.go for dialing and
// keeper.go for pings and idle connections; meter.go measures one connection, gauge.go
// all of them together ([Endpoint.Link]).
package transport
