// Package track holds what follows a tuple through the runtime and is nobody
// else's business: where it came from and which tuple trees it belongs to.
//
// The types live here, below package storm, so that the runtime reads them
// without a call while topology authors cannot name them.
package track

// Root names a tuple tree. It is the spout task (15 bits) above a sequence
// number (48 bits) of that task; the top bit is clear but for the mark First. Roots of one
// spout task are consecutive so that ackers and spouts keep trees in rings
// instead of hash tables; only edges need to be random. Zero means untracked.
type Root uint64

const (
	// SeqBits is the width of the sequence number in a Root.
	SeqBits = 48
	// SeqMask selects the sequence number of a Root.
	SeqMask = 1<<SeqBits - 1
	// MaxTask is the largest task id that a Root, and Storm's own wire, can carry.
	MaxTask = 1<<15 - 1
)

// First marks the root in the anchor of a tuple that is the only one its spout
// sent for the tree. Such a tree is announced to its acker by the ack of that
// tuple, not by the spout: then nothing needs to be said of it before. If the
// tuple had no children the acker need not hear of it at all.
const First Root = 1 << 63

// MakeRoot joins a spout task and a sequence number; bits of seq above
// SeqBits are cut off.
func MakeRoot(task int32, seq uint64) Root {
	return Root(uint64(task)<<SeqBits | seq&SeqMask)
}

// Task is the spout task that started the tree.
func (r Root) Task() int32 { return int32(r &^ First >> SeqBits) }

// Seq is the tree's sequence number within its spout task.
func (r Root) Seq() uint64 { return uint64(r) & SeqMask }

// Anchor is one edge of one tuple tree: the random number that is XORed into
// the acker once when the tuple is emitted and once when it is acked.
type Anchor struct {
	Root Root
	Edge uint64
}

// Origin says who emitted a tuple. One Origin is shared by all tuples of a
// task's stream.
type Origin struct {
	Component string
	Stream    string
	Task      int32
	// ID numbers the origins of a topology densely, from 1; 0 is the system.
	// Receivers use it to index tables of their own.
	ID int32
	// StreamIndex is the stream's rank among the sorted streams of Component
	// in the system topology; it stands for the name on the wire.
	StreamIndex uint16
	// Fields are the stream's declared field names, in order.
	Fields []string
	// Era is set in copies that a stateful task makes, to tell in which era of
	// checkpoints a tuple came.
	Era uint64
}

// FieldIndex is the position of a field, or -1.
func (o *Origin) FieldIndex(name string) int {
	for i, f := range o.Fields {
		if f == name {
			return i
		}
	}
	return -1
}
