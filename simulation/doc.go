// Package simulation runs the pure parts of the system in a world of its own:
// one thread, one seeded source of chance, no clock but a counter. It is for
// tests only.
//
// Begin at New, which makes a World from a Config, and World.Run. A world has
// a random topology on a few workers (topology.go), tasks that route and track
// as executors do (spout.go, bolt.go, acker.go), links that lose what
// connections lose when a process dies (network.go), users who fail, forget,
// hold and join (user.go), and the truth about every tree (truth.go), against
// which each step is checked. The same Config makes the same world, so a seed
// is all that is needed to see a failure again, with a trace.
//
// What must hold:
//
//   - A tree is acked only if every tuple of it was acked by its bolt, whatever
//     was lost.
//   - No emission has two outcomes, and no message of a source is acked twice.
//   - A tree that nobody gives more time times out no earlier than one message
//     time-out after its emission, and no later than two.
//   - When faults stop, every message is acked before long, and then nothing
//     is left in any table.
package simulation
