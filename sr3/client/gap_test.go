package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// received is a chunk as it comes to an inflow; it has 100 bytes, all equal.
type received struct {
	offset int64
	fill   byte
	change func(*protocol.Frame) // nil for none
	cut    bool                  // the stream breaks within its body
	before func(*target)         // what happens before it comes, nil for nothing

	kept    bool
	refused bool // as an error that ends the stream
}

// TestInflowKeepsWhatIsNext: bytes land in a part only where the part goes on, and
// nothing else is written over or counted.
func TestInflowKeepsWhatIsNext(t *testing.T) {
	t.Parallel()
	const most = 500 + 1024 // see fetch.bound
	part := recovery.Part{Shard: 0, Until: 1}
	content := recovery.Content{Sum: 7, Size: 300}
	sum := func(f *protocol.Frame) { f.Content.Sum++ }
	size := func(n int64) func(*protocol.Frame) { return func(f *protocol.Frame) { f.Content.Size = n } }
	for _, c := range []struct {
		name   string
		comes  []received
		at     int64
		fills  string // what is in the part after that, a letter for each 100 bytes
		resume int64  // what an earlier stream has brought
	}{
		{"all in order", []received{{offset: 0, fill: 'a', kept: true}, {offset: 100, fill: 'b', kept: true}, {offset: 200, fill: 'c', kept: true}}, 300, "abc", 0},
		{"a gap", []received{{offset: 0, fill: 'a', kept: true}, {offset: 200, fill: 'c'}}, 100, "a..", 0},
		{"a gap that is closed", []received{{offset: 0, fill: 'a', kept: true}, {offset: 200, fill: 'c'}, {offset: 100, fill: 'b', kept: true}}, 200, "ab.", 0},
		{"one twice", []received{{offset: 0, fill: 'a', kept: true}, {offset: 100, fill: 'b', kept: true}, {offset: 100, fill: 'x'}}, 200, "ab.", 0},
		{"the last twice", []received{
			{offset: 0, fill: 'a', kept: true},
			{offset: 100, fill: 'b', kept: true},
			{offset: 200, fill: 'c', kept: true},
			{offset: 200, fill: 'x'},
		}, 300, "abc", 0},
		{"an overlap", []received{{offset: 0, fill: 'a', kept: true}, {offset: 50, fill: 'x'}}, 100, "a..", 0},
		{"a later beginning", []received{{offset: 100, fill: 'x'}}, 0, "", 0},
		{"from the beginning again", []received{{offset: 0, fill: 'a', kept: true}, {offset: 0, fill: 'x', kept: true}}, 100, "x..", 0},
		{"another sum on the way", []received{{offset: 0, fill: 'a', kept: true}, {offset: 100, fill: 'x', change: sum}}, 100, "a..", 0},
		{"another size on the way", []received{{offset: 0, fill: 'a', kept: true}, {offset: 100, fill: 'x', change: size(400)}}, 100, "a..", 0},
		{"other content from the beginning", []received{{offset: 0, fill: 'a', kept: true}, {offset: 0, fill: 'x', change: size(200), kept: true}}, 100, "x.", 0},
		{"more than it can be", []received{{offset: 0, fill: 'x', change: size(most + 1), refused: true}}, 0, "", 0},
		{"as much as it can be", []received{{offset: 0, fill: 'a', change: size(most), kept: true}}, 100, "", 0},
		{"one that breaks off", []received{{offset: 0, fill: 'a', kept: true}, {offset: 100, fill: 'x', cut: true, kept: true}}, 100, "ax.", 0},
		{"where another has stopped", []received{{offset: 100, fill: 'b', kept: true}, {offset: 200, fill: 'c', kept: true}}, 300, ".bc", 100},
		{"not where another has stopped", []received{{offset: 200, fill: 'x'}}, 100, "...", 100},
		{"another brings it now", []received{
			{offset: 0, fill: 'a', kept: true}, {offset: 100, fill: 'x', before: func(t *target) { t.revoked = true }},
		}, 100, "a..", 0},
		{"a part that nobody ordered", []received{{offset: 0, fill: 'x', change: func(f *protocol.Frame) { f.Part.Until = 2 }}}, 0, "", 0},
		{"no chunk", []received{{offset: 0, fill: 'x', change: func(f *protocol.Frame) { f.Kind = protocol.FrameLacks }}}, 0, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			to := &target{}
			if c.resume > 0 {
				to.buf, to.content, to.at = bytes.Repeat([]byte{'.'}, int(content.Size)), content, c.resume
			}
			f := &fetch{m: &shard.Manifest{Shards: [][]shard.Ref{{{Stored: 300, Size: 500}}}}}
			in := &inflow{f: f, targets: map[partID]*target{idOf(part): to}}
			for i, x := range c.comes {
				if x.before != nil {
					x.before(to)
				}
				body := bytes.Repeat([]byte{x.fill}, 100)
				frame := protocol.Frame{Kind: protocol.FrameChunk, Part: part, Content: content, Offset: x.offset}
				if x.change != nil {
					x.change(&frame)
				}
				r := reading{in: in}
				b := r.into(protocol.AppendFrame(nil, frame, body), len(body))
				if len(b) != len(body) || (r.to == to) != x.kept || to.filling != x.kept || (r.err != nil) != x.refused {
					t.Fatalf("chunk %d: room for %d bytes, kept %t, filling %t, %v", i, len(b), r.to == to, to.filling, r.err)
				}
				fresh := x.offset == 0 && x.kept
				copy(b, body)
				if fresh { // what is not written yet is 0
					for i := len(body); i < len(to.buf); i++ {
						to.buf[i] = '.'
					}
				}
				var err error
				if x.cut {
					err = io.ErrUnexpectedEOF
				}
				if r.landed(err); to.filling {
					t.Fatalf("chunk %d: it is still being written", i)
				}
			}
			if to.at != c.at {
				t.Errorf("%d bytes have come, want %d", to.at, c.at)
			}
			var want []byte
			for _, letter := range []byte(c.fills) {
				want = append(want, bytes.Repeat([]byte{letter}, 100)...)
			}
			if c.fills != "" && !bytes.Equal(to.buf, want) {
				t.Errorf("there is %q", to.buf)
			}
		})
	}
}

