package transport

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

// fragile is a connection that breaks after so many bytes, in the middle of
// whatever is being written or read then.
type fragile struct {
	net.Conn
	mu          sync.Mutex // reads and writes come from two goroutines
	read, write int
}

// spend takes up to n from budget and tells whether it is used up.
func (c *fragile) spend(budget *int, n int) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, *budget)
	*budget -= n
	return n, *budget == 0
}

func (c *fragile) Write(b []byte) (int, error) {
	n, broken := c.spend(&c.write, len(b))
	n, err := c.Conn.Write(b[:n])
	if broken {
		c.Close()
		return n, net.ErrClosed
	}
	return n, err
}

func (c *fragile) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n, broken := c.spend(&c.read, n); broken {
		c.Close()
		return n, net.ErrClosed
	}
	return n, err
}

// chaos is a link that breaks all the time, and what must come out of it.
type chaos struct {
	t    *testing.T
	p    *Peer
	cuts atomic.Int64

	next    [4]int64 // next number to come, by executor
	acks    uint64
	news    track.Root
	control int
	fast    chan struct{} // a token for every batch of a fast executor
	slow    chan *Batch
}

const (
	chaosCuts   = 60
	chaosTuples = 10_000 // to each executor, at least
)

func (c *chaos) Tuples(_ WorkerID, dst ExecutorID, b *Batch) {
	for i := range b.Tuples {
		tuple := &b.Tuples[i]
		if got, want := tuple.Int(0), c.next[dst]; got != want || tuple.String(1) != fmt.Sprint("text", want) {
			c.t.Errorf("executor %d: tuple %d %q, want %d", dst, got, tuple.String(1), want)
		}
		c.next[dst]++
	}
	if dst == 3 {
		c.slow <- b // has room for all that credits allow
		return
	}
	b.Release()
	select {
	case c.fast <- struct{}{}:
	default:
	}
}

func (c *chaos) Acker(_ WorkerID, _ storm.TaskID, b *AckerBatch) {
	for _, m := range b.Msgs {
		if m.Val != c.acks {
			c.t.Errorf("acker message %d, want %d", m.Val, c.acks)
		}
		c.acks++
	}
	b.Release()
}

func (c *chaos) Outcomes(_ WorkerID, _ storm.TaskID, outcomes []acker.Outcome) {
	for _, o := range outcomes {
		if o.Root != c.news {
			c.t.Errorf("outcome %d, want %d", o.Root, c.news)
		}
		c.news++
	}
}

func (c *chaos) Control(WorkerID, []byte) { c.control++ }

// send sends consecutive numbers to dst in batches of any size until there
// were enough cuts.
func (c *chaos) send(ctx context.Context, dst ExecutorID, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, uint64(dst)))
	o := testStreams().Origin(int32(dst), 0)
	var next int
	for next < chaosTuples || c.cuts.Load() < chaosCuts {
		batch := make([]storm.Tuple, 1+r.IntN(150))
		for i := range batch {
			batch[i] = storm.NewTuple(o, storm.TaskID(dst), nil, storm.Int(int64(next)), storm.String(fmt.Sprint("text", next)))
			next++
		}
		if n, err := c.p.SendTuples(ctx, dst, batch); err != nil || n != len(batch) {
			return fmt.Errorf("%d of %d sent: %w", n, len(batch), err)
		}
	}
	return c.p.SendControl([]byte("end"))
}

func (c *chaos) sendAcks(ctx context.Context) error {
	var next uint64
	for next < chaosTuples || c.cuts.Load() < chaosCuts {
		msgs := make([]acker.Message, 90)
		outcomes := make([]acker.Outcome, len(msgs))
		for i := range msgs {
			msgs[i] = acker.Message{Root: track.Root(next), Val: next}
			outcomes[i] = acker.Outcome{Root: track.Root(next), Kind: acker.OutcomeAck}
			next++
		}
		if err := c.p.SendOutcomes(1, outcomes); err != nil {
			return err
		}
		if err := c.p.SendAcker(ctx, 5, msgs, nil, nil); err != nil {
			return err
		}
	}
	return c.p.SendControl([]byte("end"))
}

