package evidence

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

const mbyte = 1_000_000

func manifest(holders ...[]shard.NodeID) *shard.Manifest {
	m := &shard.Manifest{}
	for i := range 2 {
		var chain []shard.Ref
		for j, h := range holders {
			chain = append(chain, shard.Ref{ObjectID: shard.ObjectID{Range: shard.RangeOf(i, 2)}, Stored: int64(100 * (j + 1)), Holders: h})
		}
		m.Shards = append(m.Shards, chain)
	}
	return m
}

func TestPieces(t *testing.T) {
	m := manifest([]shard.NodeID{"a", "b"}, []shard.NodeID{"a", "c"})
	have := map[shard.NodeID]protocol.HaveAnswer{
		"a": {Spans: []protocol.Span{{Shard: 0, First: 0, Until: 9}, {Shard: 7, Until: 1}, {Shard: 0, First: -1, Until: 1}}},
		"d": {Spans: []protocol.Span{{Shard: 1, First: 1, Until: 2}, {Shard: 1, First: 1, Until: 2}}},
	}
	object := func(bytes int64, holders ...shard.NodeID) recovery.Object {
		return recovery.Object{Bytes: bytes, Holders: holders}
	}
	want := []recovery.Piece{
		{Shard: 0, Bytes: 200, Chain: []recovery.Object{object(100, "a"), object(200, "a")}},
		{Shard: 1, Bytes: 200, Chain: []recovery.Object{object(100), object(200, "d")}},
	}
	if got := Pieces(m, have, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("by their own words: %+v", got)
	}
	// Of whom the manifest names only b may have it.
	want[1].Chain[0].Holders = []shard.NodeID{"b"}
	if got := Pieces(m, have, func(id shard.NodeID) bool { return id == "b" }); !reflect.DeepEqual(got, want) {
		t.Errorf("with hints: %+v", got)
	}
	if m.Shards[1][0].Holders[0] != "a" {
		t.Error("the manifest was changed")
	}
}

func node(id, rack string) ring.Node { return ring.Node{ID: id, Addr: id + ":1", Rack: rack} }

// peer is what the receiver's host measured of a node: the best rate, and that of
// all in the same moment.
func peer(id string, best, total float64) protocol.PeerStatus {
	return protocol.PeerStatus{Addr: id + ":1", RTTMS: 2, ReceiveBest: best * mbyte, ReceiveTotal: total * mbyte}
}

func TestFill(t *testing.T) {
	word := func(up, least, down int64) protocol.Link {
		return protocol.Link{Up: up * mbyte, UpLeast: least * mbyte, Down: down * mbyte}
	}
	for _, c := range []struct {
		name  string
		sight Sight
		down  int64
		ups   map[string]int64
	}{
		{
			name: "nothing is known",
			ups:  map[string]int64{"r": 0, "a": 0, "b": 0},
		},
		{
			name:  "words",
			sight: Sight{Links: map[shard.NodeID]protocol.Link{"r": word(20, 0, 50), "a": word(10, 8, 5), "b": word(12, 14, 0)}},
			down:  50, ups: map[string]int64{"r": 20, "a": 10, "b": 14},
		},
		{
			name: "the worker has seen more than its node",
			sight: Sight{
				Own: word(0, 0, 90), Links: map[shard.NodeID]protocol.Link{"r": word(0, 30, 50)},
			},
			down: 90, ups: map[string]int64{"r": 90, "a": 0, "b": 0},
		},
		{
			name:  "it brings what it sends",
			sight: Sight{Own: word(40, 0, 10)},
			down:  40, ups: map[string]int64{"r": 0, "a": 0, "b": 0},
		},
		{
			name:  "streams that share the downlink say nothing of who sends",
			sight: Sight{Own: word(0, 0, 100), Peers: []protocol.PeerStatus{peer("a", 50, 100), peer("b", 50, 81)}},
			down:  100, ups: map[string]int64{"r": 0, "a": 100, "b": 100},
		},
		{
			name:  "one that could have been faster does",
			sight: Sight{Own: word(0, 0, 100), Peers: []protocol.PeerStatus{peer("a", 50, 100), peer("b", 30, 79)}},
			down:  100, ups: map[string]int64{"r": 0, "a": 50, "b": 30},
		},
		{
			name:  "the others are taken to be like those that are known",
			sight: Sight{Own: word(0, 0, 100), Links: map[shard.NodeID]protocol.Link{"a": word(70, 0, 0), "b": word(0, 20, 0)}},
			down:  100, ups: map[string]int64{"r": 0, "a": 70, "b": 70},
		},
		{
			name:  "older nodes tell the rates of streams",
			sight: Sight{Peers: []protocol.PeerStatus{{Addr: "a:1", ReceiveRate: 20 * mbyte}, {Addr: "b:1", ReceiveRate: 30 * mbyte}}},
			down:  30, ups: map[string]int64{"r": 0, "a": 30, "b": 30},
		},
	} {
		s := c.sight
		s.Self, s.Nodes = "r", []ring.Node{node("a", ""), node("b", ""), node("r", "")}
		var in recovery.Input
		s.Fill(&in)
		if in.Receiver.Down != c.down*mbyte {
			t.Errorf("%s: down %d, want %d MB/s", c.name, in.Receiver.Down, c.down)
		}
		for _, n := range in.Nodes {
			if n.Up != c.ups[string(n.ID)]*mbyte {
				t.Errorf("%s: %s sends %d, want %d MB/s", c.name, n.ID, n.Up, c.ups[string(n.ID)])
			}
		}
	}
}

// TestFillTheRest: what is not about rates.
func TestFillTheRest(t *testing.T) {
	s := Sight{
		Self: "r", Nodes: []ring.Node{node("a", "east"), node("b", "west"), node("r", "east")},
		Links:   map[shard.NodeID]protocol.Link{"a": {Up: 9, Down: 5, Fold: 7}, "r": {Fold: 8}},
		Streams: map[shard.NodeID]int{"b": 3},
		Peers:   []protocol.PeerStatus{{Addr: "a:1", RTTMS: 4}, {Addr: "a:1", RTTMS: 1.5}, {Addr: "a:1"}},
	}
	in := recovery.Input{Nodes: []recovery.Node{{ID: "old"}}}
	s.Fill(&in)
	want := []recovery.Node{
		{ID: "a", Site: "east", Up: 9, Down: 9, RTT: 1500 * time.Microsecond, Fold: 7}, {ID: "b", Site: "west", Streams: 3}, {ID: "r", Site: "east", Fold: 8},
	}
	if !slices.Equal(in.Nodes, want) {
		t.Errorf("nodes: %+v", in.Nodes)
	}
	if r := in.Receiver; r.ID != "r" || r.Site != "east" || r.Fold != 8 {
		t.Errorf("receiver: %+v", r)
	}
	if !slices.Equal(in.Sites, []recovery.Site{{Name: "east"}, {Name: "west"}}) {
		t.Errorf("sites: %+v", in.Sites)
	}
}
