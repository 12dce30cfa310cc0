package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var testLimits = limits{message: 320 * kib, chunk: 256 * kib}

func TestHeaderLengths(t *testing.T) {
	for _, c := range []struct {
		name string
		h    header
		want string
	}{
		{"call", header{kind: kindCall, length: inlineBytes}, ""},
		{"call too long", header{kind: kindCall, length: inlineBytes + 1}, "frame of kind 1 has 16385 bytes, may have 0 to 16384"},
		{"call in parts", header{kind: kindCall, flags: flagParts, length: 4}, ""},
		{"call in parts without length", header{kind: kindCall, flags: flagParts}, "frame of kind 1 has 0 bytes, may have 4 to 4"},
		{"cancel", header{kind: kindCancel}, ""},
		{"cancel with payload", header{kind: kindCancel, length: 1}, "frame of kind 2 has 1 bytes, may have 0 to 0"},
		{"message", header{kind: kindMessage, length: 256 * kib}, ""},
		{"message too long", header{kind: kindMessage, length: 256*kib + 1}, "frame of kind 3 has 262145 bytes, may have 0 to 262144"},
		{"open", header{kind: kindOpen, length: maxHeader}, ""},
		{"reply in parts", header{kind: kindReply, flags: flagParts, length: 5}, "frame of kind 5 has 5 bytes, may have 4 to 4"},
		{"data", header{kind: kindData, length: 320 * kib}, ""},
		{"data too long", header{kind: kindData, length: 320*kib + 1}, "frame of kind 8 has 327681 bytes, may have 0 to 327680"},
		{"data absurd", header{kind: kindData, length: 1<<32 - 1}, "frame of kind 8 has 4294967295 bytes, may have 0 to 327680"},
		{"credit", header{kind: kindCredit, length: 4}, ""},
		{"credit without number", header{kind: kindCredit}, "frame of kind 11 has 0 bytes, may have 4 to 4"},
		{"failure", header{kind: kindFailure, length: maxText + 1}, "frame of kind 6 has 1025 bytes, may have 0 to 1024"},
		{"no kind", header{}, "frame of unknown kind 0"},
		{"new kind", header{kind: kindsEnd}, "frame of unknown kind 14"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b [headerBytes]byte
			c.h.put(b[:])
			got, err := parseHeader(b[:], testLimits)
			if c.want == "" {
				if err != nil || got != c.h {
					t.Fatalf("got %+v, %v", got, err)
				}
				return
			}
			if err == nil || err.Error() != "protocol broken: "+c.want {
				t.Fatalf("got error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := parseHeader(make([]byte, 15), testLimits); err == nil {
		t.Fatal("15 bytes are no header")
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := header{
			kind:   kindData,
			flags:  rapid.Uint8Range(0, 15).Draw(t, "flags"),
			method: rapid.Byte().Draw(t, "method"),
			code:   rapid.Uint16().Draw(t, "code"),
			length: rapid.Uint32Range(0, 320*kib).Draw(t, "length"),
			id:     rapid.Uint64().Draw(t, "id"),
		}
		var b [headerBytes]byte
		h.put(b[:])
		if got, err := parseHeader(b[:], testLimits); err != nil || got != h {
			t.Fatalf("got %+v, %v, want %+v", got, err, h)
		}
	})
}

func TestHello(t *testing.T) {
	good := hello{version: version, status: statusReady, window: 4 * mib, message: 320 * kib, call: 16 * mib, name: "host:1"}
	t.Run("round trip", func(t *testing.T) {
		got, err := readHello(bytes.NewReader(good.append(nil)), "x")
		if err != nil || got != good {
			t.Fatalf("got %+v, %v", got, err)
		}
	})
	t.Run("other version", func(t *testing.T) {
		next := good
		next.version = 7
		_, err := readHello(bytes.NewReader(next.append(nil)[:helloStart]), "host:1")
		want := &VersionError{Addr: "host:1", Theirs: 7, Ours: 1}
		if got, ok := errors.AsType[*VersionError](err); !ok || *got != *want {
			t.Fatalf("got %v, want %v", err, want)
		}
		if text := err.Error(); text != "host:1 speaks format version 7, this endpoint speaks 1: run the same release on both" {
			t.Fatal(text)
		}
	})
	t.Run("garbage", func(t *testing.T) {
		for _, in := range []string{"GET / HTTP/1.1\r\n\r\n", "sr3-rinx", "sr3"} {
			if _, err := readHello(strings.NewReader(in), "x"); !errors.Is(err, errGarbage) {
				t.Errorf("%q: got %v", in, err)
			}
		}
		if _, err := readHello(strings.NewReader(""), "x"); !errors.Is(err, io.EOF) {
			t.Errorf("nothing at all: got %v", err)
		}
	})
	t.Run("window smaller than messages", func(t *testing.T) {
		bad := good
		bad.window = bad.message
		if _, err := readHello(bytes.NewReader(bad.append(nil)), "x"); err == nil {
			t.Fatal("taken")
		}
	})
}

func TestConfig(t *testing.T) {
	got, err := Config{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if got.ChunkBytes != 256*kib || got.Window != 4*mib || got.MaxConns != 1024 || got.MaxCall != 16*mib || got.PingEvery != 2*time.Second {
		t.Fatalf("got %+v", got)
	}
	for _, c := range []struct {
		cfg  Config
		want string
	}{
		{Config{ChunkBytes: 1}, "transport: Config.ChunkBytes is 1, must be from 4096 to 16777216"},
		{Config{MaxConns: -1}, "transport: Config.MaxConns is -1, must be from 1 to 1048576"},
		{Config{PingEvery: -1}, "transport: Config.PingEvery is -1ns, must be positive"},
	} {
		if _, err := Listen(c.cfg, "", nil); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	if _, err := Listen(Config{}, "127.0.0.1:0", nil); err == nil {
		t.Error("listens without a handler")
	}
}

func TestOutcome(t *testing.T) {
	for _, c := range []struct {
		err  error
		code uint16
		text string
	}{
		{nil, 0, ""},
		{errors.New("no"), CodeFailed, "no"},
		{&RemoteError{Code: 120, Text: "gone"}, 120, "gone"},
		{errors.Join(&RemoteError{Code: 120, Text: "gone"}), 120, "remote error 120: gone"},
		{t.Context().Err(), 0, ""},
		{errors.New(strings.Repeat("ä", 600)), CodeFailed, strings.Repeat("ä", 512)},
		{errors.New("x" + strings.Repeat("ä", 600)), CodeFailed, "x" + strings.Repeat("ä", 511)},
	} {
		if code, text := outcome(c.err); code != c.code || text != c.text {
			t.Errorf("%v: got %d %q, want %d %q", c.err, code, text, c.code, c.text)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for k := range kindsEnd + 1 {
		var b [headerBytes]byte
		header{kind: k, length: 4, id: 1}.put(b[:])
		f.Add(b[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHeader(b, testLimits)
		if err != nil {
			return
		}
		if h.length > 320*kib {
			t.Fatalf("takes %d bytes", h.length)
		}
		var again [headerBytes]byte
		h.put(again[:])
		if !bytes.Equal(again[:], b[:headerBytes]) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

func FuzzHello(f *testing.F) {
	f.Add(hello{version: version, window: 4 * mib, message: 320 * kib, call: mib, name: "a:1"}.append(nil))
	f.Add(hello{version: 2}.append(nil))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := readHello(bytes.NewReader(b), "x")
		if err == nil && !bytes.HasPrefix(b, h.append(nil)) {
			t.Fatalf("%x became %+v", b, h)
		}
	})
}

// script is a connection that says given bytes and swallows what it is told.
type script struct {
	net.Conn
	in io.Reader
}

func (s *script) Read(b []byte) (int, error)       { return s.in.Read(b) }
func (s *script) Write(b []byte) (int, error)      { return len(b), nil }
func (s *script) Close() error                     { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{} }

func frames(list ...any) []byte {
	var b []byte
	for _, x := range list {
		switch x := x.(type) {
		case header:
			var h [headerBytes]byte
			x.put(h[:])
			b = append(b, h[:]...)
		case string:
			b = append(b, x...)
		}
	}
	return b
}

// FuzzConn lets a connection read anything after its hello.
func FuzzConn(f *testing.F) {
	f.Add(false, frames(header{kind: kindCall, id: 1, length: 2}, "hi", header{kind: kindCancel, id: 1}))
	f.Add(false, frames(header{kind: kindCall, flags: flagParts, id: 1, length: 4}, "\x00\x00\x00\x05", header{kind: kindPart, id: 1, length: 5}, "hello"))
	f.Add(false, frames(header{kind: kindOpen, id: 1, length: 1}, "h", header{kind: kindData, id: 1, length: 3}, "abc", header{kind: kindEnd, id: 1}))
	f.Add(false, frames(header{kind: kindOpen, id: 1}, header{kind: kindReset, id: 1}, header{kind: kindCredit, id: 1, length: 4}, "\xff\xff\xff\xff"))
	f.Add(false, frames(header{kind: kindMessage, length: 3}, "abc", header{kind: kindPing, id: 4}))
	f.Add(true, frames(header{kind: kindReply, id: 1, length: 2}, "hi", header{kind: kindFailure, id: 2, length: 2}, "no"))
	f.Add(true, frames(header{kind: kindReply, flags: flagParts, id: 1, length: 4}, "\x00\x00\x00\x05", header{kind: kindPart, id: 1, length: 5}, "hello"))
	f.Add(true, frames(header{kind: kindData, id: 3, length: 3}, "abc", header{kind: kindEnd, flags: flagStop, id: 3}))
	h := &world{
		call: func(_ context.Context, _ byte, b []byte) ([]byte, error) { return b, nil },
		stream: func(ctx context.Context, s *Stream, _ byte, _ []byte) error {
			b, err := s.Recv(ctx)
			if err == nil {
				err = s.Send(ctx, b)
			}
			return err
		},
	}
	e, err := Listen(Config{MaxCall: mib}, "", nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(e.Close)
	e.h = h
	theirs := hello{version: version, window: 4 * mib, message: 320 * kib, call: mib}
	f.Fuzz(func(t *testing.T, dialed bool, b []byte) {
		c := newConn(e, &script{in: bytes.NewReader(b)}, dialed, "x", theirs, e.link("x"))
		if dialed {
			for range 2 {
				c.slots <- struct{}{}
				if _, err := c.startCall(&pendingCall{done: make(chan struct{})}, 0, nil); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.open(0, nil); err != nil {
				t.Fatal(err)
			}
		}
		if !e.adopt(c) {
			t.Fatal("closed")
		}
		<-c.done
		eventually(t, "all slots of calls are free", func() bool { return len(c.slots) == 0 })
	})
}
