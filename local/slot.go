package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/executor"
)

// How a slot tries again after its worker has failed. A topology that fails
// at once, again and again, is given up.
const (
	backoffMin  = 100 * time.Millisecond
	backoffMax  = 5 * time.Second
	healthyFor  = 10 * time.Second
	mostRetries = 8 // in a row
)

// slot runs one worker after the other.
type slot struct {
	t        *Topology
	index    int
	listener net.Listener // for the first worker; later ones make their own

	post
	addr string // under post.mu
}

func (s *slot) setAddr(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addr = addr
	if a, err := net.ResolveTCPAddr("tcp", addr); err == nil {
		s.port = a.Port
	}
}

// Addr is where the slot's worker listens at present.
func (s *slot) Addr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addr
}

// run runs workers until ctx ends or there is no point in going on.
func (s *slot) run(ctx context.Context) {
	retries := 0
	for {
		began := time.Now()
		err := s.once(ctx)
		if ctx.Err() != nil {
			if err != nil {
				s.t.fail(fmt.Errorf("worker %d did not stop in order: %w", s.index, err))
			}
			return
		}
		if time.Since(began) > healthyFor {
			retries = 0
		}
		if retries++; retries > mostRetries {
			s.t.fail(fmt.Errorf("worker %d failed %d times in a row, last: %w", s.index, retries, err))
			return
		}
		s.t.mu.Lock()
		s.t.failures++
		s.t.mu.Unlock()
		pause := min(backoffMax, backoffMin<<(retries-1))
		s.t.log.Warn("worker restarts", "worker", s.index, "in", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// once runs one worker to its end.
func (s *slot) once(ctx context.Context) error {
	w, err := s.newWorker(ctx)
	if err != nil {
		s.t.fail(err)
		return err
	}
	err = w.Run(ctx)
	s.end()
	if _, ok := errors.AsType[*executor.TaskError](err); err != nil && !ok {
		s.t.log.Error("worker failed", "worker", s.index, "error", err)
	}
	return err
}

func (s *slot) newWorker(ctx context.Context) (*worker.Worker, error) {
	network, err := s.network(ctx)
	if err != nil {
		return nil, err
	}
	active := s.isActive()
	w, err := worker.New(worker.Spec{
		TopologyID: s.t.id, TopologyName: s.t.opts.Name, Layout: s.t.layout,
		Index: s.index, Placement: s.t.place, Port: s.portNumber(), Network: network,
		Active: active, Logger: s.t.log.With("worker", s.index), OnError: s.t.opts.OnError, States: s.t.opts.States,
	})
	if err != nil {
		return nil, err
	}
	s.begin(w)
	if s.isActive() != active {
		w.SetActive(!active)
	}
	return w, nil
}

// network gives a worker its listener; the first one was made by listen.
func (s *slot) network(ctx context.Context) (*worker.Network, error) {
	if len(s.t.slots) == 1 {
		return nil, nil //nolint:nilnil // no network is needed
	}
	ln := s.listener
	s.listener = nil
	if ln == nil {
		var err error
		if ln, err = s.t.listenAt(ctx); err != nil {
			return nil, fmt.Errorf("worker %d: %w", s.index, err)
		}
		s.setAddr(ln.Addr().String())
	}
	return &worker.Network{
		Listener: ln,
		Addr:     func(i int) string { return s.t.slots[i].Addr() },
		Dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return s.t.dial(ctx, s.index, addr)
		},
	}, nil
}

func dialTCP(ctx context.Context, _ int, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

func listenLoopback(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no port on the loopback interface: %w", err)
	}
	return ln, nil
}

func (s *slot) portNumber() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.port
}
