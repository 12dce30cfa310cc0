package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/klauspost/compress/s2"
)

// ackBuffer is the usual size of the buffer that acks are read into.
const ackBuffer = 4 << 10

var errRefused = errors.New("the worker refuses the connection")

// run keeps a connection up until ctx ends.
func (p *Peer) run(ctx context.Context) {
	pause := newBackoff(p.cfg.BackoffMin, p.cfg.BackoffMax)
	for ctx.Err() == nil {
		progress, err := p.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		p.reports.error(fmt.Errorf("connection to worker %q: %w; it will be tried again", p.remote, err))
		if progress {
			pause.reset()
		}
		pause.wait(ctx)
	}
}

// connect dials, says hello and serves the connection until it breaks.
// progress tells whether the remote ever acknowledged something through it.
func (p *Peer) connect(ctx context.Context) (progress bool, err error) {
	dialCtx, cancel := context.WithTimeout(ctx, p.cfg.IdleTimeout)
	conn, err := p.dial(dialCtx)
	cancel()
	if err != nil {
		return false, fmt.Errorf("dial: %w", err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()

	frames := newFrameReader(conn, ackBuffer, 0, p.cfg.IdleTimeout)
	hi, err := p.greet(conn, frames)
	if err != nil {
		return false, err
	}
	if err := p.adopt(&hi); err != nil {
		return false, err
	}
	defer p.disconnected()
	return p.serve(ctx, conn, frames, hi.s2)
}

// greet says hello and reads the answer.
func (p *Peer) greet(conn net.Conn, frames *frameReader) (reply, error) {
	hi := hello{topology: p.cfg.Topology, from: p.cfg.Self, to: p.remote, life: p.life, s2: p.cfg.Compress}
	if err := conn.SetWriteDeadline(time.Now().Add(p.cfg.IdleTimeout)); err != nil {
		return reply{}, fmt.Errorf("say hello: %w", err)
	}
	if _, err := conn.Write(appendFrame(nil, frameHello, 0, hi.append(nil))); err != nil {
		return reply{}, fmt.Errorf("say hello: %w", err)
	}
	if err := conn.SetWriteDeadline(time.Time{}); err != nil {
		return reply{}, fmt.Errorf("say hello: %w", err)
	}
	h, payload, err := frames.next()
	if err != nil {
		return reply{}, fmt.Errorf("wait for the answer to hello: %w", err)
	}
	if h.kind != frameReply {
		return reply{}, fmt.Errorf("answer to hello is a frame of kind %d", h.kind)
	}
	r, err := parseReply(payload)
	if err == nil && r.refusal != "" {
		err = fmt.Errorf("%w: %s", errRefused, r.refusal)
	}
	return r, err
}

// adopt brings our books in line with what the remote has received.
func (p *Peer) adopt(r *reply) error {
	dropped, restarted, err := p.reconcile(r)
	if restarted && p.cfg.OnRestart != nil {
		p.cfg.OnRestart(p.remote, dropped)
	}
	return err
}

func (p *Peer) reconcile(r *reply) (dropped int, restarted bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.life != p.remLife && p.remLife != 0 {
		restarted = true
		dropped = p.log.reset()
		p.stats.Dropped += uint64(dropped)
		for _, lines := range p.credits {
			for _, c := range lines {
				c.sent, c.released = 0, 0
			}
		}
	}
	p.remLife, p.window = r.life, r.window
	p.limit = min(p.cfg.MaxFrameBytes, r.maxFrame)
	if p.limit < 2*p.cfg.FrameBytes {
		return dropped, restarted, fmt.Errorf("it accepts frames of %d bytes at most, too small for FrameBytes of %d", r.maxFrame, p.cfg.FrameBytes)
	}
	if err := p.log.ack(r.received); err != nil {
		return dropped, restarted, err
	}
	if err := p.grant(r.grants); err != nil {
		return dropped, restarted, err
	}
	p.stats.Resends += p.log.rewind()
	p.stats.Connects++
	p.stats.Connected = true
	p.openGates()
	return dropped, restarted, nil
}

// grant books credits that the remote gave back. Callers hold mu.
func (p *Peer) grant(gs []grantNote) error {
	for _, g := range gs {
		c := p.credits[g.class][g.id]
		if c == nil || g.released > c.sent {
			return fmt.Errorf("%d released by task %d, more than was sent", g.released, g.id)
		}
		if g.released > c.released {
			c.released = g.released
			c.grant.open()
		}
	}
	return nil
}

func (p *Peer) disconnected() {
	p.mu.Lock()
	p.stats.Connected = false
	p.acks.open()
	p.mu.Unlock()
}

// serve writes frames, and reads acks in a goroutine of its own, until the
// connection breaks or ctx ends.
func (p *Peer) serve(ctx context.Context, conn net.Conn, frames *frameReader, pack bool) (progress bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		progress, err = p.readAcks(frames)
		cancel(err)
		conn.Close() // so that a write ends too
	})
	w := writer{conn: conn, pack: pack}
	err = p.write(ctx, &w)
	conn.Close()
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, net.ErrClosed) {
		err = cause // rather than "use of closed connection"
	}
	return progress, err
}

