// Package jvmstate is the agent through which the state of Java topologies gets
// onto the ring: Storm's own workers, each in a JVM, connect to the agent of their
// host. The other end is multilang/java.
//
// Begin at [Agent] (agent.go), which listens; conn.go is one connection, which is one
// namespace of a task, with a goroutine of its own; keep.go is what it does for a
// bolt, step.go what it does for the checkpoint spout; wire.go is what the bytes
// mean. What keeps the state is behind [Store].
//
// # How Storm's checkpoints become versions
//
// The commit record of a topology (checkpoint.Record) is driven by its checkpoint
// spout alone. Storm's transactions begin at 0 and -1 is before all; on the ring they
// are one more, so that 0 is the empty state.
//
//	spout saves     record
//	PREPARING t     the phase; a new era if it is not sure that nobody was told to
//	                prepare t in this one
//	COMMITTING t    Committed is t of this era, and the phase
//	COMMITTED t     the phase; after a rollback t is the one that is committed still
//
// A bolt's prepare saves the version that PREPARING t has named, its commit makes what
// is saved the base of the next. Storm's markers do not carry an era, may come
// twice and late, so an agent takes nothing for granted: it reads the record for each,
// and each doubt becomes an error, upon which Storm rolls back and tries again in the
// next era; what is saved is never saved again under the same name.
//
// Nor do the acknowledgements of markers, upon which the spout goes on to COMMITTING: one
// may be that of an earlier try. So each namespace joins before it first saves, and a
// version is committed when all that have joined have saved it (step.go). Namespaces
// that Storm leaves out of a transaction follow their task (follow.go).
//
// # Who has what
//
// The JVM has the state, and the agent has it too, as saving needs it. A connection
// that ends takes the agent's with it. The next one loads the committed version from
// the ring, and the JVM sends what it has changed since. If the JVM has neither that
// version nor what was prepared for it, its components have seen what does not count:
// the worker ends, as if it was killed.
package jvmstate
