package transport

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// Whatever a stranger sends, its connection is closed and the error told once.
func TestGarbage(t *testing.T) {
	hi := hello{topology: "t", from: "a", to: "b", life: 9}
	open := appendFrame(nil, frameHello, 0, hi.append(nil))
	old := slices.Clone(open)
	binary.LittleEndian.PutUint16(old[headerBytes+len(magic):], 77)
	huge := appendFrame(nil, frameData, 1, nil)
	binary.LittleEndian.PutUint32(huge, 1<<31)
	packed := appendFrame(nil, frameData, 1, []byte{0xff, 0xff, 0xff, 0x7f, 1, 2, 3}) // unpacks to 256 MiB
	packed[5] = flagS2
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"http", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "is refused: frame of unknown kind 47: the peer speaks another protocol"},
		{"no hello", appendFrame(nil, framePing, 0, nil), "is refused: the first frame is of kind 5, not hello"},
		{"other magic", appendFrame(nil, frameHello, 0, []byte("xxxxxxxxx")), "is refused: no hello: the peer is not a worker of this runtime"},
		{"other version", old, "is refused: the peer speaks version 77 of the protocol, this worker version 1: run both with the same release"},
		{"hello cut off", appendFrame(nil, frameHello, 0, hi.append(nil)[:12]), "is refused: bad hello: at byte 12 of 12: the frame ends too early"},
		{"huge", slices.Concat(open, huge), "frame of kind 3 has 2147483648 bytes, more than the limit of 268435456"},
		{"bomb", slices.Concat(open, packed), "frame 1: unpacks to 268435455 bytes, more than the limit of 2097152"},
		{"gap", slices.Concat(open, appendFrame(nil, frameData, 2, nil)), "frame 2 follows frame 0"},
		{"flags", slices.Concat(open, []byte{0, 0, 0, 0, byte(framePing), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), "frame of kind 5 has unknown flags 010000"},
		{"hello again", slices.Concat(open, open), "frame of kind 1 after hello"},
		{"record", slices.Concat(open, appendFrame(nil, frameData, 1, []byte{99})), "frame 1: at byte 1 of 1: unknown record kind 99"},
		{"no credits", slices.Concat(open, appendFrame(nil, frameData, 1, tooMany())), "5000 under way to task 7, more than the credits of 4096"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			log := newErrorLog()
			cfg := testConfig()
			cfg.OnError = log.add
			l := testListener(t, cfg, &inbox{})
			conn, err := dialTo(l)(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.Write(tt.data); err != nil {
				t.Fatal(err)
			}
			if got := log.wait(t); !strings.HasSuffix(got, tt.want) {
				t.Errorf("reported %q, want ... %q", got, tt.want)
			}
			buf := make([]byte, 4096)
			for err == nil {
				_, err = conn.Read(buf)
			}
			if s := l.Stats(); s.Broken+s.Refused != 1 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func tooMany() []byte {
	e := encoder{limit: 1 << 20}
	out, _, _ := e.appendTuples(nil, 7, numbered(0, 5000), 1<<20)
	return out
}

// trickle is a connection from which bytes come slowly.
type trickle struct {
	net.Conn
	data []byte
	most int // largest buffer that was offered
}

func (c *trickle) SetReadDeadline(time.Time) error { return nil }

func (c *trickle) Read(b []byte) (int, error) {
	c.most = max(c.most, len(b))
	if len(c.data) == 0 {
		return 0, net.ErrClosed
	}
	n := copy(b, c.data[:min(len(c.data), 1000)])
	c.data = c.data[n:]
	return n, nil
}

// A length alone must not make the reader allocate.
func TestReadBufferGrowsWithTheBytes(t *testing.T) {
	frame := appendFrame(nil, frameData, 1, make([]byte, 100_000))
	binary.LittleEndian.PutUint32(frame, 200<<20)
	conn := &trickle{data: frame}
	r := newFrameReader(conn, 4096, 256<<20, time.Second)
	if _, _, err := r.next(); !errors.Is(err, net.ErrClosed) {
		t.Fatal(err)
	}
	if conn.most > 200_000 || len(r.buf) > 200_000 {
		t.Errorf("a buffer of %d for 100000 bytes", len(r.buf))
	}
	// What is complete comes through, and the buffer shrinks again.
	var data []byte
	for i := range 3 {
		data = appendFrame(data, frameData, uint64(i), make([]byte, 100_000*i))
	}
	r = newFrameReader(&trickle{data: appendFrame(data, framePing, 0, nil)}, 4096, 256<<20, time.Second)
	for i := range 3 {
		h, payload, err := r.next()
		if err != nil || h.seq != uint64(i) || len(payload) != 100_000*i {
			t.Fatalf("frame %d of %d bytes: %v", h.seq, len(payload), err)
		}
	}
	if h, _, err := r.next(); err != nil || h.kind != framePing {
		t.Fatal(err)
	}
	if _, _, err := r.next(); !errors.Is(err, net.ErrClosed) || len(r.buf) != 4096 {
		t.Errorf("%v, buffer of %d", err, len(r.buf))
	}
}
