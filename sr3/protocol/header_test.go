package protocol

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// fetchHeader is that of a line of two nodes which send n shards.
func fetchHeader(n int) FetchHeader {
	f := &recovery.Flow{Node: "a", From: []*recovery.Flow{{Node: "b", To: "a"}}}
	h := FetchHeader{
		Owner: shard.Owner{Topology: "t", Component: "c", Task: 3}, Version: 5, Flow: f,
		Addrs: map[recovery.NodeID]string{"a": "h1:1", "b": "h2:1"}, StallMillis: 2000,
	}
	for i := range n {
		p := recovery.Part{Shard: i, Until: 2, Bytes: 9}
		f.From[0].Own, f.From[0].Sends, f.Sends = append(f.From[0].Own, p), append(f.From[0].Sends, p), append(f.Sends, p)
		h.Orders = append(h.Orders, recovery.Order{Part: p})
	}
	return h
}

func TestHeadersOfAnyLength(t *testing.T) {
	for _, n := range []int{1, 10, 100, 1000, 4000} {
		h := fetchHeader(n)
		encoded := Encode(h)
		head, rest := SplitHeader(encoded)
		if len(head) > 64<<10 {
			t.Errorf("%d shards: a head of %d bytes", n, len(head))
		}
		size, err := HeaderRest(head)
		if err != nil {
			t.Fatal(err)
		}
		got := head
		if size > 0 {
			got = nil
			for m := range rest {
				if len(m) > ChunkBytes {
					t.Errorf("a message of %d bytes", len(m))
				}
				got = append(got, m...)
			}
		}
		if !bytes.Equal(got, encoded) {
			t.Fatalf("%d shards: %d bytes became %d", n, len(encoded), len(got))
		}
		var back FetchHeader
		if err := Decode(got, &back); err != nil || !reflect.DeepEqual(back, h) {
			t.Errorf("%d shards: it came out otherwise: %v", n, err)
		}
		if err := back.Check("a"); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"+", "+0", "+-4", "+x", "+99999999999", "+999999999999999999999999"} {
		if n, err := HeaderRest([]byte(bad)); err == nil {
			t.Errorf("%q is %d bytes", bad, n)
		}
	}
}

func TestHeadersThatMakeNoSense(t *testing.T) {
	for want, change := range map[string]func(*FetchHeader){
		"no orders":              func(h *FetchHeader) { h.Orders = nil },
		"this is node a":         func(h *FetchHeader) { h.Flow.Node = "b" },
		"there is no part":       func(h *FetchHeader) { h.Orders[0].Part.Until = 0 },
		"there is no part -1":    func(h *FetchHeader) { h.Flow.From[0].Own[0].Shard = -1 },
		"there is no part 0 [-1": func(h *FetchHeader) { h.Flow.Sends[0].First = -1 },
		"offset 3 of 2":          func(h *FetchHeader) { h.Orders[0].Offset, h.Orders[0].Content.Size = 3, 2 },
		"a flow from nobody":     func(h *FetchHeader) { h.Flow.From[0] = nil },
		"more than 4096 flows":   func(h *FetchHeader) { h.Flow.From = manyFlows(4096) },
	} {
		h := fetchHeader(2)
		change(&h)
		if err := h.Check("a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	h := fetchHeader(1)
	h.Flow = nil
	if err := h.Check("a"); err != nil {
		t.Errorf("a leaf needs no flow: %v", err)
	}
}

func manyFlows(n int) []*recovery.Flow {
	out := make([]*recovery.Flow, n)
	for i := range out {
		out[i] = &recovery.Flow{Node: "x"}
	}
	return out
}

func FuzzFetchHeader(f *testing.F) {
	f.Add(Encode(fetchHeader(2)))
	f.Add([]byte(`{"orders":[{"part":{"until":1}}]}`))
	f.Add([]byte("+700"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := HeaderRest(b); err == nil && (n < 0 || n > maxHeader) {
			t.Errorf("%q is %d bytes", b, n)
		}
		var h FetchHeader
		if Decode(b, &h) != nil || h.Check("a") != nil {
			return
		}
		var again FetchHeader
		// An empty list may come out as none.
		if err := Decode(Encode(h), &again); err != nil || !bytes.Equal(Encode(h), Encode(again)) {
			t.Errorf("%q comes out otherwise: %v", b, err)
		}
	})
}
