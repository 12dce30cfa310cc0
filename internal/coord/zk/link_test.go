package zk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
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
}

func (w *wire) Read(b []byte) (int, error)  { return w.in.Read(b) }
func (w *wire) Write(b []byte) (int, error) { return w.out.Write(b) }

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
	get, set, ping := packet(opGet, "get"), packet(opSetWatches, "watches"), packet(opPing, "")
	hello := packet(opGet, "the first has no code")
	for _, tt := range []struct {
		name   string
		hold   bool
		writes [][]byte
		want   [][]byte
	}{
		{"no watches", false, [][]byte{hello, get, ping, get}, [][]byte{hello, get, ping, get}},
		{"watches", true, [][]byte{hello, get, get, set, get}, [][]byte{hello, set, get, get, get}},
		{"watches at once", true, [][]byte{hello, set, get}, [][]byte{hello, set, get}},
		{"they do not come", true, [][]byte{hello, get, ping, get}, [][]byte{hello, ping, get, get}},
		{"close", true, [][]byte{hello, get, packet(opClose, "")}, [][]byte{hello, packet(opClose, "")}},
	} {
		w := &wire{}
		l := &link{Conn: w, hold: tt.hold}
		for _, b := range tt.writes {
			if n, err := l.Write(b); n != len(b) || err != nil {
				t.Fatalf("%s: %d, %v", tt.name, n, err)
			}
		}
		if got, want := w.out.Bytes(), bytes.Join(tt.want, nil); !bytes.Equal(got, want) {
			t.Errorf("%s: written\n%q, want\n%q", tt.name, got, want)
		}
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
	if _, err := io.ReadFull(l, make([]byte, greetingBytes)); err != nil {
		t.Fatal(err)
	}
	if l.SetReadDeadline(until.Add(time.Hour)); !w.deadline.Equal(until.Add(time.Hour)) {
		t.Errorf("after the greeting the deadline is %v", w.deadline)
	}
}

func FuzzGreeting(f *testing.F) {
	f.Add(appendGreeting(nil, greeting{session: 1 << 40, timeout: 10 * time.Second, password: [16]byte{1, 2, 3}}), 1)
	f.Add([]byte{0, 0, 0, 1}, 3)
	f.Fuzz(func(t *testing.T, in []byte, piece int) {
		var got []greeting
		l := &link{Conn: &wire{in: bytes.NewReader(in)}, greet: func(g greeting) { got = append(got, g) }}
		var all []byte
		b := make([]byte, 1+uint(piece)%64)
		for {
			n, err := l.Read(b)
			all = append(all, b[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(all, in) {
			t.Errorf("it reads %q, want %q", all, in)
		}
		if len(in) < greetingBytes {
			if len(got) != 0 {
				t.Errorf("greeted with %+v by %d bytes", got, len(in))
			}
			return
		}
		if len(got) != 1 {
			t.Fatalf("greeted %d times", len(got))
		}
		if again := appendGreeting(nil, got[0]); !bytes.Equal(again[8:20], in[8:20]) || !bytes.Equal(again[24:], in[24:greetingBytes]) {
			t.Errorf("%+v is not what %q says", got[0], in)
		}
	})
}

func FuzzFarewell(f *testing.F) {
	f.Add(append(packet(1, "hello"), packet(opClose, "")...))
	f.Add(packet(opClose, ""))
	f.Fuzz(func(_ *testing.T, in []byte) {
		w := &wire{in: bytes.NewReader(in)}
		for {
			if bid(w, greeting{session: 1}) != nil {
				return
			}
		}
	})
}
