package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/transport"
)

// creditsPerBuffer is how many receive buffers a worker grants to each other
// worker, and how many times that again to ackers, whose messages are small.
// Frames of a thousand tuples take turns on their way there and the credits on
// their way back: with a single buffer the two would wait for each other.
const creditsPerBuffer = 4

// Network is how a worker reaches the others of its topology.
type Network struct {
	// Listener is where the others reach this worker; Run closes it.
	Listener net.Listener
	// Addr is the present address of a worker by its index. It is asked before
	// each attempt to connect, since a restarted worker may have another.
	Addr func(worker int) string
	// ID names a worker, the same in all workers of the topology; nil is its
	// index.
	ID func(worker int) string
	// Dial opens a connection to an address; nil is TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
}

func (n *Network) id(worker int) transport.WorkerID {
	if n.ID == nil {
		return transport.WorkerID(strconv.Itoa(worker))
	}
	return transport.WorkerID(n.ID(worker))
}

// dialer opens connections to a worker.
func (n *Network) dialer(worker int) transport.Dial {
	dial := n.Dial
	if dial == nil {
		dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	return func(ctx context.Context) (net.Conn, error) {
		conn, err := dial(ctx, n.Addr(worker))
		if err != nil {
			return nil, fmt.Errorf("worker %s: %w", n.id(worker), err)
		}
		return conn, nil
	}
}

// links are a worker's connections: a Peer to each other worker for what goes
// out, a Listener for what comes in.
type links struct {
	w        *Worker
	network  *Network
	config   transport.Config
	ctx      context.Context //nolint:containedctx // of sends by executors; ends when waiting makes no sense
	cancel   context.CancelFunc
	listener atomic.Pointer[transport.Listener] // nil before Run

	mu     sync.Mutex
	peers  map[int]*transport.Peer // by worker
	routes map[int]*route          // by index in the layout of an executor elsewhere

	// Wrappers for what arrives; the contents belong to the connections.
	batches sync.Pool
	acks    sync.Pool
}

func newLinks(w *Worker, network *Network) *links {
	l := &links{w: w, network: network, peers: map[int]*transport.Peer{}, routes: map[int]*route{}}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.config = transport.DefaultConfig(w.spec.TopologyID, network.id(w.spec.Index))
	c := w.spec.Layout.Conf
	l.config.Codecs = gobCodec{}
	l.config.Compress = c.String(conf.TransportCompression) == "s2"
	buffer := min(c.Int(storm.ConfTopologyExecutorReceiveBufferSize), transport.MaxCredits)
	l.config.TupleCredits = min(creditsPerBuffer*buffer, transport.MaxCredits)
	l.config.AckerCredits = min(creditsPerBuffer*l.config.TupleCredits, transport.MaxCredits)
	l.config.OnError = func(err error) {
		if run := w.running.Load(); run == nil || (*run).Err() == nil { // else the others are stopping too
			w.log.Warn("connection to another worker", "error", err)
		}
	}
	l.config.OnRestart = func(peer transport.WorkerID, dropped int) {
		w.log.Warn("another worker was restarted", "peer", peer, "lost_tuples", dropped)
		w.suspect()
		if w.spec.Layout.Stateful() {
			// Markers may be among what was lost, and nobody waits for those.
			w.broken(fmt.Sprintf("worker %s was restarted", peer))
		}
	}
	return l
}

// open begins to accept connections.
func (l *links) open() error {
	ln, err := transport.Listen(l.config, l.network.Listener, l, l.w.spec.Layout)
	if err != nil {
		return fmt.Errorf("listen for other workers: %w", err)
	}
	l.listener.Store(ln)
	return nil
}

// abort releases everyone who waits to send.
func (l *links) abort() {
	if l != nil {
		l.cancel()
	}
}

// close ends all connections.
func (l *links) close() {
	l.cancel()
	for _, p := range l.all() {
		p.Close()
	}
	if ln := l.listener.Load(); ln == nil {
		_ = l.network.Listener.Close()
	} else if err := ln.Close(); err != nil {
		l.w.log.Warn("close the listener for other workers", "error", err)
	}
}

// all are the connections of this moment.
func (l *links) all() map[int]*transport.Peer {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.peers)
}

// tupleLane is the way to an executor of another worker.
type tupleLane struct {
	l     *links
	route *route
	dst   transport.ExecutorID
}

// Send implements executor.Lane. A tuple that cannot be carried fails by
// itself; the others go on.
func (t *tupleLane) Send(b *executor.Batch, _ int) (*executor.Batch, error) {
	rest := b.Tuples
	for len(rest) > 0 {
		n := 0
		err := t.route.send(t.l.ctx, func(p *transport.Peer) (err error) {
			rest = rest[n:] // what a peer took that is gone times out
			n, err = p.SendTuples(t.l.ctx, t.dst, rest)
			return err
		})
		if err == nil {
			break
		}
		refused, ok := errors.AsType[*transport.TupleError](err)
		if !ok {
			return nil, err
		}
		t.l.w.refuse(&rest[n], refused)
		rest = rest[n+1:]
	}
	b.Reset()
	return b, nil
}

