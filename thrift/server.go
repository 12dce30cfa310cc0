package thrift

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"
)

// ServerConfig is what [Serve] needs. Listener, Processor, Logger, Key,
// MaxFrame and Threads must be given; the zero value of a field after Queue
// stands for the default named there.
type ServerConfig struct {
	// Listener brings the connections; Serve closes it.
	Listener net.Listener
	// Processor has the methods, for instance storm.NewStormringProcessor.
	Processor apache.TProcessor
	Logger    *slog.Logger
	// MaxFrame is the longest message in bytes, either way; Key the name of
	// the config key that sets it, for the error of a longer one.
	MaxFrame int
	Key      string
	// Threads requests are worked on at once, Queue more wait for their turn;
	// those beyond are answered with an error.
	Threads int
	Queue   int

	// MaxConns (10000) connections are open at once; more are closed.
	MaxConns int
	// MaxBuffered (256 MiB) bounds the bytes of all frames held at once.
	MaxBuffered int64
	// ReadTimeout (30 s) is how long a frame may take once its first byte is
	// there, and how long its answer may take to leave.
	ReadTimeout time.Duration
	// IdleTimeout (10 min) is how long a connection may be silent.
	IdleTimeout time.Duration
	// Grace (10 s) is how long running requests may go on when Serve is to
	// end. Then their contexts end too; Serve waits for them to return.
	Grace time.Duration
}

// PublicError is an error whose text may be told to a client though the
// interface does not declare it. The text of any other undeclared error stays
// in the log.
type PublicError interface {
	error
	// Public is what the client is told.
	Public() string
}

const (
	defaultMaxConns    = 10000
	defaultMaxBuffered = 256 << 20
	defaultReadTimeout = 30 * time.Second
	defaultIdleTimeout = 10 * time.Minute
	defaultGrace       = 10 * time.Second
)

func (c ServerConfig) complete() (ServerConfig, error) {
	switch {
	case c.Listener == nil || c.Processor == nil || c.Logger == nil:
		return c, errors.New("thrift server: listener, processor or logger is missing")
	case c.MaxFrame <= 0 || c.MaxFrame > math.MaxInt32:
		return c, fmt.Errorf("thrift server: %s must be between 1 and %d, not %d", c.Key, math.MaxInt32, c.MaxFrame)
	case c.Threads <= 0 || c.Queue < 0:
		return c, fmt.Errorf("thrift server: Threads %d must be above 0, Queue %d not below", c.Threads, c.Queue)
	case c.Key == "":
		return c, errors.New("thrift server: no name of the config key that sets MaxFrame")
	}
	setDefault(&c.MaxConns, defaultMaxConns)
	setDefault(&c.MaxBuffered, defaultMaxBuffered)
	setDefault(&c.ReadTimeout, defaultReadTimeout)
	setDefault(&c.IdleTimeout, defaultIdleTimeout)
	setDefault(&c.Grace, defaultGrace)
	return c, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// server is one Serve. Each connection has one goroutine, which reads a
// request, works on it and writes the answer, in turn.
type server struct {
	cfg     ServerConfig
	methods map[string]apache.TProcessorFunction
	slots   chan struct{} // one for each request being worked on
	waiting atomic.Int64
	open    atomic.Int64
	frames  budget
	conns   sync.WaitGroup

	foreign, tooLong, refused throttle
}

func newServer(cfg ServerConfig) *server {
	log := cfg.Logger.With("listener", cfg.Listener.Addr().String())
	cfg.Logger = log
	return &server{
		cfg:     cfg,
		methods: cfg.Processor.ProcessorMap(),
		slots:   make(chan struct{}, cfg.Threads),
		frames:  budget{max: cfg.MaxBuffered},
		foreign: throttle{log: log, why: "no framed Thrift"},
		tooLong: throttle{log: log, why: "message too long"},
		refused: throttle{log: log, why: "too much to do"},
	}
}

// Serve answers requests until ctx ends, and then lets the running ones finish
// (see Grace). It returns nil, or why the listener failed. A request once begun
// goes on even if its client leaves.
func Serve(ctx context.Context, cfg ServerConfig) error {
	cfg, err := cfg.complete()
	if err != nil {
		return err
	}
	s := newServer(cfg)
	accepting, stop := context.WithCancel(ctx)
	defer stop()
	running, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	closed := context.AfterFunc(accepting, func() { cfg.Listener.Close() })
	defer closed()

	err = s.accept(accepting, running)
	stop()
	grace := time.AfterFunc(cfg.Grace, abort)
	defer grace.Stop()
	s.conns.Wait()
	for _, t := range []*throttle{&s.foreign, &s.tooLong, &s.refused} {
		t.flush()
	}
	return err
}

// accept takes connections until ctx ends or the listener is closed. Other
// failures, such as too many open files, pass; it tries again a little later.
func (s *server) accept(ctx, running context.Context) error {
	const shortest, longest = 5 * time.Millisecond, time.Second
	pause := shortest
	for {
		conn, err := s.cfg.Listener.Accept()
		if ctx.Err() != nil {
			if err == nil {
				conn.Close()
			}
			return nil
		}
		if err == nil {
			pause = shortest
			s.start(ctx, running, conn)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return fmt.Errorf("thrift server on %s: %w", s.cfg.Listener.Addr(), err)
		}
		s.refused.note("error", err)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, longest)
	}
}

func (s *server) start(ctx, running context.Context, conn net.Conn) {
	if s.open.Add(1) > int64(s.cfg.MaxConns) {
		s.open.Add(-1)
		s.refused.note("reason", "connections", "limit", s.cfg.MaxConns, "peer", conn.RemoteAddr())
		conn.Close()
		return
	}
	s.conns.Go(func() {
		defer s.open.Add(-1)
		s.serveConn(ctx, running, conn)
	})
}
