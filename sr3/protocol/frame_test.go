package protocol

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stormring/stormring/sr3/recovery"
)

func TestFrameComesOutAsItWentIn(t *testing.T) {
	for _, f := range []Frame{
		{Kind: FrameChunk, Part: recovery.Part{Shard: 1023, First: 2, Until: 5}, Content: recovery.Content{Sum: 1<<64 - 1, Size: 1 << 40}, Offset: 1<<40 - 4},
		{Kind: FrameChunk, Content: recovery.Content{Size: 4}},
		{Kind: FrameLacks, Part: recovery.Part{Shard: 7, Until: 1}},
		{Kind: FrameBroken},
		{Kind: FrameSkip, Part: recovery.Part{Shard: 7, First: 1, Until: 2}},
	} {
		body := []byte("body")
		head := AppendFrame(nil, f, body)
		if len(head) != FrameHead {
			t.Fatalf("a head of %d bytes, want %d", len(head), FrameHead)
		}
		got, err := DecodeFrame(head, len(body))
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		if !got.Intact(body) || got.Intact([]byte("bode")) {
			t.Errorf("%+v: the checksum does not tell bodies apart", f)
		}
		got.Checksum = 0
		if got != f {
			t.Errorf("got %+v, want %+v", got, f)
		}
	}
}

func TestFramesThatMakeNoSense(t *testing.T) {
	good := Frame{Kind: FrameChunk, Part: recovery.Part{Until: 1}, Content: recovery.Content{Size: 4}}
	for want, break_ := range map[string]func(head []byte) ([]byte, int){
		"kind 0":           func(h []byte) ([]byte, int) { h[0] = 0; return h, 4 },
		"kind 5":           func(h []byte) ([]byte, int) { h[0] = 5; return h, 4 },
		"head of 55":       func(h []byte) ([]byte, int) { return h[:55], 4 },
		"says 4 bytes":     func(h []byte) ([]byte, int) { return h, 3 },
		"negative":         func(h []byte) ([]byte, int) { h[7] = 0x80; return h, 4 },
		"negative numbers": func(h []byte) ([]byte, int) { h[39] = 0x80; return h, 4 },
		"beyond":           func(h []byte) ([]byte, int) { h[32] = 1; return h, 4 },
	} {
		head, body := break_(AppendFrame(nil, good, []byte("body")))
		if _, err := DecodeFrame(head, body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(AppendFrame(nil, Frame{Kind: FrameChunk, Content: recovery.Content{Size: 4}}, []byte("body")), 4)
	f.Add(AppendFrame(nil, Frame{Kind: FrameSkip, Part: recovery.Part{Shard: 3}}, nil), 0)
	f.Fuzz(func(t *testing.T, head []byte, n int) {
		fr, err := DecodeFrame(head, n)
		if err != nil {
			return
		}
		if n < 0 || n > 1<<20 {
			return
		}
		again := AppendFrame(nil, fr, make([]byte, n))
		if !bytes.Equal(again[4:48], head[4:48]) || again[0] != head[0] {
			t.Errorf("%x is written as %x", head, again)
		}
	})
}
