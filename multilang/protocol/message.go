package protocol

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/stormring/stormring/storm"
)

// Kind is what a message of a child says.
type Kind uint8

// The kinds of messages. Stray is text that is no message at all; Broken is one
// that cannot be used, with the reason in Err.
const (
	Emit Kind = iota + 1
	Ack
	Fail
	Log
	Error
	Metrics
	Sync
	PID // the answer to the handshake
	State
	Checkpointed
	Stray
	Broken
)

var kindNames = [...]string{"", "emit", "ack", "fail", "log", "error", "metrics", "sync", "pid", "state", "checkpointed", "stray text", "broken"}

// String is the kind as the command of the wire names it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// StateOp is what a State message wants.
type StateOp uint8

// The operations on state. Only StateGet is answered.
const (
	StateGet StateOp = iota + 1
	StatePut
	StateDelete
)

// Message is one message of a child. Which fields are meant depends on Kind.
type Message struct {
	Kind Kind
	// Ref is the input that Ack and Fail settle; 0 if ID names none of ours.
	Ref uint64
	// ID is the id of an emission, or of Ack and Fail if Ref is 0, as it was
	// encoded; "" if there is none, or null.
	ID string
	// Stream of an emission; never "".
	Stream string
	// Task is where a direct emission goes.
	Task    storm.TaskID
	Direct  bool
	Anchors []uint64
	Tuple   []storm.Value
	// NeedTaskIDs asks for the tasks that an emission goes to.
	NeedTaskIDs bool
	// Text is the text of Log, Error and Stray, or an excerpt of what is Broken.
	Text  string
	Level int // of Log: 0 trace, 1 debug, 2 info (also if it names none), 3 warn, 4 error
	// Name is the metric, or the key of State.
	Name string
	// Value is the parameter of Metrics, or the value of State.
	Value storm.Value
	Op    StateOp
	PID   int
	// Features are the extensions that a child asks for in its PID message.
	Features []string
	TxID     int64
	// Err tells why the message cannot be used as it is. The other fields hold
	// what could be read of it.
	Err error
}

// setTask makes an emission direct. To Storm, task 0 is none.
func (m *Message) setTask(task int64) {
	m.Direct = task != 0
	if m.Task = storm.TaskID(task); int64(m.Task) != task {
		m.spoil(fmt.Errorf("%d is the id of no task", task))
	}
}

// ErrTooLarge is the error of a message beyond the limit of a Decoder. Most of
// it was thrown away, so nobody knows which tuples it was about.
var ErrTooLarge = errors.New("message is larger than the limit")

// FieldError says which value of a tuple cannot be carried. Its receiver knows
// the names that belong to it.
type FieldError struct {
	Index  int
	Reason string
}

// Error names the position.
func (e *FieldError) Error() string { return fmt.Sprintf("value %d: %s", e.Index, e.Reason) }

// Encoder appends messages to a child to dst and returns it. If there is an
// error, dst is returned as it was.
type Encoder interface {
	// Tuple is an input of a bolt. The error is a *FieldError.
	Tuple(dst []byte, ref uint64, t *storm.Tuple) ([]byte, error)
	// Heartbeat is to be answered with Sync.
	Heartbeat(dst []byte) []byte
	// TaskIDs answers an emission that needs them.
	TaskIDs(dst []byte, tasks []storm.TaskID) []byte
	// Command is a command to a spout; id is the ID of the emission that it is
	// about, or "".
	Command(dst []byte, name, id string) []byte
	// Object is any other message: a map.
	Object(dst []byte, m map[string]storm.Value) ([]byte, error)
}

// Decoder takes a stream of bytes apart. Read into Room, tell with Wrote how
// much, then call Next until it reports false.
type Decoder interface {
	// Room is space for the next bytes, at least n of them.
	Room(n int) []byte
	// Wrote says that the first n bytes of Room are filled.
	Wrote(n int)
	// Next puts the next message into m; false if no whole one is there.
	Next(m *Message) bool
	// Rest is what is left when the stream has ended; false if that is nothing.
	Rest(m *Message) bool
}

// Codec is an encoding of the protocol.
type Codec interface {
	NewEncoder() Encoder
	// NewDecoder makes a decoder of messages up to limit bytes.
	NewDecoder(limit int) Decoder
}

// HeartbeatStream is the stream of heartbeats, whose source is the system.
const HeartbeatStream = "__heartbeat"

// heartbeatID is the id of heartbeats: the text of a number, as other ids, but
// of none that an input has.
const heartbeatID = "0"

// isHeartbeat reports whether an id is that of a heartbeat.
func isHeartbeat(id []byte) bool { return len(id) == 0 || string(id) == heartbeatID }

// parseRef reads an id as an Encoder writes it.
func parseRef(b []byte) uint64 {
	if len(b) == 0 || len(b) > 19 || b[0] == '0' {
		return 0
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// slab hands out short slices, many to an allocation.
type slab[T any] struct{ free []T }

func (s *slab[T]) put(vals []T) []T {
	n := len(vals)
	if n > len(s.free) || s.free == nil {
		s.free = make([]T, max(256, n))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	copy(out, vals)
	return out
}

// excerptLen bounds what is shown of bytes that could not be read.
const excerptLen = 400

// excerpt is the beginning of b as text that is safe to log.
func excerpt(b []byte) string {
	cut := ""
	if len(b) > excerptLen {
		b, cut = b[:excerptLen], "…"
	}
	return plain(b) + cut
}
