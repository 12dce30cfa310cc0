package transport

import (
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// batchBytes is how much bulk is written at once; control waits for as much.
const batchBytes = 256 * kib

// outbox is what waits to be written. The connection's mu guards control,
// spare, bulk and interrupted; the rest is the writer's.
type outbox struct {
	control, spare []byte
	bulk           []*outFrame
	interrupted    bool // a deadline was set to get lent buffers back

	batch       []*outFrame
	slices      [][]byte
	joined      []byte
	meter       meter
	bulkWritten atomic.Uint64
}

type frameState uint8

const (
	frameIdle frameState = iota
	frameQueued
	frameWriting
	frameWritten
)

// outFrame is one bulk frame. If own is set it holds a copy of the payload and
// nobody waits; else parts are lent by the sender, who waits for written.
type outFrame struct {
	head    [headerBytes]byte
	parts   [][]byte
	own     *buffer
	size    int // of the payload
	stream  *Stream
	urgent  bool
	written chan error
	state   frameState // guarded by the connection's mu
}

// lent makes a frame whose payload stays the sender's.
func lent(h header, parts [][]byte) *outFrame {
	f := &outFrame{written: make(chan error, 1)}
	f.lend(h, parts)
	return f
}

func (f *outFrame) lend(h header, parts [][]byte) {
	f.size = 0
	for _, p := range parts {
		f.size += len(p)
	}
	h.length = uint32(f.size)
	h.put(f.head[:])
	f.parts = append(f.parts[:0], parts...)
}

// copied makes a frame that owns its payload.
func (c *conn) copied(h header, parts [][]byte) *outFrame {
	f := &outFrame{}
	f.lend(h, parts)
	f.own = c.e.pool.get(f.size)
	at := 0
	for _, p := range parts {
		at += copy(f.own.b[at:], p)
	}
	f.parts = append(f.parts[:0], f.own.b)
	return f
}

// post queues a frame that nobody waits for.
func (c *conn) post(f *outFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return c.closed
	}
	f.state = frameQueued
	at := len(c.out.bulk)
	if f.urgent {
		at = 0
		for at < len(c.out.bulk) && c.out.bulk[at].urgent {
			at++
		}
	}
	c.out.bulk = slices.Insert(c.out.bulk, at, f)
	c.wakeWriter()
	return nil
}

// lendOut queues a frame and waits until its parts are no longer needed. If it
// was given up before, sent is false and nothing of it goes out; given up while
// it is being written, it is sent from a copy, and that is no error.
func (c *conn) lendOut(ctx context.Context, dead <-chan struct{}, f *outFrame) (sent bool, err error) {
	if err := c.post(f); err != nil {
		return false, err
	}
	select {
	case err := <-f.written:
		return err == nil, err
	case <-ctx.Done():
		err = ctx.Err()
	case <-dead:
		err = ErrClosed
	}
	c.mu.Lock()
	switch f.state {
	case frameQueued:
		for i, q := range c.out.bulk {
			if q == f {
				c.out.bulk = append(c.out.bulk[:i], c.out.bulk[i+1:]...)
				break
			}
		}
		f.state = frameIdle
		c.mu.Unlock()
		return false, err
	case frameWriting:
		if !c.out.interrupted {
			c.out.interrupted = true
			c.nc.SetWriteDeadline(time.Unix(1, 0)) //nolint:errcheck // a closed socket ends the write too
		}
	case frameIdle, frameWritten:
	}
	c.mu.Unlock()
	err = <-f.written
	return err == nil, err
}

// writeLoop is the writer: control first, then a batch of bulk.
func (c *conn) writeLoop() {
	for {
		c.mu.Lock()
		if c.closed != nil {
			c.drainLocked()
			c.mu.Unlock()
			return
		}
		control := c.out.control
		c.out.control, c.out.spare = c.out.spare[:0], nil
		c.takeLocked()
		c.mu.Unlock()
		if len(control) == 0 && len(c.out.batch) == 0 {
			c.out.spare = control
			select {
			case <-c.wake:
			case <-c.done:
			}
			continue
		}
		if err := c.write(control); err != nil {
			c.fail(err)
			c.settle(c.over())
			continue
		}
		c.settle(nil)
		if cap(control) > mib {
			control = nil // one burst does not hold memory for ever
		}
		c.out.spare = control[:0]
	}
}

// takeLocked moves the next bulk frames into the batch.
func (c *conn) takeLocked() {
	n, bytes := 0, 0
	for _, f := range c.out.bulk {
		if n > 0 && bytes+f.size > batchBytes {
			break
		}
		f.state = frameWriting
		bytes += f.size + headerBytes
		n++
	}
	c.out.batch = append(c.out.batch[:0], c.out.bulk[:n]...)
	clear(c.out.bulk[:n])
	if c.out.bulk = c.out.bulk[n:]; len(c.out.bulk) == 0 {
		c.out.bulk = c.out.bulk[:0]
	}
}

// write puts control and the batch on the socket.
func (c *conn) write(control []byte) error {
	o := &c.out
	o.slices = o.slices[:0]
	if len(control) > 0 {
		o.slices = append(o.slices, control)
	}
	total, bulk := len(control), 0
	for _, f := range o.batch {
		o.slices = append(o.slices, f.head[:])
		for _, p := range f.parts {
			if len(p) > 0 {
				o.slices = append(o.slices, p)
			}
		}
		bulk += headerBytes + f.size
	}
	total += bulk
	defer clear(o.slices)
	began := c.e.now()
	if err := c.writeSlices(o.slices); err != nil {
		return err
	}
	c.link.sent.Add(uint64(total))
	if len(o.batch) > 0 {
		now := c.e.now()
		c.lastBulk.Store(int64(now))
		rtt := c.link.rtt()
		o.bulkWritten.Add(uint64(bulk))
		c.link.sendRate.learn(o.meter.add(now, rtt, bulk))
		c.e.sent.passed(began, now, rtt, c.e.all)
	}
	return nil
}

func (c *conn) writeSlices(slices [][]byte) error {
	if c.copies {
		c.out.joined = join(c.out.joined[:0], slices)
		_, err := c.nc.Write(c.out.joined)
		return err
	}
	rest := net.Buffers(slices)
	for len(rest) > 0 {
		_, err := rest.WriteTo(c.nc)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// Somebody wants its buffer back: go on with a copy of what is
			// left, and let all of the batch go.
			rest = net.Buffers{join(nil, rest)}
			c.settle(nil)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func join(b []byte, slices [][]byte) []byte {
	for _, s := range slices {
		b = append(b, s...)
	}
	return b
}

// settle gives back the buffers of the batch.
func (c *conn) settle(err error) {
	c.mu.Lock()
	if c.out.interrupted {
		c.out.interrupted = false
		c.nc.SetWriteDeadline(time.Time{}) //nolint:errcheck // a closed socket shows at the next write
	}
	for _, f := range c.out.batch {
		f.state = frameWritten
	}
	c.mu.Unlock()
	for i, f := range c.out.batch {
		c.out.batch[i] = nil
		c.release(f, err)
	}
	c.out.batch = c.out.batch[:0]
}

func (c *conn) release(f *outFrame, err error) {
	if f.own == nil {
		f.written <- err // f is the sender's again
		return
	}
	c.e.pool.put(f.own)
	if f.stream != nil {
		f.stream.written(f.size)
	}
}

// drainLocked tells those whose frames will never be written. Nobody can queue
// more, since the connection is closed.
func (c *conn) drainLocked() {
	for _, f := range c.out.bulk {
		f.state = frameWritten
		if f.own == nil {
			f.written <- c.closed
		}
	}
	c.out.bulk = nil
}
