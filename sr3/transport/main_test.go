package transport

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a Handler made of functions; those not set refuse.
type world struct {
	call    func(ctx context.Context, method byte, request []byte) ([]byte, error)
	stream  func(ctx context.Context, s *Stream, method byte, header []byte) error
	message func(payload []byte)
}

func (w *world) Call(ctx context.Context, method byte, request []byte) ([]byte, error) {
	if w.call == nil {
		return nil, &RemoteError{Code: 404, Text: "no calls here"}
	}
	return w.call(ctx, method, request)
}

func (w *world) Stream(ctx context.Context, s *Stream, method byte, header []byte) error {
	if w.stream == nil {
		return &RemoteError{Code: 404, Text: "no streams here"}
	}
	return w.stream(ctx, s, method, header)
}

func (w *world) Message(payload []byte) {
	if w.message != nil {
		w.message(payload)
	}
}

// listen starts an endpoint at a free port; it is closed with the test.
func listen(tb testing.TB, cfg Config, h Handler) *Endpoint {
	tb.Helper()
	e, err := Listen(cfg, "127.0.0.1:0", h)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// client starts an endpoint that only dials.
func client(tb testing.TB, cfg Config) *Endpoint {
	tb.Helper()
	e, err := Listen(cfg, "", nil)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

// short is a context that no test should see the end of.
func short(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 20*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

func open(tb testing.TB, e *Endpoint, addr string, method byte, head string) *Stream {
	tb.Helper()
	s, err := e.Open(short(tb), addr, method, []byte(head))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Close)
	return s
}

// logbook keeps log lines.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logbook) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// eventually waits until cond holds.
func eventually(tb testing.TB, what string, cond func() bool) {
	tb.Helper()
	deadline := time.After(10 * time.Second)
	for !cond() {
		select {
		case <-deadline:
			tb.Fatalf("never happened: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}
