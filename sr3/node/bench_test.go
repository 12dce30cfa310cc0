package node

import (
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// BenchmarkFetch brings 128 MB from three nodes over loopback, in star and in line:
// reading, sending and receiving in one process. What it receives is verified by
// chunk and thrown away.
func BenchmarkFetch(b *testing.B) {
	r := newRig(b, "a", "b", "c")
	k := r.task("c")
	k.table = shard.NewTable(shard.Options{Owner: k.owner})
	random := rand.NewChaCha8([32]byte{3})
	value := make([]byte, 10_000)
	for i := range 12_800 {
		_, _ = random.Read(value) // it never fails
		if err := k.table.Put([]byte{byte(i), byte(i >> 8), 7}, value); err != nil {
			b.Fatal(err)
		}
	}
	m := k.save(1)
	_, stored := m.Bytes()
	line := chain(m, "a", "b", "c")
	var star []*recovery.Flow
	for f := line; f != nil; {
		star = append(star, &recovery.Flow{Node: f.Node, Own: f.Own, Sends: f.Own})
		if f.From == nil {
			break
		}
		f = f.From[0]
	}
	for name, flows := range map[string][]*recovery.Flow{"star": star, "line": {line}} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(stored)
			b.ReportAllocs()
			for b.Loop() {
				var all sync.WaitGroup
				for _, f := range flows {
					all.Go(func() { r.drain(fetchOf(m, f)) })
				}
				all.Wait()
			}
		})
	}
}

// drain fetches and throws away.
func (r *rig) drain(h protocol.FetchHeader) {
	s, err := r.client.Open(r.t.Context(), r.nodes[string(h.Flow.Node)].Addr(), protocol.FetchShards, protocol.Encode(h))
	if err != nil {
		r.t.Error(err)
		return
	}
	defer s.Close()
	buffer := make([]byte, protocol.ChunkBytes)
	got := int64(0)
	for {
		f, body, err := recvFrame(r.t.Context(), s, buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || f.Kind != protocol.FrameChunk || !f.Intact(body) {
			r.t.Errorf("frame %+v: %v", f, err)
			return
		}
		got += int64(len(body))
	}
	if got == 0 {
		r.t.Error("nothing came")
	}
}
