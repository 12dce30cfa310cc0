package ring

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const (
	// DefaultPositions is how many positions a node takes if nothing is said.
	DefaultPositions = 32
	// MaxPositions is the most positions of one node.
	MaxPositions = 256
	// MaxName is the longest id, address, host or rack, in bytes.
	MaxName = 255
)

// Node is a member of the ring as others need to know it.
type Node struct {
	// ID names the node for ever; its positions follow from it.
	ID string
	// Addr is where its messages go.
	Addr string
	// Host is the machine that it fails with; "" is a machine of its own.
	Host string
	// Rack is what its host fails with; "" is unknown.
	Rack string
	// Positions is how many positions it takes, 1 to MaxPositions.
	Positions int
}

// Check tells what is wrong with a node, nil if nothing.
func (n *Node) Check() error {
	for _, s := range []struct{ what, is string }{{"id", n.ID}, {"address", n.Addr}} {
		if s.is == "" {
			return fmt.Errorf("ring: a node without %s: %+v", s.what, *n)
		}
	}
	for _, s := range []string{n.ID, n.Addr, n.Host, n.Rack} {
		if len(s) > MaxName {
			return fmt.Errorf("ring: a name of %d bytes in node %.40q: at most %d", len(s), n.ID, MaxName)
		}
	}
	if n.Positions < 1 || n.Positions > MaxPositions {
		return fmt.Errorf("ring: node %q takes %d positions: 1 to %d are possible", n.ID, n.Positions, MaxPositions)
	}
	return nil
}

// failsWith is the machine that a node fails with.
func (n *Node) failsWith() string {
	if n.Host == "" {
		return n.ID
	}
	return n.Host
}

// PositionOf is position index of the node with this id: the first 64 bits of
// SHA-256 of the id and the index (4 bytes, big endian).
func PositionOf(id string, index int) uint64 {
	var room [MaxName + 4]byte
	return Key(binary.BigEndian.AppendUint32(append(room[:0], id...), uint32(index)))
}

// Key is where data belongs on the ring: the first 64 bits of its SHA-256.
func Key(data []byte) uint64 {
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:8])
}

// Status is what is believed of a node. For one incarnation, a higher status
// replaces a lower one.
type Status uint8

// The statuses.
const (
	Alive   Status = iota
	Suspect        // did not answer; may still refute
	Dead           // did not refute
	Left           // said goodbye
)

// String implements fmt.Stringer.
func (s Status) String() string {
	switch s {
	case Alive:
		return "alive"
	case Suspect:
		return "suspect"
	case Dead:
		return "dead"
	case Left:
		return "left"
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Living reports whether a node of this status has its place on the ring.
func (s Status) Living() bool { return s == Alive || s == Suspect }

// Member is what one node says of another, or of itself.
type Member struct {
	Node
	Status Status
	// Incarnation is raised by the node itself only: at a restart, and to
	// refute what others believe of it.
	Incarnation uint64
}

// newer reports whether (inc, s) replaces (oldInc, old).
func newer(inc uint64, s Status, oldInc uint64, old Status) bool {
	return cmp.Or(cmp.Compare(inc, oldInc), cmp.Compare(s, old)) > 0
}
