package transport

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// logTwin is an outlog that keeps frames in a plain list.
type logTwin struct {
	frames  [][]byte // not acknowledged, payloads
	tuples  []int
	acked   uint64
	next    int // index in frames of the next to be written
	open    []byte
	openN   int
	highest uint64
}

func (w *logTwin) close() {
	if len(w.open) > 0 {
		w.frames, w.tuples = append(w.frames, w.open), append(w.tuples, w.openN)
		w.open, w.openN = nil, 0
	}
}

func (w *logTwin) ack(seq uint64) {
	n := int(seq - w.acked)
	w.frames, w.tuples = w.frames[n:], w.tuples[n:]
	w.next -= n
	w.acked = seq
}

func (w *logTwin) bytes(openFrame bool) int {
	n := len(w.open)
	if openFrame {
		n += headerBytes
	}
	for _, f := range w.frames {
		n += headerBytes + len(f)
	}
	return n
}

// TestOutlog drives an outlog and its twin with the same random calls.
func TestOutlog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const frameBytes = 256
		l := newOutlog(frameBytes)
		twin := &logTwin{}
		var busy []taken // writes under way, with what they must still hold
		var held [][]byte
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				record := slices.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, rapid.IntRange(1, 2*frameBytes).Draw(t, "length"))
				tuples := rapid.IntRange(0, 3).Draw(t, "tuples")
				l.commit(append(l.open(), record...), tuples)
				twin.open, twin.openN = append(twin.open, record...), twin.openN+tuples
				if len(twin.open)+headerBytes >= frameBytes {
					twin.close()
				}
			},
			"close": func(*rapid.T) { l.close(); twin.close() },
			"write": func(t *rapid.T) {
				if len(busy) > 0 {
					t.Skip("one writer")
				}
				got := l.take()
				if twin.next == len(twin.frames) {
					twin.close()
				}
				n := 0
				for rest := got.frames; len(rest) > 0; n++ {
					var frame []byte
					frame, rest = cutFrame(rest)
					h, _ := parseHeader(frame, 1<<20)
					if want := twin.frames[twin.next]; h.seq != twin.acked+uint64(twin.next)+1 || !slices.Equal(frame[headerBytes:], want) {
						t.Fatalf("frame %d is %x, want %x", h.seq, frame[headerBytes:], want)
					}
					twin.next++
				}
				if n != got.n || n == 0 && twin.next < len(twin.frames) {
					t.Fatalf("took %d frames, said %d; %d are there", n, got.n, len(twin.frames)-twin.next)
				}
				if got.c != nil {
					busy, held = append(busy, got), append(held, slices.Clone(got.frames))
				}
				twin.highest = max(twin.highest, twin.acked+uint64(twin.next))
			},
			"written": func(t *rapid.T) {
				if len(busy) == 0 {
					t.Skip("nothing is being written")
				}
				if !slices.Equal(busy[0].frames, held[0]) {
					t.Fatal("frames changed while they were written")
				}
				l.written(busy[0].c)
				busy, held = nil, nil
			},
			"ack": func(t *rapid.T) {
				seq := rapid.Uint64Range(twin.acked, twin.acked+uint64(twin.next)).Draw(t, "seq")
				if err := l.ack(seq); err != nil {
					t.Fatal(err)
				}
				twin.ack(seq)
			},
			"rewind": func(t *rapid.T) {
				if len(busy) > 0 {
					t.Skip("one writer")
				}
				if got, want := l.rewind(), twin.highest-twin.acked; got != want {
					t.Fatalf("%d frames to be written again, want %d", got, want)
				}
				twin.next = 0
			},
			"reset": func(t *rapid.T) {
				want := twin.openN
				for _, n := range twin.tuples {
					want += n
				}
				if got := l.reset(); got != want {
					t.Fatalf("%d tuples dropped, want %d", got, want)
				}
				twin = &logTwin{}
			},
			"": func(t *rapid.T) {
				if got, want := l.bytes, twin.bytes(l.openAt >= 0); got != want {
					t.Fatalf("%d bytes kept, want %d", got, want)
				}
			},
		})
	})
}

func TestOutlogAckOutOfRange(t *testing.T) {
	l := newOutlog(256)
	for range 3 {
		l.commit(append(l.open(), "record"...), 1)
		l.close()
	}
	l.written(l.take().c)
	if err := l.ack(2); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []uint64{1, 4} {
		want := fmt.Sprintf("ack of frame %d, but 2 are acknowledged and 3 sent", seq)
		if err := l.ack(seq); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
