// Package recovery decides how the state of one owner comes back: who sends
// which shard to whom and in what order, what that will take, and what to do
// when a sender dies on the way. It is pure: no clock, no socket, no goroutine.
//
// Start at Make (plan.go), which turns an Input (input.go) into a Plan, and at
// Tracker (tracker.go), which executes a plan: events in, commands out.
//
// # Words
//
// A piece is what the manifest says of one shard: its chain of objects (base and
// deltas) and who holds each. A part is a run of neighbours of that chain which
// one node can send as one folded object; if some node holds the whole chain, the
// shard is one part. A chain that no single node holds whole is scattered: its
// parts come from several nodes and are folded where they meet. Only neighbours
// are ever folded, since a delta must not jump over one that nobody has seen.
//
// A flow is one connection of a plan: a node, what it reads from its own disk,
// the flows that it takes in, and what it sends on.
//
//   - star: every flow goes straight to the receiver (star.go);
//   - line: flows in a chain, each passes on what comes from behind (relay.go);
//   - tree: flows in a tree, inner nodes merge (relay.go);
//   - auto: the three are built and predicted (model.go; schedule.go where relays
//     join parts), the least is taken. Line and tree are taken only if a cause can be
//     named (choose.go): fewer bytes by merging, processor time of the receiver,
//     connections, or a shared path.
//
// # What a tracker promises
//
// Every shard is installed once, from bytes of one version. What has arrived stays,
// whoever failed; a part goes on at the byte where it stopped if the next sender
// has the same bytes (same sum and size), else from its beginning. A recovery never
// fails: a shard of which no living copy is known is named (Wait) and is fetched as
// soon as a holder shows up, or started empty if the operator says so. How long a
// silent sender is borne follows from the rates that were measured (stall.go).
package recovery
