package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// wire is a connection of which the test sees what is written and says what is
// read.
type wire struct {
	net.Conn
	in       io.Reader
	out      bytes.Buffer
	deadline time.Time
	broken   bool
	closed   bool
}

func (w *wire) Read(b []byte) (int, error) { return w.in.Read(b) }

func (w *wire) Write(b []byte) (int, error) {
	if w.broken {
		return 0, io.ErrClosedPipe
	}
	return w.out.Write(b)
}

func (w *wire) Close() error {
	w.closed = true
	return nil
}

func (w *wire) SetReadDeadline(t time.Time) error {
	w.deadline = t
	return nil
}

// packet is a request as the library writes it.
func packet(op int32, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	b = binary.BigEndian.AppendUint32(b, 7)
	b = binary.BigEndian.AppendUint32(b, uint32(op))
	return append(b, body...)
}

func TestLinkPutsWatchesFirst(t *testing.T) {
	const opGet = 4
	get, get2, ping := packet(opGet, "a path"), packet(opGet, "another path"), packet(opPing, "")
	set, since := packet(opSetWatches, "\x00\x00\x00\x00\x00\x00\x00\x05 paths"), packet(opSetWatches, "\x00\x00\x00\x00\x00\x00\x00\x03 paths")
	hello, greets := []byte("\x00\x00\x00\x2c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00 and so on"), []byte("\x00\x00\x00\x2c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03 and so on")
	for _, tt := range []struct {
		name   string
		hold   bool
		writes [][]byte
		want   [][]byte
	}{
		{"no watches", false, [][]byte{hello, get, ping, get2, set, get}, [][]byte{greets, get, ping, get2, since, get}},
		{"requests wait", true, [][]byte{hello, get, get2, set, get}, [][]byte{greets, since, get, get2, get}},
		{"watches at once", true, [][]byte{hello, set, get}, [][]byte{greets, since, get}},
		{"they do not come", true, [][]byte{hello, get, ping, get2}, [][]byte{greets, ping, get, get2}},
	} {
		w := &wire{}
		readied := 0
		l := &link{Conn: w, hold: tt.hold, since: 3, ready: func() { readied++ }}
		for _, b := range tt.writes {
			if n, err := l.Write(b); n != len(b) || err != nil {
				t.Fatalf("%s: %d, %v", tt.name, n, err)
			}
		}
		if got, want := w.out.Bytes(), bytes.Join(tt.want, nil); !bytes.Equal(got, want) {
			t.Errorf("%s: written\n%q, want\n%q", tt.name, got, want)
		}
		if (readied == 1) != tt.hold {
			t.Errorf("%s: it is ready %d times", tt.name, readied)
		}
	}
}

// A connection that cannot be written to is closed.
func TestLinkHangsUp(t *testing.T) {
	w := &wire{broken: true}
	l := &link{Conn: w}
	for range 2 {
		if n, err := l.Write([]byte("hello, hello, hello, hello")); n != 26 || err != nil {
			t.Fatal(n, err)
		}
	}
	if !w.closed {
		t.Error("it is not closed")
	}
}

func TestLinkDeadline(t *testing.T) {
	until := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	w := &wire{in: bytes.NewReader(appendGreeting(nil, greeting{session: 1}))}
	l := &link{Conn: w, until: until, greet: func(greeting) {}}
	for _, asked := range []time.Time{{}, until.Add(time.Hour)} {
		if l.SetReadDeadline(asked); !w.deadline.Equal(until) {
			t.Errorf("before the greeting the deadline is %v", w.deadline)
		}
	}
	if _, err := io.ReadFull(l, make([]byte, greetingBytes)); err != nil { // and no more of it
		t.Fatal(err)
	}
	if l.SetReadDeadline(until.Add(time.Hour)); !w.deadline.Equal(until.Add(time.Hour)) {
		t.Errorf("after the greeting the deadline is %v", w.deadline)
	}
}

// reply is an answer as ZooKeeper sends it.
func reply(request int32, change int64, body string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(4+8+4+len(body)))
	b = binary.BigEndian.AppendUint32(b, uint32(request))
	b = binary.BigEndian.AppendUint64(b, uint64(change))
	return append(b, "code"+body...)
}

func TestLinkKeepsLastChange(t *testing.T) {
	hello := appendGreeting(nil, greeting{session: 9, timeout: time.Second})
	in := slices.Concat(hello, reply(1, 7, ""), reply(-1, -1, "an event"), reply(2, 300, "data"), reply(-2, 400, ""), reply(3, 0, "x"))
	want := slices.Concat(hello, reply(1, 0, ""), reply(-1, 0, "an event"), reply(2, 0, "data"), reply(-2, 0, ""), reply(3, 0, "x"))
	for piece := 1; piece < 60; piece++ {
		var last atomic.Int64
		l := &link{Conn: &wire{in: bytes.NewReader(in)}, last: &last, greet: func(greeting) {}}
		if got := readAll(t, l, piece); !bytes.Equal(got, want) {
			t.Fatalf("in pieces of %d it reads\n%q, want\n%q", piece, got, want)
		}
		if last.Load() != 300 {
			t.Errorf("in pieces of %d the last change is %d, want 300", piece, last.Load())
		}
	}
}

func readAll(t *testing.T, r io.Reader, piece int) []byte {
	t.Helper()
	var all []byte
	b := make([]byte, piece)
	for {
		n, err := r.Read(b)
		all = append(all, b[:n]...)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever a server sends, the library gets as much, and it is the same in
// whatever pieces it comes.
func FuzzLinkRead(f *testing.F) {
	hello := appendGreeting(nil, greeting{session: 1 << 40, timeout: 10 * time.Second, password: [16]byte{1, 2, 3}})
	f.Add(hello, 1)
	f.Add(append(hello, reply(1, 2, "data")...), 7)
	f.Add([]byte{0, 0, 0, 1}, 3)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		read := func(piece int) ([]byte, []greeting, int64) {
			var got []greeting
			var last atomic.Int64
			l := &link{Conn: &wire{in: bytes.NewReader(in)}, last: &last, greet: func(g greeting) { got = append(got, g) }}
			return readAll(t, l, piece), got, last.Load()
		}
		whole, greetings, last := read(len(in) + 1)
		pieces, again, lastAgain := read(1 + int(uint(piece)%64))
		if len(whole) != len(in) || !bytes.Equal(whole, pieces) || !slices.Equal(greetings, again) || last != lastAgain {
			t.Errorf("%q is read as %q, %+v, %d; in pieces as %q, %+v, %d", in, whole, greetings, last, pieces, again, lastAgain)
		}
		if (len(greetings) == 1) != (len(in) >= greetingBytes) {
			t.Fatalf("greeted %d times by %d bytes", len(greetings), len(in))
		}
		if len(greetings) == 1 {
			if b := appendGreeting(nil, greetings[0]); !bytes.Equal(b[8:20], in[8:20]) || !bytes.Equal(b[24:], in[24:greetingBytes]) {
				t.Errorf("%+v is not what %q says", greetings[0], in)
			}
		}
	})
}

func FuzzBid(f *testing.F) {
	f.Add(append(packet(1, "hello"), packet(opClose, "")...))
	f.Add(packet(opClose, ""))
	f.Add([]byte{0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, in []byte) {
		w := &wire{in: bytes.NewReader(in)}
		if bid(w, greeting{session: 1}) == nil || w.out.Len()%20 != 0 {
			t.Errorf("it answers %q", w.out.Bytes())
		}
	})
}
