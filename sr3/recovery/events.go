package recovery

import (
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

// StreamID names an opened stream; it is never used twice by one tracker.
type StreamID int

// Content identifies the bytes that a sender has for a part: two senders with the
// same Sum and Size have the same bytes.
type Content struct {
	Sum  uint64 `json:"sum"`
	Size int64  `json:"size"`
}

// Event is something that the receiver's shell saw.
//
//sumtype:decl
type Event interface{ event() }

// Chunk says that bytes arrived whose own checksum is good. Part needs no Bytes.
type Chunk struct {
	Stream  StreamID
	Version shard.Version
	Part    Part
	Content Content
	Offset  int64
	Length  int64
}

// Ended says that a sender has sent all it wants to send.
type Ended struct{ Stream StreamID }

// Broken says that a stream failed. Node is who is at fault if that is known (a
// relay, say), else "": then it is the node that sends to the receiver.
type Broken struct {
	Stream StreamID
	Node   NodeID
	Cause  string
}

// Corrupt says that a chunk of the stream did not have its checksum.
type Corrupt struct {
	Stream StreamID
	Part   Part
}

// Lacks says that a node does not have a shard of this version (any more), or only
// damaged: manifests are hints. It is not asked again until Found. Stream is where
// it was said, 0 if elsewhere.
type Lacks struct {
	Stream StreamID
	Node   NodeID
	Shard  int
}

// Died says that a node is dead.
type Died struct{ Node NodeID }

// Returned says that a node lives (again), with what the manifest says it has.
type Returned struct{ Node NodeID }

// Found says that a node has the members First up to but without Until of a
// shard's chain.
type Found struct {
	Node         NodeID
	Shard        int
	First, Until int
}

// Wanted says that a task waits for the shard: it goes first.
type Wanted struct{ Shard int }

// Proceed says that no task is about to want anything: what was held for it
// (Params.Hold) goes on, unless something is wanted already.
type Proceed struct{}

// Installed answers Install: the shard is in the state.
type Installed struct{ Shard int }

// Rejected answers Install: the bytes as a whole do not have their checksum.
type Rejected struct{ Shard int }

// StartEmpty is the operator's word that the shard may start without its state;
// it is heeded only while no living copy is known.
type StartEmpty struct{ Shard int }

// Tick says that time has passed, see Tracker.Next.
type Tick struct{}

func (Chunk) event()      {}
func (Ended) event()      {}
func (Broken) event()     {}
func (Corrupt) event()    {}
func (Lacks) event()      {}
func (Died) event()       {}
func (Returned) event()   {}
func (Found) event()      {}
func (Wanted) event()     {}
func (Proceed) event()    {}
func (Installed) event()  {}
func (Rejected) event()   {}
func (StartEmpty) event() {}
func (Tick) event()       {}

// Command is something that the shell has to do, in the order given.
//
//sumtype:decl
type Command interface{ command() }

// Order asks for one part. If Offset is above 0 and the sender has the same
// Content, it goes on there, else it starts at 0 with what it has.
type Order struct {
	Part    Part
	Content Content
	Offset  int64
}

// Open asks Flow.Node for the orders, in their order. Flow says what its node
// takes in from whom; what is in Flow.Sends but not in the orders is not wanted any
// more, and a relay asks those below only for what the orders need. The receiver itself may be the node: its own disk.
type Open struct {
	Stream  StreamID
	Flow    *Flow
	Version shard.Version
	Orders  []Order
	// Urgent says that a task waits for it: it goes before all other bulk.
	Urgent bool
	// Stall is how long the stream may be silent, its first byte included.
	Stall time.Duration
}

// Skip tells the sender of a stream not to send a part (the rest of it) any more.
type Skip struct {
	Stream StreamID
	Part   Part
}

// Cancel ends a stream; what still comes from it is dropped.
type Cancel struct{ Stream StreamID }

// Keep says that the bytes of the chunk just handed in belong at Offset of the
// part. Without it, they are dropped.
type Keep struct {
	Part   Part
	Offset int64
	Length int64
}

// Discard says that all bytes kept of the part are worthless.
type Discard struct{ Part Part }

// Install says that all parts of the shard are there, in the order of the chain:
// check them against Contents as a whole, fold them if there are several, put the
// shard into the state, and answer Installed or Rejected. No parts: start empty.
type Install struct {
	Shard    int
	Parts    []Part
	Contents []Content
}

// Wait says that no living copy is known of these shards (all of them; none if
// the wait is over). Look for holders, and say so to people.
type Wait struct{ Shards []int }

// Note is a sentence for the log.
type Note struct{ Text string }

// Done says that every shard is installed.
type Done struct{}

func (Open) command()    {}
func (Skip) command()    {}
func (Cancel) command()  {}
func (Keep) command()    {}
func (Discard) command() {}
func (Install) command() {}
func (Wait) command()    {}
func (Note) command()    {}
func (Done) command()    {}
