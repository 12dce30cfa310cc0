// Package link is the wire between a worker and its supervisor: a socket of the
// host's, on which the worker says hello and then pulses, and the supervisor
// gives orders. Either side may die and come back; the worker runs on meanwhile
// and connects again.
//
// The worker calls [Run], the supervisor [Serve]. A frame is a length of four
// bytes, big-endian, and a message as package wire encodes it.
package link

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

// Protocol is the version that this package speaks. A worker of another one is
// refused: it was built with another release.
const Protocol = 1

const (
	// maxFrame bounds a message: orders for 100,000 executors take 10 MiB.
	maxFrame = 64 << 20
	// helloTimeout is how long a new connection may take to say who it is.
	helloTimeout = 10 * time.Second
	// writeTimeout is how long the other side may take no byte.
	writeTimeout = 30 * time.Second
	// maxPath is the longest path that a socket's address can hold everywhere.
	maxPath = 100
)

// ErrRefused: the supervisor does not know the worker that connects, or does not
// speak its protocol. The worker should end.
var ErrRefused = errors.New("the supervisor does not want this worker")

// Path is where the supervisor with this local directory listens: in it, or in
// the system's temporary folder if its name is too long for a socket.
func Path(localDir string) (string, error) {
	abs, err := filepath.Abs(filepath.Join(localDir, "supervisor", "link"))
	if err != nil {
		return "", fmt.Errorf("the link's socket: %w", err)
	}
	if len(abs) <= maxPath {
		return abs, nil
	}
	return filepath.Join(os.TempDir(), "stormring-"+shortHash(abs), "link"), nil
}

// Listen opens the socket at path, for this user only. One that a dead
// supervisor has left is replaced.
func Listen(ctx context.Context, path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("the link's socket: %w", err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the link's socket: %w", err)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("the link's socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("the link's socket: %w", err), ln.Close())
	}
	return ln, nil
}

// Supervisor is the side that gives orders. Its methods may be called from
// several goroutines, for one worker from one at a time.
type Supervisor interface {
	// Hello greets a worker. Orders come through the channel, the newest of
	// which counts; the link ends when it is closed. An error refuses the
	// worker for good.
	Hello(h cluster.Hello) (orders <-chan cluster.Orders, err error)
	// Pulse is a sign of life.
	Pulse(h cluster.Hello, p cluster.Pulse)
	// Gone tells that the connection is no more. The worker may come back.
	Gone(h cluster.Hello)
}

// writeFrame writes a message. It fails if the other side takes nothing for
// writeTimeout.
func writeFrame(c net.Conn, msg []byte) error {
	if len(msg) > maxFrame {
		return fmt.Errorf("a message of %d bytes is too long for the link; the most is %d", len(msg), maxFrame)
	}
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("write deadline: %w", err)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(msg)), uint32(len(msg)))
	if _, err := c.Write(append(frame, msg...)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// readFrame reads a message. Memory grows with what arrives, not with what is
// announced.
func readFrame(r *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes is announced on the link; the most is %d", n, maxFrame)
	}
	msg, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err != nil {
		return nil, err
	}
	if len(msg) < int(n) {
		return nil, io.ErrUnexpectedEOF
	}
	return msg, nil
}
