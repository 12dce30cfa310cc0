package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// Dial opens a connection to the remote worker's Listener.
type Dial func(ctx context.Context) (net.Conn, error)

// Peer sends to one remote worker. All methods may be called by many
// goroutines at once. Records are encoded by who sends them, into memory that
// all share; one goroutine writes it out, at once if it has nothing else to
// do, so that batches grow under load and only then.
type Peer struct {
	cfg     Config
	remote  WorkerID
	dial    Dial
	life    uint64
	reports reporter
	cancel  context.CancelFunc
	done    chan struct{}
	wake    chan struct{} // capacity 1: the writer has something to do

	mu      sync.Mutex
	err     error // ErrClosed once closed
	idle    bool  // the writer sleeps and wants a token in wake
	pingDue bool
	log     outlog
	enc     encoder
	limit   int                  // largest frame that both ends accept
	remLife uint64               // the remote's life; 0 before the first hello
	window  [creditClasses]int64 // as the remote said at hello
	credits [creditClasses]map[int32]*creditLine
	space   gate // opened when the unacknowledged bytes get fewer
	acks    gate // opened at every ack and change of the connection
	stats   PeerStats
}

// creditLine counts what may be sent to one executor or acker task. Both
// totals are since the remote's life began.
type creditLine struct {
	sent     int64
	released int64 // as the remote told
	grant    gate
}

// gate lets goroutines wait for a change of something that a mutex guards.
type gate struct{ ch chan struct{} }

// wait returns a channel that the next open closes.
func (g *gate) wait() <-chan struct{} {
	if g.ch == nil {
		g.ch = make(chan struct{})
	}
	return g.ch
}

func (g *gate) open() {
	if g.ch != nil {
		close(g.ch)
		g.ch = nil
	}
}

// NewPeer starts to connect to remote and goes on until Close. Sends before
// the first connection wait for it.
func NewPeer(cfg Config, remote WorkerID, dial Dial) (*Peer, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if remote == "" || len(remote) > maxIDBytes {
		return nil, fmt.Errorf("transport: the remote worker's id is %d bytes long, but must be 1 to %d", len(remote), maxIDBytes)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Peer{
		cfg: cfg, remote: remote, dial: dial,
		life:    newLife(),
		reports: reporter{report: cfg.OnError},
		cancel:  cancel,
		done:    make(chan struct{}),
		wake:    make(chan struct{}, 1),
		log:     newOutlog(cfg.FrameBytes),
		enc:     encoder{codecs: cfg.Codecs},
		limit:   cfg.MaxFrameBytes,
	}
	for class := range p.credits {
		p.credits[class] = make(map[int32]*creditLine)
	}
	go func() {
		defer close(p.done)
		p.run(ctx)
	}()
	return p, nil
}

// Remote is the worker that p sends to.
func (p *Peer) Remote() WorkerID { return p.remote }

// Close ends the connection, lets blocked sends return ErrClosed, and waits
// for the goroutines of p. What is not acknowledged is lost: call Flush before
// if that matters. It is safe to call it twice.
func (p *Peer) Close() {
	p.mu.Lock()
	p.err = ErrClosed
	p.openGates()
	p.mu.Unlock()
	p.cancel()
	<-p.done
}

// SendTuples sends batch, which it does not keep, to the tasks of executor
// dst, waiting while dst has no credits left or the unacknowledged window is
// full. It returns how many tuples of batch were accepted. That is all of them
// unless there is an error:
//   - a *TupleError says that tuple batch[n] itself cannot be sent; the caller
//     may go on with batch[n+1:];
//   - an error that wraps ctx's or ErrClosed says why it waits no longer.
func (p *Peer) SendTuples(ctx context.Context, dst ExecutorID, batch []storm.Tuple) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line(tupleCredits, int32(dst))
	for n < len(batch) {
		room, err := p.await(ctx, tupleCredits, line)
		if err != nil {
			return n, fmt.Errorf("send tuples to executor %d of worker %q: %w", dst, p.remote, err)
		}
		rest := batch[n:]
		sent, err := p.encode(dst, rest[:min(len(rest), room)])
		line.sent += int64(sent)
		n += sent
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// encode appends tuples of batch to the log, as many as fit into the frame.
func (p *Peer) encode(dst ExecutorID, batch []storm.Tuple) (int, error) {
	buf := p.log.open()
	p.enc.limit = p.log.room(p.limit)
	out, n, err := p.enc.appendTuples(buf, dst, batch, p.log.soft())
	if n > 0 {
		p.stats.Tuples += uint64(n)
		p.commit(out, n)
	}
	if err == nil {
		return n, nil
	}
	if errors.Is(err, errTooLong) {
		if n > 0 || !p.log.fresh() {
			p.log.close() // try again with a frame to itself
			return n, nil
		}
		err = fmt.Errorf("%w: it has about %d bytes, the limit is %d", errTooLong, sizeOf(&batch[0]), p.limit)
	}
	e := &TupleError{Err: err}
	if o := batch[n].Origin(); o != nil {
		e.Component, e.Stream = o.Component, o.Stream
	}
	return n, e
}

// SendAcker sends messages, fails and resets to an acker task, waiting like
// SendTuples. It keeps none of the slices. With an error some may have been
// sent.
func (p *Peer) SendAcker(ctx context.Context, task storm.TaskID, msgs []acker.Message, fails, resets []track.Root) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line(ackerCredits, int32(task))
	for len(msgs)+len(fails)+len(resets) > 0 {
		room, err := p.await(ctx, ackerCredits, line)
		if err != nil {
			return fmt.Errorf("send to acker task %d of worker %q: %w", task, p.remote, err)
		}
		// Of each record no more than fits well into a frame.
		room = min(room, max(1, p.cfg.FrameBytes/32))
		nm := min(len(msgs), room)
		nf := min(len(fails), room-nm)
		nr := min(len(resets), room-nm-nf)
		p.commit(appendAcker(p.log.open(), int32(task), msgs[:nm], fails[:nf], resets[:nr]), 0)
		line.sent += int64(nm + nf + nr)
		p.stats.AckerMsgs += uint64(nm + nf + nr)
		msgs, fails, resets = msgs[nm:], fails[nf:], resets[nr:]
	}
	return nil
}

// SendOutcomes sends news to a spout task. It never waits, for nothing else
// keeps the circle spout, bolt, acker, spout from blocking itself: how many
// outcomes there can be is bounded by the trees that the spouts keep pending.
// The only error is ErrClosed.
func (p *Peer) SendOutcomes(task storm.TaskID, outcomes []acker.Outcome) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	for len(outcomes) > 0 {
		n := min(len(outcomes), max(1, p.cfg.FrameBytes/16))
		p.commit(appendOutcomes(p.log.open(), int32(task), outcomes[:n]), 0)
		p.stats.Outcomes += uint64(n)
		outcomes = outcomes[n:]
	}
	return nil
}