// release gives the slow executor's batches back, one for every few batches of
// the others while there are any.
func (c *chaos) release(fastDone <-chan struct{}) {
	for b := range c.slow {
		for range 5 {
			select {
			case <-c.fast:
			case <-fastDone:
			}
		}
		b.Release()
	}
}

func TestChaos(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { testChaos(t, seed, seed%2 == 1) })
	}
}

func testChaos(t *testing.T, seed uint64, s2 bool) {
	cfg := testConfig()
	cfg.BackoffMin, cfg.BackoffMax = 50*time.Microsecond, time.Millisecond
	// Frames must be able to get through between two cuts.
	cfg.FrameBytes, cfg.MaxFrameBytes, cfg.WindowBytes = 512, 4096, 20_000
	cfg.TupleCredits, cfg.AckerCredits = 300, 200
	cfg.Compress = s2
	c := &chaos{t: t, fast: make(chan struct{}, 10), slow: make(chan *Batch, cfg.TupleCredits)}
	l := testListener(t, cfg, c)
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 0))
	c.p = testPeer(t, cfg, func(ctx context.Context) (net.Conn, error) {
		conn, err := dialTo(l)(ctx)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || c.cuts.Add(1) > chaosCuts {
			return conn, err
		}
		return &fragile{Conn: conn, read: 1 + r.IntN(2000), write: 1 + r.IntN(30_000)}, nil
	})

	var fast, others, releasing sync.WaitGroup
	send := func(dst ExecutorID) func() {
		return func() {
			if err := c.send(t.Context(), dst, seed); err != nil {
				t.Error(err)
			}
		}
	}
	fast.Go(send(1))
	fast.Go(send(2))
	others.Go(send(3))
	others.Go(func() {
		if err := c.sendAcks(t.Context()); err != nil {
			t.Error(err)
		}
	})
	fastDone := make(chan struct{})
	releasing.Go(func() { c.release(fastDone) })
	fast.Wait()
	close(fastDone)
	others.Wait()
	if err := c.p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(c.slow)
	releasing.Wait()
	c.check(l)
}

func (c *chaos) check(l *Listener) {
	ps, ls := c.p.Stats(), l.Stats()
	if sum := c.next[1] + c.next[2] + c.next[3]; uint64(sum) != ps.Tuples || ls.Tuples != ps.Tuples || slices.Min(c.next[1:]) < chaosTuples {
		c.t.Errorf("%v tuples arrived, peer: %+v, listener: %+v", c.next, ps, ls)
	}
	if c.acks != ps.AckerMsgs || uint64(c.news) != ps.Outcomes || c.control != 4 {
		c.t.Errorf("%d acks, %d outcomes, %d control messages arrived, peer: %+v", c.acks, c.news, c.control, ps)
	}
	if ps.Dropped != 0 || ls.Broken != 0 || ps.Resends == 0 || c.cuts.Load() < chaosCuts {
		c.t.Errorf("peer: %+v, listener: %+v, %d cuts", ps, ls, c.cuts.Load())
	}
	if testing.Verbose() {
		c.t.Logf("peer: %+v, listener: %+v", ps, ls)
	}
}

// The reason must be told to both, whoever is the older.
func TestVersionMismatchAtTheDialler(t *testing.T) {
	ln := newPipes()
	log := newErrorLog()
	cfg := testConfig()
	cfg.OnError = log.add
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		no := reply{refusal: "no"}
		b := no.append(nil)
		b[len(magic)] = 9
		_, _, err = newFrameReader(conn, 4096, 0, time.Minute).next()
		if err == nil {
			_, _ = conn.Write(appendFrame(nil, frameReply, 0, b))
		}
	}()
	testPeer(t, cfg, ln.dial)
	if got := log.wait(t); !strings.Contains(got, "the peer speaks version 9 of the protocol, this worker version 1") {
		t.Error(got)
	}
}
