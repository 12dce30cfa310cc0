package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// rawServer accepts one connection, says hello and hands it over.
func rawServer(t *testing.T, serve func(nc net.Conn, theirs hello)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		nc, err := ln.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		mine := hello{version: version, window: 1 << 30, message: 320 * kib, call: mib}
		theirs, err := greet(nc, mine, false)
		if err != nil {
			t.Error(err)
			return
		}
		serve(nc, theirs)
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return ln.Addr().String()
}

// readFrame reads one frame.
func readFrame(nc net.Conn) (header, []byte, error) {
	var b [headerBytes]byte
	if _, err := io.ReadFull(nc, b[:]); err != nil {
		return header{}, nil, err
	}
	h, err := parseHeader(b[:], testLimits)
	if err != nil {
		return h, nil, err
	}
	payload := make([]byte, h.length)
	_, err = io.ReadFull(nc, payload)
	return h, payload, err
}

func TestCancelSendInTheMiddle(t *testing.T) {
	read := make(chan struct{})
	got := make(chan []byte, 64)
	addr := rawServer(t, func(nc net.Conn, _ hello) {
		<-read
		for {
			h, payload, err := readFrame(nc)
			if err != nil {
				close(got)
				return
			}
			if h.kind == kindData {
				got <- payload
			}
		}
	})
	c := client(t, Config{PingEvery: time.Hour})
	s := open(t, c, addr, 0, "")
	const size = 256 * kib
	sent := 0
	for {
		b := bytes.Repeat([]byte{byte(sent + 1)}, size)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := s.Send(ctx, b)
		gaveUp := ctx.Err() != nil
		cancel()
		clear(b) // lent no longer
		if err == nil {
			sent++
		} else if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if gaveUp {
			if err != nil {
				t.Fatalf("it was being written, so it goes out: %v", err)
			}
			break
		}
	}
	// One more that does not even begin, since the last is still being written.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Send(ctx, make([]byte, size)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	close(read)
	if err := s.Send(short(t), bytes.Repeat([]byte{byte(sent + 1)}, size)); err != nil {
		t.Fatal(err)
	}
	for i := range sent + 1 {
		if b := <-got; !bytes.Equal(b, bytes.Repeat([]byte{byte(i + 1)}, size)) {
			t.Fatalf("message %d of %d is not what was sent", i, sent+1)
		}
	}
	c.Close()
}

// halfSender is a server that sends the first cut bytes of a message, after a
// signal, and the others after the next.
func halfSender(t *testing.T, message []byte, cut int, signal <-chan struct{}) string {
	t.Helper()
	return rawServer(t, func(nc net.Conn, _ hello) {
		h, _, err := readFrame(nc) // open
		if err != nil {
			return
		}
		<-signal
		nc.Write(append(frames(header{kind: kindData, id: h.id, length: uint32(len(message))}), message[:cut]...))
		<-signal
		nc.Write(message[cut:])
		nc.Write(frames(header{kind: kindEnd, flags: flagStop, id: h.id}))
		io.Copy(io.Discard, nc)
	})
}

func TestCancelRecvHeadInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name  string
		cut   int
		close bool
		want  error
	}{
		{"in the body", 100 * kib, false, context.Canceled},
		{"in the head", 30, false, context.Canceled},
		{"by Close", 100 * kib, true, ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			message := noise(200*kib, 1)
			more := make(chan struct{})
			addr := halfSender(t, message, c.cut, more)
			e := client(t, Config{PingEvery: time.Hour})
			s := open(t, e, addr, 0, "")
			ctx, cancel := context.WithCancel(short(t))
			defer cancel()
			var body []byte
			result := make(chan error, 1)
			go func() {
				_, err := s.RecvHead(ctx, 64, func(_ []byte, n int) []byte {
					body = make([]byte, n)
					return body
				})
				result <- err
			}()
			eventually(t, "it waits", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return s.waiting
			})
			more <- struct{}{}
			eventually(t, "some came", func() bool { return e.Peers()[0].Received > uint64(c.cut) })
			if c.close {
				s.Close()
			}
			cancel()
			if err := <-result; !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			clear(body) // ours again
			more <- struct{}{}
			got, err := s.Recv(short(t))
			if !c.close && (err != nil || !bytes.Equal(got, message)) {
				t.Fatalf("after the cancelled call: %d bytes, %v", len(got), err)
			}
			if _, err := s.Recv(short(t)); !c.close && !errors.Is(err, io.EOF) {
				t.Fatalf("at the end: %v", err)
			}
			if !bytes.Equal(body, make([]byte, len(body))) {
				t.Fatal("somebody wrote to the buffer after RecvHead")
			}
			e.Close()
		})
	}
}

func TestDeafPeerIsCut(t *testing.T) {
	addr := rawServer(t, func(nc net.Conn, _ hello) {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for range ticker.C { // talks all the time and never listens
			if _, err := nc.Write(frames(header{kind: kindPing, id: 1})); err != nil {
				return
			}
		}
	})
	c := client(t, quick())
	s := open(t, c, addr, 0, "")
	_, err := s.Recv(short(t))
	if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "no answer to a ping for") {
		t.Fatalf("got %v", err)
	}
}

func TestWindowIsEnforced(t *testing.T) {
	addr := rawServer(t, func(nc net.Conn, theirs hello) {
		h, _, err := readFrame(nc)
		if err != nil {
			return
		}
		for n := 0; n <= int(theirs.window); n += 320 * kib {
			b := append(frames(header{kind: kindData, id: h.id, length: 320 * kib}), make([]byte, 320*kib)...)
			if _, err := nc.Write(b); err != nil {
				return
			}
		}
		io.Copy(io.Discard, nc)
	})
	s := open(t, client(t, Config{}), addr, 0, "")
	<-s.dead
	if _, err := s.Recv(short(t)); err != nil {
		t.Fatalf("what came before: %v", err)
	}
	if err := s.Send(short(t), nil); !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "stream 1 sent more than its window") {
		t.Fatalf("got %v", err)
	}
}
