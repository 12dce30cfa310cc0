package ring

import "fmt"

// Kind is what a message is for.
type Kind uint8

// The kinds of messages, and what they carry besides From, To and Updates.
const (
	// Ping wants an Ack with its Seq.
	Ping Kind = iota + 1
	// Ack answers a Ping.
	Ack
	// PingReq asks to ping Members[0] and to tell with Seq if it answers.
	PingReq
	// Reached tells with the Seq of a PingReq that Members[0] answered.
	Reached
	// Stabilize asks what lies around the positions in Keys, which are the
	// sender's: Chord's stabilize and notify in one.
	Stabilize
	// Around answers Stabilize: Members are the nodes there.
	Around
	// Find asks for the next step of lookup Seq for Keys[0].
	Find
	// Step answers Find: if Done, Members are the first nodes at or after the
	// key; else Members are nodes that are nearer to it, at Keys.
	Step
	// Gossip brings news only.
	Gossip
	// SyncAsk compares tables: Digest is that of the sender's.
	SyncAsk
	// SyncAnswer answers SyncAsk: Members is the table unless Done, which says
	// that the tables are the same; Large that this is not the whole ring.
	SyncAnswer
	// SyncPush brings what the sender of SyncAnswer did not know: Members.
	SyncPush

	lastKind = SyncPush
)

var kindNames = [...]string{
	"", "Ping", "Ack", "PingReq", "Reached", "Stabilize", "Around", "Find", "Step", "Gossip", "SyncAsk", "SyncAnswer", "SyncPush",
}

// String implements fmt.Stringer.
func (k Kind) String() string {
	if k >= Ping && k <= lastKind {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

const (
	// MaxMembers bounds Message.Members.
	MaxMembers = 2048
	// MaxUpdates bounds Message.Updates.
	MaxUpdates = 16
	// MaxKeys bounds Message.Keys.
	MaxKeys = MaxPositions

	maxSuccessors = 64
)

// Message is what machines send to each other.
type Message struct {
	Kind Kind
	// From is the sender, as it is now.
	From Member
	// To is the id of the receiver: another node may live at its address by now.
	To string
	// Seq joins answers to questions.
	Seq uint64
	// Digest is of a table, see SyncAsk.
	Digest uint64
	// Done and Large are explained with the kinds that have them.
	Done, Large bool
	Keys        []uint64
	Members     []Member
	// Updates are news of members.
	Updates []Member
}

// Send is a message to be sent. It may get lost, come late or twice.
type Send struct {
	To      Node
	Message Message
}

// EventKind is what an Event tells.
type EventKind uint8

// The kinds of events.
const (
	// Joined: a node is on the ring, for the first time or again.
	Joined EventKind = iota + 1
	// Suspected: a node does not answer.
	Suspected
	// Cleared: a suspected node is well.
	Cleared
	// Died: a suspected node did not refute.
	Died
	// Departed: a node said goodbye.
	Departed
	// Refuted: others believed something else of this very node and it said no.
	Refuted
	// Conflict: somebody at another address, Event.Node.Addr, lives under this
	// node's id, or did in an earlier life. If it repeats, two processes have
	// one id, and one must be stopped.
	Conflict
	// Found: lookup Token has ended: Node is responsible for Key.
	Found
	// NotFound: lookup Token was given up; Path tells who was asked.
	NotFound

	lastEvent = NotFound
)

var eventNames = [...]string{"", "joined", "suspected", "cleared", "died", "departed", "refuted", "conflict", "found", "not found"}

// String implements fmt.Stringer.
func (k EventKind) String() string {
	if k >= Joined && k <= lastEvent {
		return eventNames[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Event is something that the shell may want to know. In rings above
// Config.FullView the events of members are of the nodes that this one keeps.
type Event struct {
	Kind        EventKind
	Node        Node
	Incarnation uint64
	// Token and Key are those of a lookup.
	Token, Key uint64
	// Path are the nodes that answered to a lookup, in order; the first is this
	// one. So len(Path)-1 is the number of hops.
	Path []Node
	// Successors, of Found, are the first nodes at or after Key, at most
	// Config.Successors, Node first.
	Successors []Node
}

// Out is what a call of a machine asks for.
type Out struct {
	Send   []Send
	Events []Event
}
