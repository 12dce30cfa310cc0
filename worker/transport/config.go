package transport

import (
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/track"
)

// WorkerID names a worker within its topology, such as "host:port".
type WorkerID string

// ExecutorID names an executor by the first of its tasks.
type ExecutorID int32

// ErrClosed is returned by sends once the peer is closed.
var ErrClosed = errors.New("transport is closed")

// Codecs turns values of Go types that storm.Value has no kind for into bytes
// and back. It is called from many goroutines.
type Codecs interface {
	// Encode appends x to dst. Its error should not name x's type: the caller
	// adds it, and the tuple's component and stream.
	Encode(dst []byte, x any) ([]byte, error)
	// Decode reads what Encode appended. It must not keep b.
	Decode(b []byte) (any, error)
}

// Origins knows the streams of the topology.
type Origins interface {
	// Origin is the origin of the tuples that task emits on the stream with
	// this index, or nil if there is no such stream. It is called for every
	// batch and should be a look-up.
	Origin(task int32, stream uint16) *track.Origin
}

// Config is what Peer and Listener need to know. Start from DefaultConfig.
type Config struct {
	// Topology is the topology's id; both ends must have the same.
	Topology string
	// Self is this worker.
	Self WorkerID

	// FrameBytes is the size at which a frame is closed and the next begun; the
	// record that fills it may end behind that.
	FrameBytes int
	// MaxFrameBytes is the largest frame, and so the largest tuple, that is
	// sent or accepted.
	MaxFrameBytes int
	// WindowBytes is how much may be sent to a peer and not yet acknowledged
	// before senders wait.
	WindowBytes int
	// TupleCredits is how many tuples each peer may have under way to each
	// executor of this worker: received, and not yet released.
	TupleCredits int
	// AckerCredits is the same for messages to each acker task.
	AckerCredits int
	// Compress asks for S2 compression of what this worker sends. It pays on
	// links slower than about 1.5 Gb/s.
	Compress bool

	// IdleTimeout is how long a connection may be silent before it is given up
	// for broken. Both ends send a sign of life three times as often.
	IdleTimeout time.Duration
	// BackoffMin and BackoffMax bound the pause before a broken connection is
	// dialled again. It doubles with each failure.
	BackoffMin, BackoffMax time.Duration

	// Codecs is for values of foreign types; nil means that there are none.
	Codecs Codecs
	// OnError is told of broken connections and refusals, at most one every
	// few seconds. It must not block; nil ignores them.
	OnError func(error)
	// OnRestart is told that the worker at the other end of a Peer has
	// forgotten us, so it was restarted, and how many tuples are lost. It must
	// not block; nil ignores it.
	OnRestart func(peer WorkerID, droppedTuples int)
}

const (
	maxFrameLimit = 1 << 30 // so that lengths fit into 32 bits with room to spare
	maxIDBytes    = 1024
)

// DefaultConfig is the configuration to start from.
//
// 4096 credits are 400 KiB of tuples. They are given back in halves, so 2048
// tuples cover one round trip: 10 million tuples/s to one executor at 200 µs.
func DefaultConfig(topology string, self WorkerID) Config {
	return Config{
		Topology:      topology,
		Self:          self,
		FrameBytes:    48 << 10,
		MaxFrameBytes: 256 << 20,
		WindowBytes:   8 << 20,
		TupleCredits:  4096,
		AckerCredits:  16384,
		IdleTimeout:   10 * time.Second,
		BackoffMin:    20 * time.Millisecond,
		BackoffMax:    time.Second,
	}
}

// MaxCredits is the most that TupleCredits and AckerCredits may be.
const MaxCredits = 1 << 24

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	bad := func(name string, value any, rule string) error {
		return fmt.Errorf("transport config: %s is %v, but must be %s", name, value, rule)
	}
	switch {
	case c.Topology == "" || len(c.Topology) > maxIDBytes:
		return bad("Topology", fmt.Sprintf("%d bytes long", len(c.Topology)), "1 to 1024 bytes long")
	case c.Self == "" || len(c.Self) > maxIDBytes:
		return bad("Self", fmt.Sprintf("%d bytes long", len(c.Self)), "1 to 1024 bytes long")
	case c.FrameBytes < 256 || c.FrameBytes > 1<<20:
		return bad("FrameBytes", c.FrameBytes, "256 bytes to 1 MiB")
	case c.MaxFrameBytes < 2*c.FrameBytes || c.MaxFrameBytes > maxFrameLimit:
		return bad("MaxFrameBytes", c.MaxFrameBytes, fmt.Sprintf("at least twice FrameBytes, %d, and at most 1 GiB", 2*c.FrameBytes))
	case c.WindowBytes < 1:
		return bad("WindowBytes", c.WindowBytes, "positive")
	case c.TupleCredits < 1 || c.TupleCredits > MaxCredits:
		return bad("TupleCredits", c.TupleCredits, "1 to 16777216")
	case c.AckerCredits < 1 || c.AckerCredits > MaxCredits:
		return bad("AckerCredits", c.AckerCredits, "1 to 16777216")
	case c.IdleTimeout < time.Millisecond:
		return bad("IdleTimeout", c.IdleTimeout, "at least 1ms")
	case c.BackoffMin <= 0 || c.BackoffMax < c.BackoffMin:
		return bad("BackoffMin", c.BackoffMin, fmt.Sprintf("positive and at most BackoffMax, %v", c.BackoffMax))
	}
	return nil
}
