package client

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/sr3/node"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/transport"
)

// front stands before a node: all that is said to it passes here and can go wrong
// on the way.
type front struct {
	end    *transport.Endpoint
	ready  chan struct{}
	target string

	// stalled streams go nowhere, for ever; deaf calls get no answer.
	stalled, deaf atomic.Bool
	mu            sync.Mutex
	// spoil, if set, changes the frames of a recovery before they go on, one at a
	// time; an error cuts the stream, but for io.EOF, errLeftOut and errTwice.
	spoil    func(head protocol.Frame, body []byte) error
	spoiling sync.Mutex
	// slow is for how long calls are held up, in nanoseconds.
	slow atomic.Int64
	// forge, if set, answers calls in the node's place if it has an answer.
	forge func(method byte) (answer []byte, forged bool, err error)
}

// What a spoil may say of a frame: that it does not go on, or does so twice. io.EOF
// ends the stream as if all had been sent.
var (
	errLeftOut = errors.New("left out")
	errTwice   = errors.New("twice")
)

// front starts a node behind a front.
func (r *rig) front(name string) *front {
	r.t.Helper()
	f := &front{ready: make(chan struct{})}
	end, err := transport.Listen(transport.Config{}, "127.0.0.1:0", f)
	if err != nil {
		r.t.Fatal(err)
	}
	f.end = end
	r.t.Cleanup(end.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	f.target = l.Addr().String()
	_ = l.Close()
	r.start(name, func(c *node.Config) { c.Addr, c.Advertise = f.target, end.Addr() })
	close(f.ready)
	return f
}

func (f *front) setSpoil(spoil func(protocol.Frame, []byte) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spoil = spoil
}

func (f *front) setForge(forge func(method byte) ([]byte, bool, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forge = forge
}

func (f *front) forged(method byte) ([]byte, bool, error) {
	f.mu.Lock()
	forge := f.forge
	f.mu.Unlock()
	if forge == nil {
		return nil, false, nil
	}
	return forge(method)
}

func (f *front) spoiler() func(protocol.Frame, []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.spoil
}

// spoilt is what a spoil says of a frame, of one at a time.
func (f *front) spoilt(spoil func(protocol.Frame, []byte) error, head protocol.Frame, body []byte) error {
	f.spoiling.Lock()
	defer f.spoiling.Unlock()
	return spoil(head, body)
}

func (f *front) wait(ctx context.Context) error {
	select {
	case <-f.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *front) Call(ctx context.Context, method byte, request []byte) ([]byte, error) {
	if err := f.wait(ctx); err != nil {
		return nil, err
	}
	if f.deaf.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if d := f.slow.Load(); d > 0 {
		select {
		case <-time.After(time.Duration(d)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if answer, ok, err := f.forged(method); ok {
		return answer, err
	}
	return f.end.Call(ctx, f.target, method, request)
}

func (f *front) Message(payload []byte) {
	select {
	case <-f.ready:
		f.end.Send(f.target, payload)
	default:
	}
}

func (f *front) Stream(ctx context.Context, s *transport.Stream, method byte, header []byte) error {
	if err := f.wait(ctx); err != nil {
		return err
	}
	if f.stalled.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	behind, err := f.end.Open(ctx, f.target, method, header)
	if err != nil {
		return err
	}
	defer behind.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for {
			m, err := s.Recv(ctx)
			if errors.Is(err, io.EOF) {
				_ = behind.CloseSend()
				return
			}
			if err != nil || behind.Send(ctx, m) != nil {
				cancel()
				return
			}
		}
	})
	for {
		m, err := behind.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if spoil := f.spoiler(); spoil != nil && method == protocol.FetchShards && len(m) >= protocol.FrameHead {
			body := m[protocol.FrameHead:]
			head, err := protocol.DecodeFrame(m[:protocol.FrameHead], len(body))
			if err != nil {
				return err
			}
			switch err := f.spoilt(spoil, head, body); {
			case err == nil:
			case errors.Is(err, io.EOF):
				cancel() // nobody is listened to any more
				return nil
			case errors.Is(err, errLeftOut):
				continue
			case errors.Is(err, errTwice):
				if err := s.Send(ctx, slices.Clone(m)); err != nil {
					return err
				}
			default:
				return err
			}
		}
		if f.stalled.Load() {
			<-ctx.Done()
			return ctx.Err()
		}
		if err := s.Send(ctx, m); err != nil {
			return err
		}
	}
}
