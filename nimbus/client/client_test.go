package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/thrift"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// server is a nimbus of which a test decides when it breaks.
type server struct {
	gen.Stormring // the methods that no test calls panic
	net.Listener

	mu    sync.Mutex // guards what follows
	conns []net.Conn
	calls []string
	do    func(call string) error
}

// Accept notes the connections.
func (s *server) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.conns = append(s.conns, c)
	}
	return c, err
}

// cut breaks all connections.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		_ = c.Close() // that is what is wanted
	}
	s.conns = nil
}

func (s *server) on(call string) error {
	s.mu.Lock()
	s.calls = append(s.calls, call)
	do := s.do
	s.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(call)
}

func (s *server) set(do func(call string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.do = do
}

func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.calls, " ")
	s.calls = nil
	return all
}

func (s *server) addr() string { return s.Addr().String() }

func (s *server) GetLeader(context.Context) (*gen.NimbusSummary, error) {
	a := s.Addr().(*net.TCPAddr)
	return &gen.NimbusSummary{Host: a.IP.String(), Port: int32(a.Port), IsLeader: true, Version: "2.8.8"}, nil
}
func (s *server) Activate(context.Context, string) error { return s.on("activate") }
func (s *server) KillTopologyWithOpts(context.Context, string, *gen.KillOptions) error {
	return s.on("kill")
}
func (s *server) GetNimbusConf(context.Context) (string, error) { return "{}", s.on("conf") }
func (s *server) BeginFileUpload(context.Context) (string, error) {
	return "here", s.on("begin")
}
func (s *server) UploadChunk(_ context.Context, _ string, chunk []byte) error {
	return s.on(fmt.Sprintf("chunk%d", len(chunk)))
}
func (s *server) FinishFileUpload(context.Context, string) error { return s.on("finish") }
func (s *server) SubmitTopologyWithOpts(_ context.Context, _, at, _ string, _ *gen.StormTopology, _ *gen.SubmitOptions) error {
	return s.on("submit:" + at)
}
func (s *server) BeginCreateBlob(context.Context, string, *gen.SettableBlobMeta) (string, error) {
	return "session", s.on("create")
}
func (s *server) UploadBlobChunk(context.Context, string, []byte) error { return s.on("blobchunk") }
func (s *server) FinishBlobUpload(context.Context, string) error        { return s.on("finish") }
func (s *server) CancelBlobUpload(context.Context, string) error        { return s.on("cancel") }
func (s *server) BeginBlobDownload(context.Context, string) (*gen.BeginDownloadResult_, error) {
	return &gen.BeginDownloadResult_{Version: 7, Session: "session", DataSize: new(int64(6))}, s.on("download")
}

// DownloadBlobChunk has four bytes, and then no more.
func (s *server) DownloadBlobChunk(context.Context, string) ([]byte, error) {
	s.mu.Lock()
	last := len(s.calls) > 0 && s.calls[len(s.calls)-1] == "piece"
	s.mu.Unlock()
	if err := s.on("piece"); err != nil || last {
		return []byte{}, err
	}
	return []byte("four"), nil
}

