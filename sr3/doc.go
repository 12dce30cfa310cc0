// Package sr3 is where the state of tasks lies: cut into shards on a ring of
// nodes, each of which keeps some of everybody's, so that after a failure all of
// them bring it back together. It follows SR3 (Xu and others, Middleware 2020) and
// Chord (Stoica and others, SIGCOMM 2001).
//
// There is nothing in this package itself. Begin with
//
//   - sr3/shard: what state is made of, in memory and as bytes;
//   - sr3/ring: who is there, and who keeps what;
//   - sr3/recovery: plans of a recovery (star, line, tree), and how one is
//     carried out;
//   - sr3/upkeep: what a node keeps, fetches, folds and drops.
//
// These decide, and touch nothing. Around them:
//
//   - sr3/protocol: what is said, carried by sr3/transport;
//   - sr3/store: what a node has on its disk;
//   - sr3/node: a node of the ring, one in each supervisor;
//   - sr3/client: a worker's side, which saves and loads;
//   - sr3/inquiry, sr3/overview: what people are shown.
//
// The family imports nothing else of the project.
package sr3
