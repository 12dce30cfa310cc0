package thrift

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/thrift/gen/storm"
)

// script is a connection whose peer has sent all it will.
type script struct {
	net.Conn
	in  io.Reader
	out bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s *script) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *script) Close() error                     { return nil }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

// FuzzConnection throws bytes at a server's connection: whatever they are, all
// answers are whole messages within the limit, and no memory stays taken.
func FuzzConnection(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(callFrame(true, "getLeader", "\x00"))
	f.Add(callFrame(false, "killTopology", "\x0b\x00\x01\x00\x00\x00\x02ab\x00"))
	f.Add(append(callFrame(true, "getNimbusConf", "\x00"), callFrame(true, "none", "\x00")...))
	f.Add(callFrame(true, "uploadChunk", strings.Repeat("x", 3000)))
	f.Add(callFrame(true, "submitTopology", "\x0c\x00\x04\x0d\x00\x01\x0b\x0c\x00\x00\x00\x01\x00\x00\x00\x01s\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 2048
		h := &fake{
			kill: func(context.Context, string) error { return &storm.NotAliveException{Msg: "no"} },
			conf: strings.Repeat("c", 4000), beats: make(chan *storm.SupervisorWorkerHeartbeats, 1000),
		}
		cfg := config(newPipes(), h, nil)
		cfg.MaxFrame, cfg.Logger = limit, slog.New(slog.DiscardHandler)
		cfg, err := cfg.complete()
		if err != nil {
			t.Fatal(err)
		}
		s := newServer(cfg)
		conn := &script{in: bytes.NewReader(data)}
		s.serveConn(t.Context(), t.Context(), conn)
		if used := s.frames.used.Load(); used != 0 || len(s.slots) != 0 || s.waiting.Load() != 0 {
			t.Errorf("%d bytes, %d slots, %d waiting stay taken", used, len(s.slots), s.waiting.Load())
		}
		for conn.out.Len() > 0 {
			size, err := readInt(&conn.out)
			if err != nil || size <= 0 || int(size) > conn.out.Len() || size > limit {
				t.Fatalf("an answer of %d bytes, %d are there", size, conn.out.Len())
			}
			if _, _, err = parseHead(conn.out.Next(int(size))); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzAnswer throws bytes at a client that waits for an answer.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Add(callFrame(true, "getLeader", "\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := newConn(nil, "nimbus", ClientConfig{MaxFrame: 2048})
		c.conn = &script{in: bytes.NewReader(data)}
		err := c.exchange(t.Context(), "getLeader", newOutgoing(10), storm.NewNimbusGetLeaderResult())
		if err == nil && len(data) < 10 {
			t.Errorf("%x is taken for an answer", data)
		}
	})
}
