package thrift

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/thrift/gen/storm"
)

// fake answers a few methods; the others panic, since the interface is nil.
type fake struct {
	storm.Stormring
	kill  func(ctx context.Context, name string) error
	conf  string
	beats chan *storm.SupervisorWorkerHeartbeats
}

func (f *fake) GetLeader(context.Context) (*storm.NimbusSummary, error) {
	return &storm.NimbusSummary{Host: "n1", Port: 6627, UptimeSecs: 1, IsLeader: true, Version: "2.8.8"}, nil
}
func (f *fake) GetNimbusConf(context.Context) (string, error)       { return f.conf, nil }
func (f *fake) KillTopology(ctx context.Context, name string) error { return f.kill(ctx, name) }
func (f *fake) SetLogConfig(context.Context, string, *storm.LogConfig) error {
	return &storm.AuthorizationException{Msg: "not yours"}
}
func (f *fake) BeginFileUpload(context.Context) (string, error) {
	return "", errors.New("disk /dev/x is full")
}
func (f *fake) GetTopology(context.Context, string) (*storm.StormTopology, error) {
	return nil, nil // an absent result, as Java's null
}
func (f *fake) UploadChunk(context.Context, string, []byte) error { return nil }
func (f *fake) SendSupervisorWorkerHeartbeats(_ context.Context, h *storm.SupervisorWorkerHeartbeats) error {
	f.beats <- h
	return nil
}

type followerError struct{}

func (followerError) Error() string  { return "lock /storm/leader-lock is n2's" }
func (followerError) Public() string { return "not the leader; n2:6627 is" }

// logged is a log that tests look into.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) lines(part string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for line := range strings.Lines(l.buf.String()) {
		if strings.Contains(line, part) {
			found = append(found, line)
		}
	}
	return found
}

func config(l net.Listener, h storm.Stormring, log *logged) ServerConfig {
	return ServerConfig{
		Listener: l, Processor: storm.NewStormringProcessor(h), Logger: slog.New(slog.NewTextHandler(log, nil)),
		MaxFrame: 1 << 20, Key: "nimbus.thrift.max_buffer_size", Threads: 4, Queue: 4,
	}
}

// serve runs a server until the test ends.
func serve(t *testing.T, h storm.Stormring, change func(*ServerConfig)) (addr string, log *logged) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	log = new(logged)
	cfg := config(l, h, log)
	if change != nil {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, cfg) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String(), log
}