// SendControl sends a message of the runtime itself. It never waits, so it is
// for few and small ones.
func (p *Peer) SendControl(msg []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	if limit := p.limit / 2; len(msg) > limit {
		return fmt.Errorf("control message to worker %q has %d bytes, more than the limit of %d", p.remote, len(msg), limit)
	}
	buf := p.log.open()
	if len(buf)+len(msg) > p.log.soft() {
		p.log.close()
		buf = p.log.open()
	}
	p.commit(appendControl(buf, msg), 0)
	return nil
}

// Ready waits until p is connected.
func (p *Peer) Ready(ctx context.Context) error {
	return p.until(ctx, func() bool { return p.stats.Connected })
}

// Flush waits until all that was sent before has been received. It fails if
// the remote worker restarts before that.
func (p *Peer) Flush(ctx context.Context) error {
	p.mu.Lock()
	p.log.close()
	seq, life := p.log.seq, p.remLife
	p.pingDue = true
	p.wakeWriter()
	p.mu.Unlock()
	lost := false
	err := p.until(ctx, func() bool {
		lost = p.remLife != life && life != 0
		return lost || p.log.acked >= seq
	})
	if lost {
		return fmt.Errorf("flush: worker %q was restarted", p.remote)
	}
	return err
}

// until waits until ok, which is called with mu held after every change.
func (p *Peer) until(ctx context.Context, ok func() bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !ok() {
		if p.err != nil {
			return fmt.Errorf("wait for worker %q: %w", p.remote, p.err)
		}
		if err := p.block(ctx, &p.acks); err != nil {
			return fmt.Errorf("wait for worker %q: %w", p.remote, err)
		}
	}
	return nil
}

// Stats may be called at any time.
func (p *Peer) Stats() PeerStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.UnackedBytes = p.log.bytes
	return s
}

func (p *Peer) line(class creditClass, id int32) *creditLine {
	c := p.credits[class][id]
	if c == nil {
		c = new(creditLine)
		p.credits[class][id] = c
	}
	return c
}

// await returns how many credits there are, once there are any and the window
// has room. It lets mu go while it waits.
func (p *Peer) await(ctx context.Context, class creditClass, c *creditLine) (int, error) {
	for {
		if p.err != nil {
			return 0, p.err
		}
		g := &c.grant
		if room := p.window[class] + c.released - c.sent; room > 0 {
			if p.log.bytes < p.cfg.WindowBytes {
				return int(room), nil
			}
			g = &p.space
		}
		if err := p.block(ctx, g); err != nil {
			return 0, err
		}
	}
}

// block waits for g to open, without mu.
func (p *Peer) block(ctx context.Context, g *gate) error {
	opened := g.wait()
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-opened:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// commit keeps what was appended to the log and has it written.
func (p *Peer) commit(buf []byte, tuples int) {
	p.log.commit(buf, tuples)
	p.wakeWriter()
}

func (p *Peer) wakeWriter() {
	if !p.idle {
		return
	}
	p.idle = false
	select {
	case p.wake <- struct{}{}:
	default: // the writer has not taken the last token yet
	}
}

// openGates lets everybody who waits look again.
func (p *Peer) openGates() {
	p.space.open()
	p.acks.open()
	for _, lines := range p.credits {
		for _, c := range lines {
			c.grant.open()
		}
	}
}
