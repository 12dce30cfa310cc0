package thrift

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"
)

// ClientConfig is how a client's connection behaves; a zero field stands for
// the default named there.
type ClientConfig struct {
	// MaxFrame (1 MiB) is the longest message in bytes, either way.
	MaxFrame int
	// ConnectTimeout (10 s) and CallTimeout (10 min) are bounds besides those
	// of the contexts.
	ConnectTimeout, CallTimeout time.Duration
}

const (
	defaultMaxFrame       = 1 << 20
	defaultConnectTimeout = 10 * time.Second
	defaultCallTimeout    = 10 * time.Minute
)

// ErrConnClosed is why a call on a connection fails that was closed, by Close
// or by an earlier failure. Such a call never reached the server.
var ErrConnClosed = errors.New("the connection is closed")

// Conn is a client's connection, for the clients that are generated, such as
// storm.NewStormringClient. It may be used by several goroutines; their calls
// take turns. (The generated clients may not: each goroutine makes its own.) A
// call that fails otherwise than by an answer of the server closes the
// connection: dial again.
type Conn struct {
	conn net.Conn
	peer string
	cfg  ClientConfig
	turn chan struct{} // holding it guards what follows
	seq  int32
	dead bool
}

var _ apache.TClient = (*Conn)(nil)

// Dial connects to a server at addr (host:port). It does not find out yet
// whether that speaks Thrift.
func Dial(ctx context.Context, addr string, cfg ClientConfig) (*Conn, error) {
	setDefault(&cfg.ConnectTimeout, defaultConnectTimeout)
	dialer := net.Dialer{Timeout: cfg.ConnectTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	return newConn(conn, addr, cfg), nil
}

func newConn(conn net.Conn, peer string, cfg ClientConfig) *Conn {
	setDefault(&cfg.MaxFrame, defaultMaxFrame)
	setDefault(&cfg.CallTimeout, defaultCallTimeout)
	return &Conn{conn: conn, peer: peer, cfg: cfg, turn: make(chan struct{}, 1)}
}

// Close ends the connection, and a call that is on it.
func (c *Conn) Close() error { return c.conn.Close() }

// Call sends a request and waits for its answer, until ctx ends at the latest.
// The error is an apache.TApplicationException if the server answered with one.
func (c *Conn) Call(ctx context.Context, method string, args, result apache.TStruct) (apache.ResponseMeta, error) {
	if err := c.callInTurn(ctx, method, args, result); err != nil {
		return apache.ResponseMeta{}, fmt.Errorf("%s of %s: %w", method, c.peer, err)
	}
	return apache.ResponseMeta{}, nil
}

func (c *Conn) callInTurn(ctx context.Context, method string, args, result apache.TStruct) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.turn }()
	if c.dead {
		return ErrConnClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	c.seq++
	request, err := c.request(ctx, method, args)
	if err != nil {
		return err
	}

	deadline, _ := ctx.Deadline()
	if err = c.conn.SetDeadline(deadline); err != nil {
		return c.fail(ctx, err)
	}
	wake := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err = c.exchange(ctx, method, request, result)
	if !wake() && err == nil {
		// The deadline that wake sets may yet hit the next call.
		c.dead = true
		return c.conn.Close()
	}
	if _, answered := errors.AsType[apache.TApplicationException](err); err == nil || answered {
		return err
	}
	return c.fail(ctx, err)
}

// fail closes the connection and says why.
func (c *Conn) fail(ctx context.Context, err error) error {
	c.dead = true
	c.conn.Close()
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("no answer: %w", ctx.Err())
	case isTimeout(err):
		// The deadline of ctx, seen by the socket first.
		return fmt.Errorf("no answer: %w", context.DeadlineExceeded)
	case errors.Is(err, net.ErrClosed):
		return ErrConnClosed
	default:
		return err
	}
}

func (c *Conn) request(ctx context.Context, method string, args apache.TStruct) (*outgoing, error) {
	out := newOutgoing(c.cfg.MaxFrame)
	p := out.protocol()
	if err := p.WriteMessageBegin(ctx, method, apache.CALL, c.seq); err != nil {
		return nil, err
	}
	if err := args.Write(ctx, p); err != nil {
		return nil, err
	}
	if out.tooLong() {
		return nil, fmt.Errorf("the request has %d bytes, more than the limit of %d", out.size, c.cfg.MaxFrame)
	}
	return out, nil
}

// exchange sends a request and reads its answer into result.
func (c *Conn) exchange(ctx context.Context, method string, request *outgoing, result apache.TStruct) error {
	if _, err := c.conn.Write(request.frame()); err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	frame, err := c.readFrame()
	if err != nil {
		return err
	}
	answer, rest, err := parseHead(frame)
	if err != nil {
		return fmt.Errorf("the answer is no Thrift: %w", err)
	}
	mine := answer.name == method && answer.seq == c.seq
	switch {
	case answer.kind == apache.EXCEPTION:
		e := apache.NewTApplicationException(apache.UNKNOWN_APPLICATION_EXCEPTION, "")
		if err = e.Read(ctx, reader(rest)); err != nil {
			return err
		}
		if !mine {
			// It could not read what we sent.
			return fmt.Errorf("the server refused the connection: %s", e.Error())
		}
		return e
	case !mine:
		return fmt.Errorf("the answer is for call %d of %q, not for call %d of %q", answer.seq, answer.name, c.seq, method)
	case answer.kind != apache.REPLY:
		return fmt.Errorf("the answer is a message of type %d", answer.kind)
	}
	if err = result.Read(ctx, reader(rest)); err != nil {
		return fmt.Errorf("the answer is not as expected: %w", err)
	}
	return nil
}

func (c *Conn) readFrame() ([]byte, error) {
	var start [sizeLen]byte
	if _, err := io.ReadFull(c.conn, start[:]); err != nil {
		return nil, lost(err)
	}
	size := binary.BigEndian.Uint32(start[:])
	if size == 0 || size > math.MaxInt32 {
		return nil, fmt.Errorf("the server speaks %s", guess(start))
	}
	if int64(size) > int64(c.cfg.MaxFrame) {
		if _, err := readHead(c.conn); err != nil {
			return nil, fmt.Errorf("the server speaks %s", guess(start))
		}
		return nil, fmt.Errorf("the answer has %d bytes, more than the limit of %d", size, c.cfg.MaxFrame)
	}
	frame, err := readBody(c.conn, int(size), &budget{max: math.MaxInt64})
	return frame, lost(err)
}

// lost tells the end of a connection from that of the data in a frame.
func lost(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the server closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return err
}
