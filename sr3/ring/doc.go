// Package ring is Chord as a pure state machine: who is on the ring, who is
// responsible for a key, and who is dead.
//
// Start at Machine (machine.go). One machine is one node, with all of its
// positions; the shell around it calls Receive for every message, Tick when
// Next says so, and sends what comes out. A machine has no clock, no socket, no
// goroutine and no chance of its own, so the worlds of world_test.go run it by the
// thousand, and the same seed gives the same history.
//
// # One table, everything else is computed
//
// A node's positions follow from its id (PositionOf), so to know a node is to
// know its positions. A machine therefore keeps a single table of nodes
// (members.go), and Chord's pointers are functions of the sorted positions of
// those that live (View): the successor list of a position is the next nodes
// clockwise, its predecessor the one before, finger i the first position at or
// after position + 2^i (chord.go). Chord's procedures only feed the table:
//
//   - stabilize asks the successor of a position what it sees around it; being
//     asked is notify;
//   - fix-fingers looks up position + 2^i, and keeps what it finds;
//   - check-predecessor is the failure detector, which watches neighbours: in
//     large rings (see below) the first successor and the predecessor of every
//     position, else some of the first position.
//
// Correctness rests on successors alone: a lookup ends at the node whose
// position is the last before the key, and that node's successor is the answer.
// Fingers are speed.
//
// # What holds in which size
//
// Up to Config.FullView nodes (512) everybody knows everybody: news are
// piggy-backed on all messages and spread to a few nodes at random, and a
// regular comparison of digests repairs what got lost. Then View is the whole
// ring, Complete is true and placement (Holders) is a local computation.
//
// Above that a machine keeps only its successors, predecessors and fingers
// (about 10 + log2 N nodes a position), Complete is false and Holders over its
// View is wrong for keys far away: Lookup is the way, and its event Found brings
// the first Config.Successors nodes at the key, which are a View for Holders of
// this key. Since not all hear of a death there, nobody gets a place in the table
// by hearsay: it is pinged, and its answer brings it in.
//
// # Who has just begun
//
// A node joins through its seeds, and without any it is a ring of one. Where these
// come from may be wiped out or not know of the others yet; so a node also recalls
// whom it knew before it was restarted (recall.go), and takes itself for alone only
// if they do not answer for a while.
//
// # Death
//
// A node is pinged by its neighbours; the time-out follows the measured round
// trips. An unanswered ping is repeated, also through Config.Helpers other
// nodes; then the node is suspected, which everybody hears and it may refute by
// a higher incarnation; after Config.SuspectFor it is dead. Nobody believes a
// death by hearsay: who hears of one pings first. So one lost link is no death,
// and when a parted ring meets again, both halves do not bury each other. Dead
// nodes are remembered for a while, and they, like the seeds, are called upon
// from time to time: this is how parted rings become one again.
//
// # The spread of keys
//
// With DefaultPositions (32) positions a node, 100 nodes and 3 copies of each
// shard, the fullest node has less than 1.5 times the mean, in the worst of ten
// rings 1.36 times. With 16 positions that was up to 1.6. For two copies take 64.
// The number costs memory in rings up to FullView (16 bytes a position), and
// messages only above.
package ring
