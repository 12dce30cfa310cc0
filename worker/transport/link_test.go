package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/acker"
)

func testConfig() Config {
	cfg := DefaultConfig("t", "b")
	cfg.BackoffMin, cfg.BackoffMax = time.Millisecond, 4*time.Millisecond
	return cfg
}

// numbered are n tuples whose only value counts from first.
func numbered(first, n int) []storm.Tuple {
	o := testStreams().Origin(1, 0)
	ts := make([]storm.Tuple, n)
	for i := range ts {
		ts[i] = storm.NewTuple(o, 7, nil, storm.Int(int64(first+i)))
	}
	return ts
}

func TestConfigRules(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
	}{
		{"Topology", func(c *Config) { c.Topology = "" }},
		{"Self", func(c *Config) { c.Self = WorkerID(strings.Repeat("x", 2000)) }},
		{"FrameBytes", func(c *Config) { c.FrameBytes = 255 }},
		{"MaxFrameBytes", func(c *Config) { c.MaxFrameBytes = 2*c.FrameBytes - 1 }},
		{"WindowBytes", func(c *Config) { c.WindowBytes = 0 }},
		{"TupleCredits", func(c *Config) { c.TupleCredits = 0 }},
		{"AckerCredits", func(c *Config) { c.AckerCredits = 1 << 25 }},
		{"IdleTimeout", func(c *Config) { c.IdleTimeout = 0 }},
		{"BackoffMin", func(c *Config) { c.BackoffMin = 2 * c.BackoffMax }},
	}
	for _, tt := range tests {
		cfg := DefaultConfig("t", "a")
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		tt.change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), "transport config: "+tt.name+" is ") {
			t.Errorf("%s: error %v", tt.name, err)
		}
		if _, err := NewPeer(cfg, "b", nil); err == nil {
			t.Errorf("%s: NewPeer accepts it", tt.name)
		}
		if _, err := Listen(cfg, nil, nil, nil); err == nil {
			t.Errorf("%s: Listen accepts it", tt.name)
		}
	}
}

// Everything that can be sent arrives, with and without compression.
func TestAllKinds(t *testing.T) {
	for _, s2 := range []bool{false, true} {
		t.Run(fmt.Sprint("s2=", s2), func(t *testing.T) {
			cfg := testConfig()
			cfg.Compress = s2
			var tuples []storm.Tuple
			var got AckerBatch
			var news []acker.Outcome
			var control []string
			recv := &inbox{
				onTuples: func(from WorkerID, dst ExecutorID, b *Batch) {
					if from != "a" || dst != 7 {
						t.Errorf("tuples from %q for %d", from, dst)
					}
					tuples = append(tuples, b.Tuples...)
					b.Release()
				},
				onAcker: func(task storm.TaskID, b *AckerBatch) {
					got.Msgs, got.Fails, got.Resets = append(got.Msgs, b.Msgs...), append(got.Fails, b.Fails...), append(got.Resets, b.Resets...)
					b.Release()
				},
				onOutcomes: func(_ storm.TaskID, o []acker.Outcome) { news = append(news, o...) },
				onControl:  func(msg []byte) { control = append(control, string(msg)) },
			}
			p, l := testPair(t, cfg, recv)
			ctx := t.Context()

			sent := benchTuples(20_000, 100) // more than the credits, and than a frame
			if n, err := p.SendTuples(ctx, 7, sent); err != nil || n != len(sent) {
				t.Fatalf("%d sent: %v", n, err)
			}
			want := AckerBatch{Fails: []track.Root{1, 2}, Resets: []track.Root{3}}
			for i := range 40_000 {
				want.Msgs = append(want.Msgs, acker.Message{Root: track.MakeRoot(1, uint64(i)), Val: uint64(i)})
			}
			if err := p.SendAcker(ctx, 5, want.Msgs, want.Fails, want.Resets); err != nil {
				t.Fatal(err)
			}
			wantNews := slices.Repeat([]acker.Outcome{{Root: 1, Kind: acker.OutcomeAck}}, 5000)
			if err := errors.Join(p.SendOutcomes(1, wantNews), p.SendControl([]byte("hi"))); err != nil {
				t.Fatal(err)
			}
			if err := p.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if err := sameTuples(tuples, sent); err != nil {
				t.Error(err)
			}
			if !slices.Equal(got.Msgs, want.Msgs) || !slices.Equal(got.Fails, want.Fails) || !slices.Equal(got.Resets, want.Resets) {
				t.Errorf("%d messages, %d fails, %d resets; want %d, 2, 1", len(got.Msgs), len(got.Fails), len(got.Resets), len(want.Msgs))
			}
			if !slices.Equal(news, wantNews) || !slices.Equal(control, []string{"hi"}) {
				t.Errorf("%d outcomes, control %q", len(news), control)
			}
			ps, ls := p.Stats(), l.Stats()
			if ps.Tuples != 20_000 || ps.AckerMsgs != 40_003 || ps.Outcomes != 5000 || ps.Connects != 1 || ps.Resends != 0 || ps.Dropped != 0 || ps.UnackedBytes != 0 || !ps.Connected {
				t.Errorf("peer: %+v", ps)
			}
			if ls.Tuples != 20_000 || ls.AckerMsgs != 40_003 || ls.Outcomes != 5000 || ls.Connections != 1 || ls.Frames != ps.Frames || ls.Bytes != ps.Bytes || ls.Duplicates+ls.Broken+ls.Refused != 0 {
				t.Errorf("listener: %+v; peer: %+v", ls, ps)
			}
		})
	}
}