func dial(t *testing.T, addr string, cfg ClientConfig) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func connect(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func wantApp(t *testing.T, what string, err error, code int32, text string) {
	t.Helper()
	e, ok := errors.AsType[apache.TApplicationException](err)
	if !ok || e.TypeId() != code || e.Error() != text {
		t.Errorf("%s: %v, want type %d %q", what, err, code, text)
	}
}

func TestAnswers(t *testing.T) {
	h := &fake{kill: func(_ context.Context, name string) error {
		switch name {
		case "gone":
			return &storm.NotAliveException{Msg: "gone is not alive"}
		case "panic":
			panic("inner")
		case "follower":
			return fmt.Errorf("kill: %w", followerError{})
		default:
			return nil
		}
	}}
	addr, log := serve(t, h, nil)
	conn := dial(t, addr, ClientConfig{})
	c, ctx := storm.NewStormringClient(conn), t.Context()

	leader, err := c.GetLeader(ctx)
	if err != nil || leader.Host != "n1" || !leader.IsLeader {
		t.Fatalf("%v, %v", leader, err)
	}
	if err = c.KillTopology(ctx, "x"); err != nil {
		t.Error(err)
	}
	if e, ok := errors.AsType[*storm.NotAliveException](c.KillTopology(ctx, "gone")); !ok || e.Msg != "gone is not alive" {
		t.Errorf("%v", e)
	}
	wantApp(t, "panic", c.KillTopology(ctx, "panic"), apache.INTERNAL_ERROR, "Internal error processing killTopology")
	wantApp(t, "public", c.KillTopology(ctx, "follower"), apache.INTERNAL_ERROR,
		"Internal error processing killTopology: not the leader; n2:6627 is")
	_, err = c.BeginFileUpload(ctx)
	wantApp(t, "internal", err, apache.INTERNAL_ERROR, "Internal error processing beginFileUpload")
	wantApp(t, "undeclared", c.SetLogConfig(ctx, "id", &storm.LogConfig{}), apache.INTERNAL_ERROR,
		"Internal error processing setLogConfig: not yours")
	_, err = c.GetTopology(ctx, "id")
	wantApp(t, "null", err, apache.MISSING_RESULT, "getTopology failed: unknown result")
	wantApp(t, "required", c.SetBlobMeta(ctx, "key", &storm.SettableBlobMeta{}), apache.INTERNAL_ERROR,
		"Internal error processing setBlobMeta")
	_, err = conn.Call(ctx, "noSuch", storm.NewNimbusGetLeaderArgs(), storm.NewNimbusGetLeaderResult())
	wantApp(t, "unknown", err, apache.UNKNOWN_METHOD, `there is no method "noSuch"`)

	if got := log.lines("panic=inner"); len(got) != 1 || !strings.Contains(got[0], "goroutine") {
		t.Errorf("the panic is logged as %q", got)
	}
	if got := log.lines("disk /dev/x is full"); len(got) != 1 {
		t.Errorf("the error is logged as %q", got)
	}
}

// call is the frame of a message; body is its args struct.
func callFrame(strict bool, method, body string) []byte {
	message := binary.BigEndian.AppendUint32(nil, uint32(len(method)))
	message = append(message, method...)
	if strict {
		message = append([]byte{0x80, 1, 0, 1}, message...)
	} else {
		message = append(message, 1)
	}
	message = append(message, 0, 0, 0, 9)
	message = append(message, body...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// readAnswer reads one frame and gives its head and the rest.
func readAnswer(t *testing.T, r io.Reader) (head, []byte) {
	t.Helper()
	size, err := readInt(r)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	frame := make([]byte, size)
	if _, err = io.ReadFull(r, frame); err != nil {
		t.Fatal(err)
	}
	h, rest, err := parseHead(frame)
	if err != nil {
		t.Fatal(err)
	}
	return h, rest
}

func readException(t *testing.T, rest []byte) apache.TApplicationException {
	t.Helper()
	e := apache.NewTApplicationException(0, "")
	if err := e.Read(t.Context(), reader(rest)); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestHeadersOfBothKindsAreReadAndTheStrictOneWritten(t *testing.T) {
	addr, _ := serve(t, &fake{}, nil)
	for _, strict := range []bool{true, false} {
		conn := connect(t, addr)
		for range 2 {
			if _, err := conn.Write(callFrame(strict, "getLeader", "\x00")); err != nil {
				t.Fatal(err)
			}
			h, rest := readAnswer(t, conn)
			// version and type, name, sequence id.
			if h != (head{"getLeader", apache.REPLY, 9, 4 + 4 + 9 + 4}) {
				t.Errorf("strict %t: %+v", strict, h)
			}
			result := storm.NewNimbusGetLeaderResult()
			if err := Unmarshal(rest, result); err != nil || result.Success.Port != 6627 {
				t.Errorf("%v, %v", result, err)
			}
		}
	}
}

func TestBadRequestsLeaveTheConnection(t *testing.T) {
	addr, _ := serve(t, &fake{}, nil)
	conn := connect(t, addr)
	for _, c := range []struct {
		name  string
		frame []byte
		code  int32
	}{
		{"argument cut", callFrame(true, "killTopology", "\x0b\x00\x01\x00\x00\x00\x05ab"), apache.PROTOCOL_ERROR},
		{"string of 2 GiB", callFrame(true, "killTopology", "\x0b\x00\x01\x7f\xff\xff\xff"), apache.PROTOCOL_ERROR},
		{"map of 2^31-1 in a blob's meta", callFrame(true, "setBlobMeta", "\x0c\x00\x02\x0f\x00\x01\x0c\x7f\xff\xff\xff"), apache.PROTOCOL_ERROR},
		{"required field missing", callFrame(true, "setBlobMeta", "\x0c\x00\x02\x00\x00"), apache.PROTOCOL_ERROR},
		{"nested deep", callFrame(true, "getLeader", strings.Repeat("\x0c\x00\x09", 5000)), apache.PROTOCOL_ERROR},
		{"oneway", append([]byte("\x00\x00\x00\x16\x80\x01\x00\x04"), callFrame(true, "getLeader", "\x00")[8:]...), apache.INVALID_MESSAGE_TYPE_EXCEPTION},
	} {
		if _, err := conn.Write(c.frame); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		h, rest := readAnswer(t, conn)
		if h.kind != apache.EXCEPTION || h.seq != 9 {
			t.Errorf("%s: %+v", c.name, h)
			continue
		}
		if e := readException(t, rest); e.TypeId() != c.code {
			t.Errorf("%s: type %d %s", c.name, e.TypeId(), e)
		}
	}
	if _, err := conn.Write(callFrame(true, "getLeader", "\x00")); err != nil {
		t.Fatal(err)
	}
	if h, _ := readAnswer(t, conn); h.kind != apache.REPLY {
		t.Errorf("afterwards: %+v", h)
	}
}

func TestLongFrames(t *testing.T) {
	h := &fake{conf: strings.Repeat("c", 5000)}
	addr, log := serve(t, h, func(c *ServerConfig) { c.MaxFrame = 4096 })
	conn := dial(t, addr, ClientConfig{})
	c := storm.NewStormringClient(conn)
	err := c.UploadChunk(t.Context(), "f", make([]byte, 300_000))
	wantApp(t, "long request", err, apache.PROTOCOL_ERROR,
		"the request has 300039 bytes, more than the 4096 that nimbus.thrift.max_buffer_size allows")
	_, err = c.GetNimbusConf(t.Context())
	wantApp(t, "long answer", err, apache.INTERNAL_ERROR,
		"the answer has 5033 bytes, more than the 4096 that nimbus.thrift.max_buffer_size allows")
	if err = c.UploadChunk(t.Context(), "f", make([]byte, 4000)); err != nil {
		t.Errorf("the connection is of use still: %v", err)
	}
	if got := log.lines("message too long"); len(got) != 1 {
		t.Errorf("%q", got)
	}

	// Too long to be read past: told, then closed.
	raw := connect(t, addr)
	frame := callFrame(true, "uploadChunk", "")
	binary.BigEndian.PutUint32(frame, maxSkip+1000)
	if _, err = raw.Write(frame); err != nil {
		t.Fatal(err)
	}
	answer, rest := readAnswer(t, raw)
	e := readException(t, rest)
	if answer.name != "uploadChunk" || answer.seq != 9 || !strings.Contains(e.Error(), "67109864 bytes") {
		t.Errorf("%+v %s", answer, e)
	}
	if _, err = raw.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the connection stays: %v", err)
	}
}

func TestOldHeartbeats(t *testing.T) {
	h := &fake{beats: make(chan *storm.SupervisorWorkerHeartbeats, 1)}
	addr, _ := serve(t, h, nil)
	args := storm.NewNimbusSendSupervisorWorkerHeartbeatsArgs()
	args.Heartbeats = &storm.SupervisorWorkerHeartbeats{SupervisorID: "s", WorkerHeartbeats: []*storm.SupervisorWorkerHeartbeat{
		{StormID: "wc-1-2", Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 2}}, TimeSecs: 1700000000},
	}}
	body, err := Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range [][]byte{body, narrowed(t, body)} {
		conn := connect(t, addr)
		if _, err = conn.Write(callFrame(true, "sendSupervisorWorkerHeartbeats", string(body))); err != nil {
			t.Fatal(err)
		}
		if got, rest := readAnswer(t, conn); got.kind != apache.REPLY {
			t.Fatalf("%+v %s", got, readException(t, rest))
		}
		if got := <-h.beats; got.WorkerHeartbeats[0].TimeSecs != 1700000000 || got.WorkerHeartbeats[0].StormID != "wc-1-2" {
			t.Errorf("%v", got)
		}
	}
}

func TestGarbageIsOneLine(t *testing.T) {
	addr, log := serve(t, &fake{}, nil)
	for _, garbage := range []string{
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"\x80\x01\x00\x01\x00\x00\x00\x09getLeader\x00\x00\x00\x01\x00",
		"\x00\x00\x00\x00",
		"\xff\xff\xff\xff",
		"\x7f\xff\xff\xff\x00\x00",
		"\x00\x00\x00\x08garbage!",
		"\x00\x00\x10\x00cut",
		"\x00",
	} {
		conn := connect(t, addr)
		if _, err := conn.Write([]byte(garbage)); err != nil {
			t.Fatal(err)
		}
		// It fails if the server was faster.
		_ = conn.(*net.TCPConn).CloseWrite()
		// Closed, perhaps with a reset as it did not read all.
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%q is answered", garbage)
		}
	}
	if _, err := storm.NewStormringClient(dial(t, addr, ClientConfig{})).GetLeader(t.Context()); err != nil {
		t.Error(err)
	}
	if got := log.lines(""); len(got) != 1 || !strings.Contains(got[0], "speaks=HTTP") {
		t.Errorf("%q", got)
	}
}
