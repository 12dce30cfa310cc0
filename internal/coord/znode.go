package coord

import (
	"fmt"
	"strconv"
)

// AnyVersion as the expected version matches every version.
const AnyVersion int32 = -1

// DefaultMaxDataBytes is how much data a znode holds at most unless the store
// is told otherwise.
const DefaultMaxDataBytes = 1 << 20

// Stat is what the store knows of a znode besides its data. Fields are
// ZooKeeper's.
type Stat struct {
	Czxid          int64 // change that created it
	Mzxid          int64 // change that last set its data
	Pzxid          int64 // change that last added or removed a child
	Ctime          int64 // when it was created, in milliseconds of Unix time
	Mtime          int64 // when its data was last set, likewise
	Version        int32 // how often its data was set since
	Cversion       int32 // how often a child was added or removed
	EphemeralOwner int64 // session whose end deletes it, 0 if none
	DataLength     int32 // bytes
	NumChildren    int32
}

// Mode says how a znode is created. Values are ZooKeeper's flags.
type Mode int32

// An ephemeral znode is deleted when its session ends and has no children. A
// sequential one gets a number of its parent at the end of its name, ten digits
// wide; numbers grow and are not used again, whatever is deleted.
const (
	Persistent          Mode = 0
	Ephemeral           Mode = 1
	Sequential          Mode = 2
	EphemeralSequential Mode = Ephemeral | Sequential
)

// Valid reports whether m is one of the four modes.
func (m Mode) Valid() bool { return m >= Persistent && m <= EphemeralSequential }

// IsEphemeral reports whether the znode ends with its session.
func (m Mode) IsEphemeral() bool { return m&Ephemeral != 0 }

// IsSequential reports whether the store numbers the name.
func (m Mode) IsSequential() bool { return m&Sequential != 0 }

// String is the mode in words.
func (m Mode) String() string {
	switch m {
	case Persistent:
		return "persistent"
	case Ephemeral:
		return "ephemeral"
	case Sequential:
		return "sequential"
	case EphemeralSequential:
		return "ephemeral sequential"
	default:
		return "mode " + strconv.Itoa(int(m))
	}
}

// SequencePath is the path that a sequential znode gets: prefix, then number.
func SequencePath(prefix string, number int32) string {
	return prefix + fmt.Sprintf("%010d", number)
}

// EventType says what happened. Values are ZooKeeper's.
type EventType int32

// What a watch can tell. EventNotWatching is the end of a watch that did not
// fire, because its session is over; Event.Err says why.
const (
	EventNodeCreated         EventType = 1
	EventNodeDeleted         EventType = 2
	EventNodeDataChanged     EventType = 3
	EventNodeChildrenChanged EventType = 4
	EventNotWatching         EventType = -2
)

// String is the event in words.
func (t EventType) String() string {
	switch t {
	case EventNodeCreated:
		return "created"
	case EventNodeDeleted:
		return "deleted"
	case EventNodeDataChanged:
		return "data changed"
	case EventNodeChildrenChanged:
		return "children changed"
	case EventNotWatching:
		return "not watching"
	default:
		return "event " + strconv.Itoa(int(t))
	}
}

// Event is what a watch tells.
type Event struct {
	Type EventType
	Path string // that of the watch
	Err  error  // of EventNotWatching: ErrSessionExpired or ErrSessionClosed
}

// Op is one operation of a Multi.
//
//sumtype:decl
type Op interface {
	isOp()
	// Name is the operation and the path that it was asked for.
	Name() (op, path string)
}

// CreateOp is Writer.Create in a Multi.
type CreateOp struct {
	Path string
	Data []byte
	Mode Mode
}

// SetOp is Writer.Set in a Multi.
type SetOp struct {
	Path    string
	Data    []byte
	Version int32
}

// DeleteOp is Writer.Delete in a Multi.
type DeleteOp struct {
	Path    string
	Version int32
}

// CheckOp fails a Multi unless there is such a znode in that version. Errors:
// ErrNoNode, ErrBadVersion.
type CheckOp struct {
	Path    string
	Version int32
}

func (CreateOp) isOp() {}
func (SetOp) isOp()    {}
func (DeleteOp) isOp() {}
func (CheckOp) isOp()  {}

// Name implements Op.
func (o CreateOp) Name() (op, path string) { return "create", o.Path }

// Name implements Op.
func (o SetOp) Name() (op, path string) { return "set", o.Path }

// Name implements Op.
func (o DeleteOp) Name() (op, path string) { return "delete", o.Path }

// Name implements Op.
func (o CheckOp) Name() (op, path string) { return "check", o.Path }

// Result is what came of one operation of a Multi: the path of a created
// znode, the Stat of a set one.
type Result struct {
	Path string
	Stat Stat
}
