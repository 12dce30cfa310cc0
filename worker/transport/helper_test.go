package transport

import (
	"context"
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// streams are the origins of all tests: tasks 1 to 9, streams 0 and 1.
type streams map[[2]int]*track.Origin

func testStreams() streams {
	s := streams{}
	for task := 1; task <= 9; task++ {
		for i, name := range []string{"default", "extra"} {
			s[[2]int{task, i}] = &track.Origin{
				Component: "words", Stream: name, Task: int32(task), StreamIndex: uint16(i),
				Fields: []string{"word", "count", "id"},
			}
		}
	}
	return s
}

func (s streams) Origin(task int32, stream uint16) *track.Origin {
	return s[[2]int{int(task), int(stream)}]
}

// inbox is a Receiver that calls what the test sets.
type inbox struct {
	onTuples   func(from WorkerID, dst ExecutorID, b *Batch)
	onAcker    func(task storm.TaskID, b *AckerBatch)
	onOutcomes func(task storm.TaskID, o []acker.Outcome)
	onControl  func(msg []byte)
}

func (i *inbox) Tuples(from WorkerID, dst ExecutorID, b *Batch) {
	if i.onTuples == nil {
		b.Release()
		return
	}
	i.onTuples(from, dst, b)
}

func (i *inbox) Acker(_ WorkerID, task storm.TaskID, b *AckerBatch) {
	if i.onAcker == nil {
		b.Release()
		return
	}
	i.onAcker(task, b)
}

func (i *inbox) Outcomes(_ WorkerID, task storm.TaskID, o []acker.Outcome) {
	if i.onOutcomes != nil {
		i.onOutcomes(task, o)
	}
}

func (i *inbox) Control(_ WorkerID, msg []byte) {
	if i.onControl != nil {
		i.onControl(msg)
	}
}

// errorLog collects what OnError is told.
type errorLog struct {
	mu   sync.Mutex
	errs []string
	more chan struct{} // capacity 1
}

func newErrorLog() *errorLog { return &errorLog{more: make(chan struct{}, 1)} }

func (l *errorLog) add(err error) {
	l.mu.Lock()
	l.errs = append(l.errs, err.Error())
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// wait returns the first error, once there is one.
func (l *errorLog) wait(t *testing.T) string {
	t.Helper()
	for {
		l.mu.Lock()
		errs := l.errs
		l.mu.Unlock()
		if len(errs) > 0 {
			return errs[0]
		}
		select {
		case <-l.more:
		case <-t.Context().Done():
			t.Fatal("no error was reported")
		}
	}
}

func testListener(tb testing.TB, cfg Config, recv Receiver) *Listener {
	tb.Helper()
	cfg.Self = "b"
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	l, err := Listen(cfg, ln, recv, testStreams())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

func dialTo(l *Listener) Dial {
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
}

func testPeer(tb testing.TB, cfg Config, dial Dial) *Peer {
	tb.Helper()
	cfg.Self = "a"
	p, err := NewPeer(cfg, "b", dial)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// testPair is a Peer connected to a Listener.
func testPair(tb testing.TB, cfg Config, recv Receiver) (*Peer, *Listener) {
	tb.Helper()
	l := testListener(tb, cfg, recv)
	return testPeer(tb, cfg, dialTo(l)), l
}