// listen is a listener of the test's.
func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func start(t *testing.T) *server {
	t.Helper()
	s := &server{Listener: listen(t)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- thrift.Serve(ctx, thrift.ServerConfig{
			Listener: s, Processor: gen.NewStormringProcessor(s), Logger: slog.New(slog.DiscardHandler),
			MaxFrame: 1 << 20, Key: "nimbus.thrift.max_buffer_size", Threads: 8, Queue: 100, Grace: time.Second,
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// silent accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l := listen(t)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				_, _ = io.Copy(io.Discard, c) // until the client leaves
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

func connect(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestBrokenCalls(t *testing.T) {
	s := start(t)
	c := connect(t, Config{Seeds: []string{s.addr()}})
	breaks := func(times int) func(string) error {
		return func(string) error {
			if times--; times >= 0 {
				s.cut()
			}
			return nil
		}
	}
	// What may be repeated is.
	s.set(breaks(2))
	if err := c.Activate(t.Context(), "w"); err != nil {
		t.Error(err)
	}
	if got := s.said(); got != "activate activate activate" {
		t.Error(got)
	}
	// What may not is not, though the connection was idle before.
	s.set(breaks(1))
	err := c.Kill(t.Context(), "w", cluster.KillOptions{})
	if !errors.Is(err, ErrUncertain) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if got := s.said(); got != "kill" {
		t.Error(got)
	}
	// An idle connection that is no more is not used for it.
	if _, err := c.NimbusConf(t.Context()); err != nil {
		t.Error(err)
	}
	s.said()
	s.cut()
	if err := c.Kill(t.Context(), "w", cluster.KillOptions{}); err != nil {
		t.Error(err)
	}
	if got := s.said(); got != "kill" {
		t.Error(got)
	}
}

func TestBreaksAlways(t *testing.T) {
	s := start(t)
	c := connect(t, Config{Seeds: []string{s.addr()}, Patience: 200 * time.Millisecond})
	s.set(func(string) error { s.cut(); return nil })
	if err := c.Activate(t.Context(), "w"); !errors.Is(err, ErrUnreachable) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestHangingCalls(t *testing.T) {
	s := start(t)
	c := connect(t, Config{Seeds: []string{s.addr()}})
	release := make(chan struct{})
	s.set(func(string) error { <-release; return nil })
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := c.Kill(ctx, "w", cluster.KillOptions{})
	if !errors.Is(err, ErrUncertain) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err = c.NimbusConf(ctx); errors.Is(err, ErrUncertain) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got := s.said(); got != "kill conf" {
		t.Error(got)
	}
	done := make(chan error, 1)
	go func() { done <- c.Activate(t.Context(), "w") }()
	for s.said() == "" {
		<-time.After(time.Millisecond)
	}
	c.Close()
	if err := <-done; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestSilentSeeds(t *testing.T) {
	s, quiet := start(t), silent(t)
	c := connect(t, Config{Seeds: []string{quiet, s.addr()}, ConnectTimeout: 100 * time.Millisecond})
	if err := c.Activate(t.Context(), "w"); err != nil {
		t.Error(err)
	}
	_, err := Connect(t.Context(), Config{Seeds: []string{quiet}, ConnectTimeout: 100 * time.Millisecond})
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), quiet+": it takes the connection and does not answer: is that nimbus's Thrift port?") {
		t.Error(err)
	}
	// Callers in a hurry get past it too, if not at once.
	hasty := New(Config{Seeds: []string{quiet, s.addr()}})
	defer hasty.Close()
	for i, try := range []struct {
		patience time.Duration
		want     error
	}{{200 * time.Millisecond, context.DeadlineExceeded}, {20 * time.Second, nil}} {
		ctx, cancel := context.WithTimeout(t.Context(), try.patience)
		if err := hasty.Activate(ctx, "w"); !errors.Is(err, try.want) {
			t.Errorf("%d: %v", i, err)
		}
		cancel()
	}
}

func TestForeignSeeds(t *testing.T) {
	web := listen(t)
	answered := make(chan error, 1)
	go func() {
		c, err := web.Accept()
		if err == nil {
			_, err = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_, _ = io.Copy(io.Discard, c) // until the client leaves
			_ = c.Close()
		}
		answered <- err
	}()
	_, err := Connect(t.Context(), Config{Seeds: []string{web.Addr().String()}})
	if err := errors.Join(<-answered, web.Close()); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "the server speaks HTTP") {
		t.Error(err)
	}
	_, err = Connect(t.Context(), Config{})
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "nimbus.seeds is empty") {
		t.Error(err)
	}
}

func TestUploads(t *testing.T) {
	s := start(t)
	c := connect(t, Config{Seeds: []string{s.addr()}})
	small := connect(t, Config{Seeds: []string{s.addr()}, MaxFrame: 2000})
	submission := func(r io.Reader) Submission { return Submission{Name: "w", Conf: "{}", Jar: r} }
	if err := c.Submit(t.Context(), submission(bytes.NewReader(make([]byte, 307201)))); err != nil {
		t.Error(err)
	}
	if err := small.Submit(t.Context(), submission(bytes.NewReader(make([]byte, 1001)))); err != nil {
		t.Error(err)
	}
	if err := c.Submit(t.Context(), submission(nil)); err != nil {
		t.Error(err)
	}
	if got := s.said(); got != "begin chunk307200 chunk1 finish submit:here begin chunk1000 chunk1 finish submit:here submit:" {
		t.Error(got)
	}
	bad := errors.New("bad disk")
	if err := c.Submit(t.Context(), submission(iotest.ErrReader(bad))); !errors.Is(err, bad) || errors.Is(err, ErrUncertain) {
		t.Error(err)
	}
	if err := c.CreateBlob(t.Context(), "k", blobstore.Meta{}, iotest.ErrReader(bad)); !errors.Is(err, bad) {
		t.Error(err)
	}
	if got := s.said(); got != "begin create cancel" {
		t.Error(got)
	}
	// A connection that breaks during an upload leaves no doubt; at its end it does.
	cutAt := func(name string) {
		s.set(func(call string) error {
			if call == name {
				s.cut()
			}
			return nil
		})
	}
	cutAt("blobchunk")
	err := c.CreateBlob(t.Context(), "k", blobstore.Meta{}, strings.NewReader("x"))
	if err == nil || errors.Is(err, ErrUncertain) || !strings.Contains(err.Error(), `upload of blob "k"`) {
		t.Error(err)
	}
	cutAt("finish")
	if err = c.CreateBlob(t.Context(), "k", blobstore.Meta{}, strings.NewReader("x")); !errors.Is(err, ErrUncertain) {
		t.Error(err)
	}
}

func TestDownloadsAreWholeOrFail(t *testing.T) {
	s := start(t)
	c := connect(t, Config{Seeds: []string{s.addr()}})
	var got bytes.Buffer
	_, err := c.FetchBlob(t.Context(), "k", &got)
	if err == nil || err.Error() != `download of blob "k": 4 bytes came and 6 were promised` {
		t.Error(err)
	}
	s.said()
	pieces := 0
	s.set(func(call string) error {
		if call == "piece" {
			if pieces++; pieces == 2 {
				s.cut()
			}
		}
		return nil
	})
	got.Reset()
	_, err = c.FetchBlob(t.Context(), "k", &got)
	if err == nil || !strings.Contains(err.Error(), `download of blob "k" broke off after 4 bytes`) || got.String() != "four" {
		t.Errorf("%q, %v", got.String(), err)
	}
	if calls := s.said(); calls != "download piece piece" {
		t.Error(calls)
	}
}

func TestConfigOf(t *testing.T) {
	c, err := conf.Defaults().With("test", map[string]any{
		"nimbus.seeds": []any{"a", "b:7"}, "nimbus.thrift.port": 6000, "nimbus.thrift.max_buffer_size": 5000, "storm.thrift.socket.timeout.ms": 1500,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := ConfigOf(c, nil)
	if fmt.Sprint(got.Seeds, got.Port, got.MaxFrame, got.CallTimeout) != "[a b:7] 6000 5000 1.5s" {
		t.Errorf("%+v", got)
	}
	x := New(got)
	defer x.Close()
	if a, b, six := x.address("a"), x.address("b:7"), x.address("::1"); a != "a:6000" || b != "b:7" || six != "[::1]:6000" {
		t.Error(a, b, six)
	}
}

// deposed is a nimbus that knows of another leader.
type deposed struct{ *server }

func (d deposed) GetLeader(context.Context) (*gen.NimbusSummary, error) {
	return nil, errors.New("nobody may ask this one")
}

func TestOnlyTheSeedsThemselves(t *testing.T) {
	s := &server{Listener: listen(t)}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- thrift.Serve(ctx, thrift.ServerConfig{
			Listener: s, Processor: gen.NewStormringProcessor(deposed{s}), Logger: slog.New(slog.DiscardHandler),
			MaxFrame: 1 << 20, Key: "k", Threads: 1, Grace: time.Second,
		})
	}()
	c := connect(t, Config{Seeds: []string{s.addr()}, Only: true, Patience: -1})
	for range 2 {
		if _, err := c.NimbusConf(t.Context()); err != nil {
			t.Error(err)
		}
	}
	c.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	// Without patience a refused connection is the end.
	again := New(Config{Seeds: []string{s.addr()}, Only: true, Patience: -1})
	defer again.Close()
	if _, err := again.NimbusConf(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}