// readAcks takes in acks and grants until the connection breaks.
func (p *Peer) readAcks(frames *frameReader) (progress bool, err error) {
	var notes []grantNote
	for {
		h, payload, err := frames.next()
		if err != nil {
			return progress, err
		}
		if h.kind != frameAck {
			return progress, fmt.Errorf("frame of kind %d instead of an ack", h.kind)
		}
		r := reader{b: payload}
		if notes = r.grants(notes[:0]); r.err != nil {
			return progress, fmt.Errorf("bad ack: %w", r.err)
		}
		if err := p.acknowledged(h.seq, notes); err != nil {
			return progress, err
		}
		progress = true
	}
}

func (p *Peer) acknowledged(seq uint64, notes []grantNote) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.log.ack(seq); err != nil {
		return err
	}
	if p.log.bytes < p.cfg.WindowBytes {
		p.space.open()
	}
	p.acks.open()
	return p.grant(notes)
}

// writer is the writing half of a connection.
type writer struct {
	conn   net.Conn
	pack   bool
	packed []byte
	ping   [headerBytes]byte
}

// write writes frames as they come and pings when it is time to, until the
// connection breaks or ctx ends.
func (p *Peer) write(ctx context.Context, w *writer) error {
	putHeader(w.ping[:], header{kind: framePing})
	alive := time.NewTicker(p.cfg.IdleTimeout / 3)
	defer alive.Stop()
	var t taken
	sent := 0
	for {
		var ping bool
		t, ping = p.next(t, sent)
		switch {
		case t.c != nil:
			var err error
			if sent, err = w.frames(t.frames); err != nil {
				p.giveBack(t, sent)
				return fmt.Errorf("write: %w", err)
			}
			select {
			case <-alive.C:
				ping = true
			default:
			}
		case !ping:
			select {
			case <-p.wake:
			case <-alive.C:
				ping = true
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		if ping {
			if _, err := w.conn.Write(w.ping[:]); err != nil {
				p.giveBack(t, sent)
				return fmt.Errorf("ping: %w", err)
			}
		}
	}
}

// next gives back what has become sent bytes on the wire, and takes what is to
// be written next.
func (p *Peer) next(done taken, sent int) (t taken, ping bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written(done, sent)
	if t = p.log.take(); t.c != nil {
		return t, false
	}
	ping, p.pingDue = p.pingDue, false
	p.idle = !ping
	return t, ping
}

func (p *Peer) giveBack(done taken, sent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written(done, sent)
}

func (p *Peer) written(done taken, sent int) {
	if done.c != nil {
		p.log.written(done.c)
		p.stats.Frames += uint64(done.n)
		p.stats.Bytes += uint64(sent)
	}
}

// frames writes frames and returns the bytes written.
func (w *writer) frames(b []byte) (int, error) {
	if !w.pack {
		return w.conn.Write(b)
	}
	w.packed = w.packed[:0]
	n := 0
	for len(b) > 0 {
		var frame []byte
		frame, b = cutFrame(b)
		if len(frame)-headerBytes > maxPackedBytes {
			m, err := w.conn.Write(append(w.packed, frame...))
			if w.packed, n = w.packed[:0], n+m; err != nil {
				return n, err
			}
			continue
		}
		w.packed = appendPacked(w.packed, frame)
	}
	m, err := w.conn.Write(w.packed)
	return n + m, err
}

// cutFrame splits the first frame off.
func cutFrame(b []byte) (frame, rest []byte) {
	h, err := parseHeader(b, maxFrameLimit)
	if err != nil {
		panic(fmt.Sprintf("transport: broken frame in the log: %v", err))
	}
	n := headerBytes + h.length
	return b[:n], b[n:]
}

// appendPacked appends frame compressed, or as it is if that is not shorter.
func appendPacked(dst, frame []byte) []byte {
	head, payload := len(dst), frame[headerBytes:]
	most := headerBytes + s2.MaxEncodedLen(len(payload))
	dst = append(dst, make([]byte, most)...)
	packed := s2.Encode(dst[head+headerBytes:], payload)
	if len(packed) >= len(payload) {
		return append(dst[:head], frame...)
	}
	h, _ := parseHeader(frame, maxFrameLimit)
	putHeader(dst[head:], header{length: len(packed), kind: frameData, flags: flagS2, seq: h.seq})
	return dst[:head+headerBytes+len(packed)]
}