type ackLane struct {
	l     *links
	route *route
	task  storm.TaskID
}

// Send implements executor.Lane.
func (a *ackLane) Send(b *executor.AckBatch, _ int) (*executor.AckBatch, error) {
	err := a.route.send(a.l.ctx, func(p *transport.Peer) error {
		return p.SendAcker(a.l.ctx, a.task, b.Messages, b.Fails, b.Resets)
	})
	b.Reset()
	return b, err
}

type outcomeLane struct {
	route *route
	task  storm.TaskID
}

// Send implements executor.Lane. It never waits; a spout that runs nowhere does
// not wait for outcomes either.
func (o *outcomeLane) Send(b *executor.OutcomeBatch, _ int) (*executor.OutcomeBatch, error) {
	var err error
	if p := o.route.now(); p != nil {
		if err = p.SendOutcomes(o.task, b.Outcomes); errors.Is(err, transport.ErrClosed) && o.route.now() != p {
			err = nil // it was lost with the worker that the spout ran on
		}
	}
	b.Outcomes = b.Outcomes[:0]
	return b, err
}

// refuse fails a tuple that cannot leave this worker.
func (w *Worker) refuse(t *storm.Tuple, err error) {
	w.lost.Add(1)
	w.errors.report(t.SourceComponent(), t.SourceTask(), err)
	if more := t.Anchors(); more != nil {
		for _, a := range more {
			w.failTree(a.Root)
		}
	} else if a := t.Anchor(); a.Root != 0 {
		w.failTree(a.Root)
	}
}

func (w *Worker) failTree(root track.Root) {
	tasks := w.spec.Layout.Tasks[storm.AckerComponent]
	if len(tasks) == 0 {
		return
	}
	lane := w.failLanes[acker.Choose(root&^track.First, len(tasks))]
	if _, err := lane.Send(&executor.AckBatch{Fails: []track.Root{root}}, 1); err != nil {
		w.log.Debug("a failed tuple times out instead", "error", err) // the worker is stopping
	}
}

// Tuples implements transport.Receiver.
func (l *links) Tuples(_ transport.WorkerID, dst transport.ExecutorID, b *transport.Batch) {
	u := l.w.byTask[storm.TaskID(dst)]
	if u == nil || u.tuple == nil {
		l.stray(int32(dst))
		b.Release()
		return
	}
	in, ok := l.batches.Get().(*executor.Batch)
	if !ok {
		in = &executor.Batch{}
	}
	in.Tuples, in.Home = b.Tuples, home[*executor.Batch]{b, in, &l.batches}
	if u.tuple.Give(in, len(b.Tuples)) != nil {
		b.Release()
	}
}

// Acker implements transport.Receiver.
func (l *links) Acker(_ transport.WorkerID, task storm.TaskID, b *transport.AckerBatch) {
	u := l.w.byTask[task]
	if u == nil || u.acks == nil {
		l.stray(int32(task))
		b.Release()
		return
	}
	in, ok := l.acks.Get().(*executor.AckBatch)
	if !ok {
		in = &executor.AckBatch{}
	}
	*in = executor.AckBatch{Messages: b.Msgs, Fails: b.Fails, Resets: b.Resets, Home: home[*executor.AckBatch]{b, in, &l.acks}}
	if u.acks.Give(in, in.Len()) != nil {
		b.Release()
	}
}

// Outcomes implements transport.Receiver.
func (l *links) Outcomes(_ transport.WorkerID, task storm.TaskID, outcomes []acker.Outcome) {
	u := l.w.byTask[task]
	if u == nil || u.outs == nil {
		l.stray(int32(task))
		return
	}
	in := u.outs.Free()
	if in == nil {
		in = &executor.OutcomeBatch{}
	}
	in.Outcomes = append(in.Outcomes[:0], outcomes...)
	_ = u.outs.Give(in, len(outcomes)) // closed: the spout is going
}

// Control implements transport.Receiver.
func (l *links) Control(from transport.WorkerID, msg []byte) {
	if err := l.w.hear(msg); err != nil {
		l.w.log.Warn("control message from another worker", "peer", from, "error", err)
	}
}

// stray notes what is addressed to nobody here: the sender has another layout.
func (l *links) stray(task int32) {
	l.w.log.Warn("another worker sends to a task that does not run here", "task", task)
}

// home gives contents back to their connection and the wrapper to its pool.
type home[B any] struct {
	contents interface{ Release() }
	wrapper  B
	pool     *sync.Pool
}

// Release implements the Home of a batch.
func (h home[B]) Release() {
	h.contents.Release()
	h.pool.Put(h.wrapper)
}