// A blocked executor stops its own senders and nobody else.
func TestCredits(t *testing.T) {
	cfg := testConfig()
	cfg.TupleCredits = 10
	held := make(chan *Batch, 100)
	fast := make(chan int, 1000)
	p, _ := testPair(t, cfg, &inbox{onTuples: func(_ WorkerID, dst ExecutorID, b *Batch) {
		if dst == 1 {
			held <- b
			return
		}
		fast <- len(b.Tuples)
		b.Release()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n, err := p.SendTuples(ctx, 1, numbered(0, 10)); n != 10 || err != nil {
		t.Fatalf("%d sent: %v", n, err)
	}
	stuck := make(chan error)
	go func() {
		n, err := p.SendTuples(ctx, 1, numbered(10, 5))
		if n != 0 {
			err = fmt.Errorf("%d were sent", n)
		}
		stuck <- err
	}()
	for range 100 {
		if _, err := p.SendTuples(ctx, 2, numbered(0, 100)); err != nil {
			t.Fatal(err)
		}
	}
	for n := 0; n < 10_000; {
		n += <-fast
	}
	cancel()
	if err := <-stuck; !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), `send tuples to executor 1 of worker "b": `) {
		t.Errorf("error %v, want one of the context", err)
	}
	// Half of the credits come back with the release of half of the tuples, and
	// a batch bigger than all credits goes through in parts.
	done := make(chan error)
	go func() {
		_, err := p.SendTuples(t.Context(), 1, numbered(10, 95))
		done <- err
	}()
	next := int64(0)
	for next < 105 {
		b := <-held
		if len(b.Tuples) > 10 {
			t.Fatalf("%d tuples, more than the credits", len(b.Tuples))
		}
		for i := range b.Tuples {
			if got := b.Tuples[i].Int(0); got != next {
				t.Fatalf("tuple %d, want %d", got, next)
			}
			next++
		}
		b.Release()
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCloseWhileBlocked(t *testing.T) {
	cfg := testConfig()
	cfg.TupleCredits, cfg.AckerCredits = 5, 5
	var held []*Batch
	p, _ := testPair(t, cfg, &inbox{
		onTuples: func(_ WorkerID, _ ExecutorID, b *Batch) { held = append(held, b) },
		onAcker:  func(storm.TaskID, *AckerBatch) {},
	})
	if err := p.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	go func() {
		n, err := p.SendTuples(t.Context(), 1, numbered(0, 6))
		if n != 5 {
			err = fmt.Errorf("%d sent, want 5: %w", n, err)
		}
		errs <- err
	}()
	go func() { errs <- p.SendAcker(t.Context(), 1, make([]acker.Message, 6), nil, nil) }()
	for p.Stats().Tuples < 5 || p.Stats().AckerMsgs < 5 {
		if err := p.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.Close()
	for range 2 {
		if err := <-errs; !errors.Is(err, ErrClosed) {
			t.Errorf("error %v, want ErrClosed", err)
		}
	}
	p.Close()
	if _, err := p.SendTuples(t.Context(), 2, numbered(0, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
	if err := errors.Join(p.SendOutcomes(1, nil), p.SendControl(nil), p.Ready(t.Context())); err == nil || strings.Count(err.Error(), "transport is closed") < 2 {
		t.Errorf("error %v, want ErrClosed twice", err)
	}
}

// The window stops senders, but not outcomes, while nobody acknowledges.
func TestWindow(t *testing.T) {
	cfg := testConfig()
	cfg.WindowBytes = 1000
	cfg.OnError = nil
	down := errors.New("unplugged")
	var l *Listener
	plugged := make(chan struct{})
	p := testPeer(t, cfg, func(ctx context.Context) (net.Conn, error) {
		select {
		case <-plugged:
			return dialTo(l)(ctx)
		default:
			return nil, down
		}
	})
	// Without credits, which come with the first connection, nothing goes.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := p.SendTuples(ctx, 1, numbered(0, 1)); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d sent: %v", n, err)
	}
	outcomes := make([]acker.Outcome, 100_000)
	for i := range outcomes {
		outcomes[i].Root = track.Root(i)
	}
	if err := p.SendOutcomes(1, outcomes); err != nil {
		t.Fatal(err)
	}
	if got := p.Stats().UnackedBytes; got < 200_000 {
		t.Errorf("%d bytes kept, want all", got)
	}
	got := 0
	l = testListener(t, cfg, &inbox{onOutcomes: func(_ storm.TaskID, o []acker.Outcome) { got += len(o) }})
	close(plugged)
	if n, err := p.SendTuples(t.Context(), 1, numbered(0, 1)); n != 1 || err != nil {
		t.Errorf("%d sent: %v", n, err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got != len(outcomes) {
		t.Errorf("%d outcomes arrived, want %d", got, len(outcomes))
	}
}

func TestGiantTuple(t *testing.T) {
	cfg := testConfig()
	cfg.MaxFrameBytes = 8 << 20
	var got []int
	p, _ := testPair(t, cfg, &inbox{onTuples: func(_ WorkerID, _ ExecutorID, b *Batch) {
		for i := range b.Tuples {
			got = append(got, len(b.Tuples[i].String(0)))
		}
		b.Release()
	}})
	o := testStreams().Origin(1, 0)
	var batch []storm.Tuple
	for _, n := range []int{10, 5 << 20, 3, 9 << 20, 7 << 20, 1} {
		batch = append(batch, storm.NewTuple(o, 7, nil, storm.String(strings.Repeat("x", n))))
	}
	n, err := p.SendTuples(t.Context(), 7, batch)
	want := `cannot send a tuple of component "words", stream "default": too long: it has about 9437185 bytes, the limit is 8388608`
	if bad, ok := errors.AsType[*TupleError](err); !ok || n != 3 || err.Error() != want || bad.Component != "words" {
		t.Fatalf("%d sent, error %v; want 3, %q", n, err, want)
	}
	if n, err := p.SendTuples(t.Context(), 7, batch[n+1:]); n != 2 || err != nil {
		t.Fatalf("%d sent: %v", n, err)
	}
	if err := p.SendControl(make([]byte, 5<<20)); err == nil {
		t.Error("a huge control message was accepted")
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int{10, 5 << 20, 3, 7 << 20, 1}) {
		t.Errorf("lengths %v arrived", got)
	}
}

// A value that only the other end cannot handle costs its tuple and nothing
// else, credits included.
func TestRefusedByCodec(t *testing.T) {
	cfg := testConfig()
	cfg.TupleCredits = 50
	log := newErrorLog()
	cfg.OnError = log.add
	var got []int64
	l := testListener(t, cfg, &inbox{onTuples: func(_ WorkerID, _ ExecutorID, b *Batch) {
		for i := range b.Tuples {
			got = append(got, b.Tuples[i].Int(0))
		}
		b.Release()
	}})
	cfg.Codecs = pointCodec{}
	p := testPeer(t, cfg, dialTo(l))
	o := testStreams().Origin(1, 0)
	batch := numbered(0, 2)
	for range 200 {
		batch = append(batch, storm.NewTuple(o, 7, nil, storm.Int(2), storm.Any(point{})))
	}
	batch = append(batch, numbered(3, 2)...)
	if n, err := p.SendTuples(t.Context(), 7, batch); err != nil || n != len(batch) {
		t.Fatalf("%d sent: %v", n, err)
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, []int64{0, 1, 3, 4}) {
		t.Errorf("%v arrived", got)
	}
	if s := l.Stats(); s.Dropped != 200 || s.Tuples != 4 {
		t.Errorf("%+v", s)
	}
	if got, want := log.wait(t), `from worker "a": dropped a tuple of component "words", stream "default": decode a foreign value: no codec is registered in this worker`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A restarted worker has forgotten everything; the sender notices and goes on.
func TestRestart(t *testing.T) {
	cfg := testConfig()
	var mu sync.Mutex
	var current *Listener
	restarts := make(chan int, 10)
	cfg.OnRestart = func(peer WorkerID, dropped int) { restarts <- dropped }
	swallow := &inbox{onTuples: func(WorkerID, ExecutorID, *Batch) {}} // never released
	current = testListener(t, cfg, swallow)
	gate := make(chan struct{}, 10)
	gate <- struct{}{}
	p := testPeer(t, cfg, func(ctx context.Context) (net.Conn, error) {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		return dialTo(current)(ctx)
	})
	ctx := t.Context()
	if n, err := p.SendTuples(ctx, 7, numbered(0, 4000)); n != 4000 || err != nil {
		t.Fatalf("%d sent: %v", n, err)
	}
	if err := p.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	if err := current.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Unlock()
	if err := p.until(ctx, func() bool { return !p.stats.Connected }); err != nil {
		t.Fatal(err)
	}
	if n, err := p.SendTuples(ctx, 7, numbered(4000, 96)); n != 96 || err != nil { // the last credits
		t.Fatalf("%d sent: %v", n, err)
	}
	flushed := make(chan error)
	go func() { flushed <- p.Flush(ctx) }()

	got := make(chan int64, 10)
	mu.Lock()
	current = testListener(t, cfg, &inbox{onTuples: func(_ WorkerID, _ ExecutorID, b *Batch) {
		got <- b.Tuples[0].Int(0)
		b.Release()
	}})
	mu.Unlock()
	gate <- struct{}{}
	if n := <-restarts; n != 96 {
		t.Errorf("%d tuples dropped, want 96", n)
	}
	if n, err := p.SendTuples(ctx, 7, numbered(5000, 1)); n != 1 || err != nil {
		t.Fatalf("%d sent: %v", n, err)
	}
	if first := <-got; first != 5000 {
		t.Errorf("tuple %d arrived first, want 5000", first)
	}
	if err := <-flushed; err == nil || err.Error() != `flush: worker "b" was restarted` {
		t.Errorf("flush: %v", err)
	}
	if s := p.Stats(); s.Dropped != 96 || s.Connects != 2 || s.Resends != 0 {
		t.Errorf("%+v", s)
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		remote WorkerID
		want   string
	}{
		{"topology", func(c *Config) { c.Topology = "other" }, "b", `worker "a" belongs to topology "other", this worker to "t"`},
		{"worker", func(*Config) {}, "c", `worker "a" asks for worker "c", this is worker "b"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			there, here := newErrorLog(), newErrorLog()
			cfg := testConfig()
			cfg.OnError = there.add
			l := testListener(t, cfg, &inbox{})
			cfg.OnError, cfg.Self = here.add, "a"
			tt.change(&cfg)
			p, err := NewPeer(cfg, tt.remote, dialTo(l))
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if got := there.wait(t); !strings.HasSuffix(got, "is refused: "+tt.want) {
				t.Errorf("listener: %s", got)
			}
			if got, want := here.wait(t), fmt.Sprintf("connection to worker %q: the worker refuses the connection: %s; it will be tried again", tt.remote, tt.want); got != want {
				t.Errorf("peer: %s, want %s", got, want)
			}
		})
	}
}

func TestSuperseded(t *testing.T) {
	log := newErrorLog()
	cfg := testConfig()
	cfg.OnError = log.add
	l := testListener(t, cfg, &inbox{})
	cfg.OnError = nil
	old := testPeer(t, cfg, dialTo(l))
	if err := old.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	young := testPeer(t, cfg, dialTo(l))
	if err := young.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := log.wait(t), `is refused: worker "a" has been restarted since this process of it was started`; !strings.HasSuffix(got, want) {
		t.Errorf("%s, want ... %s", got, want)
	}
	if s := young.Stats(); s.Connects != 1 || !s.Connected {
		t.Errorf("the young one: %+v", s)
	}
}