// TestInflowTellsDamage: a chunk that is not what its checksum says does not count
// as come.
func TestInflowTellsDamage(t *testing.T) {
	t.Parallel()
	part := recovery.Part{Shard: 0, Until: 1}
	f := &fetch{m: &shard.Manifest{}, events: make(chan happened, 1), ctx: t.Context()}
	in := &inflow{f: f, id: 3}
	body := []byte("bytes")
	head := protocol.AppendFrame(nil, protocol.Frame{Kind: protocol.FrameChunk, Part: part, Content: recovery.Content{Size: 9}}, body)
	for _, c := range []struct {
		body string
		want recovery.Event
	}{
		{"bytes", recovery.Chunk{Stream: 3, Part: part, Content: recovery.Content{Size: 9}, Length: 5}},
		{"bites", recovery.Corrupt{Stream: 3, Part: part}},
	} {
		frame, err := protocol.DecodeFrame(head, len(body))
		if err != nil {
			t.Fatal(err)
		}
		in.take(&reading{in: in, frame: frame}, []byte(c.body))
		if got := <-f.events; got.Event != c.want {
			t.Errorf("%s: %+v, want %+v", c.body, got.Event, c.want)
		}
	}
}

// TestGapsInStreams: whatever a node leaves out, sends twice, or ends early, the
// state is as it was.
func TestGapsInStreams(t *testing.T) {
	t.Parallel()
	for _, mode := range allModes {
		for name, fault := range map[string]error{"a gap": errLeftOut, "twice": errTwice, "an early end": io.EOF} {
			t.Run(fmt.Sprintf("%s/%s", mode, name), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1)
				f := r.front("n1")
				r.settle()
				w := r.worker(r.client("n0"), func(o *TaskOptions) { o.ShardBytes = 2 << 20 })
				w.mustLoad(0)
				w.fill(7, 3000, 2000)
				w.checkpoint(1)
				var faults atomic.Int32
				f.setSpoil(func(h protocol.Frame, body []byte) error {
					end := h.Offset + int64(len(body))
					last := end == h.Content.Size
					switch {
					case h.Kind != protocol.FrameChunk || h.Offset == 0, errors.Is(fault, errLeftOut) && last, errors.Is(fault, errTwice) && !last:
						return nil
					}
					faults.Add(1)
					return fault
				})
				c := r.client("n1")
				// A node that is slow to say what it has may not be asked at all.
				for range 20 {
					h := r.heir(w, c, func(o *TaskOptions) {
						o.Mode, o.Params.Stall = mode, 2*time.Minute // it is not silence that is seen
					})
					h.mustLoad(1)
					h.check()
					h.Close()
					if faults.Load() > 0 {
						return
					}
				}
				t.Error("nothing was left out")
			})
		}
	}
}
