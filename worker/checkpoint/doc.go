// Package checkpoint decides when the state of a topology is taken down, what
// belongs to it, and what is undone when something is lost. Start at Task
// (task.go), what an executor drives for each task, then Coordinator
// (coordinator.go), what the checkpoint task drives. Nothing here has a clock, a
// socket or a goroutine: each machine is told what happened and returns what is
// to be done, in order.
//
//	            markers                 markers, in line with tuples
//	Coordinator ───────► spout tasks ───────────────────────► bolt tasks ──► …
//	     ▲  │                 │ answers, beside the tuples        │
//	     │  └► commit record  │                                   │
//	     └────────────────────┴───────────────────────────────────┘
//
// Plan (plan.go) tells from the components who gets and sends what.
//
// # One checkpoint
//
// The coordinator sends Prepare with the next transaction id to the spouts. A
// task acts when the marker has come on all of its inputs (Aligner): it freezes
// its state, forwards the marker, goes on, and answers Prepared when the frozen
// state is safe (Participant). When all stateful tasks have answered, components
// that want to act before the commit do so (PreCommit), and the record is
// written with compare-and-set. That write is the commit. The Commit marker
// only spreads the news: tasks pass on the acks of tuples that are in the
// version. All markers name the last commit, so it does not matter if one is lost.
// The next checkpoint begins one interval after this one began, or when it ends.
//
// # Why tuples behind a marker are held back
//
// Storm lets tuples from fast inputs into the state while the marker of slow
// ones is awaited. Then a version holds effects of tuples that are behind the
// spout's marker, and after a rollback the spout sends them again. We hold them
// (Aligned), always: a version is one cut, so effects are exactly once when
// spouts rewind, and what users see does not change with the kind of spout. It
// costs waiting for the slowest input, once an interval. The bound is a number of
// tuples, not back-pressure: all inputs share one inbox, so the awaited marker
// may be behind what would not be taken in. Above the bound the transaction is
// given up, and the next one has the spouts pause behind its marker until it is
// committed: then nothing comes behind it, however uneven the inputs are.
// Unaligned is Storm's way.
//
// # Eras
//
// A rollback (or the start) begins an era. The coordinator first claims its
// number in the commit record, which makes all earlier writes and coordinators
// fail; then its marker flows like others. A task enters the era with the first
// marker that comes on any input, at once: tuples of inputs where it has not
// come are of an older era and dropped. So no rollback waits for anything, and
// tuples that were on their way when spouts rewound are counted once. All
// tasks roll back, not only the one that was lost: its peers hold effects of
// tuples that it has forgotten. A load that is under way goes on if the new era
// wants the same version.
//
// # What is lost is noticed
//
// Every Prepare carries, for each channel, how many tuples the sender has put
// into it in this era. A receiver that counted another number says Failed, and
// all roll back: so tuples lost with a task's inbox, sent to a task's former
// worker, or doubled, are in no committed version, whatever else went wrong. A
// task that started again is in no era; it learns so from the first marker, or
// the coordinator hears of it (Broken) and is faster.
//
// # What gives way to what
//
// A save that fails, a time-out, an alignment above its bound: the transaction
// is abandoned and nothing else happens; frozen changes join the next one, whose
// commit also releases the acks. Lost tuples, lost tasks, failed hooks, several
// time-outs in a row: rollback, at most one an interval. A commit write whose
// outcome is unknown: the record is read and claimed, and what it names is what
// was committed. Older transactions and eras are ignored everywhere, newer ones
// supersede, so nothing waits for a marker that is not coming.
//
// # What the surroundings owe
//
//   - Between two living tasks tuples and markers keep their order. Markers may be
//     lost, doubled or late nonetheless: that costs a transaction, or a rollback.
//   - A version's manifest, once there, is not replaced (SaveState).
//   - The record is written with compare-and-set, all of it.
//   - A tuple that a component keeps beyond its Execute is settled with the era in
//     which it came (Task.Settle), and one of an older era may not emit.
//   - A spout that rewinds forgets what is pending when an era begins. If one of
//     its trees fails, a tuple was not executed to its end: that is Broken.
//   - The message time-out is longer than interval and time-out together. A
//     checkpoint that times out has the next one pause the spouts and take
//     twice as long, so that a slow topology gets on, and one sees why (Slow).
package checkpoint
