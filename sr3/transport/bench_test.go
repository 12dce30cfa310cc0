package transport

import (
	"context"
	"io"
	"net"
	"testing"
)

// BenchmarkTCP is what the machine gives: one writer, one reader, chunks of 256
// KiB over loopback.
func BenchmarkTCP(b *testing.B) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	go func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		chunk := make([]byte, 256*kib)
		for {
			if _, err := nc.Write(chunk); err != nil {
				return
			}
		}
	}()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	into := make([]byte, 64*mib)
	at := 0
	b.SetBytes(256 * kib)
	for b.Loop() {
		if _, err := io.ReadFull(nc, into[at:at+256*kib]); err != nil {
			b.Fatal(err)
		}
		at = (at + 256*kib) % len(into)
	}
}

func flood(ctx context.Context, s *Stream, _ byte, _ []byte) error {
	head, body := make([]byte, 64), make([]byte, 256*kib)
	for {
		if err := s.SendParts(ctx, head, body); err != nil {
			return err
		}
	}
}

// BenchmarkBulk is one stream of chunks that land in an arena.
func BenchmarkBulk(b *testing.B) {
	e := listen(b, Config{}, &world{stream: flood})
	s := open(b, client(b, Config{}), e.Addr(), 0, "")
	arena := make([]byte, 64*mib)
	at := 0
	into := func(_ []byte, n int) []byte {
		piece := arena[at : at+n]
		at = (at + n) % len(arena)
		return piece
	}
	b.SetBytes(256 * kib)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.RecvHead(b.Context(), 64, into); err != nil {
			b.Fatal(err)
		}
	}
	s.Close()
}

// BenchmarkBulkRecv is the same with Recv.
func BenchmarkBulkRecv(b *testing.B) {
	e := listen(b, Config{}, &world{stream: flood})
	s := open(b, client(b, Config{}), e.Addr(), 0, "")
	b.SetBytes(256 * kib)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Recv(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	s.Close()
}

// BenchmarkBulkTLS is BenchmarkBulk over TLS.
func BenchmarkBulkTLS(b *testing.B) {
	cfg := Config{TLS: certificates(b)}
	e := listen(b, cfg, &world{stream: flood})
	s := open(b, client(b, cfg), e.Addr(), 0, "")
	arena := make([]byte, mib)
	b.SetBytes(256 * kib)
	for b.Loop() {
		if _, err := s.RecvHead(b.Context(), 64, func([]byte, int) []byte { return arena }); err != nil {
			b.Fatal(err)
		}
	}
	s.Close()
}

// BenchmarkCallBesideBulk is a call on a connection that is full of bulk.
func BenchmarkCallBesideBulk(b *testing.B) {
	e := listen(b, Config{}, &world{call: echo, stream: flood})
	c := client(b, Config{})
	s := open(b, c, e.Addr(), 0, "")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := s.Recv(context.Background()); err != nil {
				return
			}
		}
	}()
	request := make([]byte, 100)
	for b.Loop() {
		if _, err := c.Call(b.Context(), e.Addr(), 1, request); err != nil {
			b.Fatal(err)
		}
	}
	s.Close()
	<-done
}

// BenchmarkCall is one caller; BenchmarkCalls are many.
func BenchmarkCall(b *testing.B) {
	e := listen(b, Config{}, &world{call: func(_ context.Context, _ byte, r []byte) ([]byte, error) { return r, nil }})
	c := client(b, Config{})
	request := make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Call(b.Context(), e.Addr(), 1, request); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCalls(b *testing.B) {
	e := listen(b, Config{}, &world{call: func(_ context.Context, _ byte, r []byte) ([]byte, error) { return r, nil }})
	c := client(b, Config{})
	request := make([]byte, 100)
	b.ReportAllocs()
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Call(b.Context(), e.Addr(), 1, request); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
