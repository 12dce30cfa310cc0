package overview

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

func TestRing(t *testing.T) {
	r := MakeRing(three())
	golden(t, "ring.txt", r.Text())
	if got := r.Topologies(); !slices.Equal(got, []string{id}) {
		t.Errorf("topologies: %q", got)
	}
	var living []string
	for _, n := range r.Living() {
		living = append(living, n.ID)
	}
	if !slices.Equal(living, []string{"a", "b", "c"}) {
		t.Errorf("living: %q", living)
	}
}

// TestPartial: nodes that do not know the whole ring are told of.
func TestPartial(t *testing.T) {
	const joining, tooMany = "2 of 3 nodes that answered do not know the whole ring, and do not replace lost copies: some have just joined, or do not hear of each other\n",
		"600 of 600 nodes that answered do not know the whole ring, and do not replace lost copies: there are more than 512; make several clusters of these hosts\n"
	answers := three()
	if text := new(MakeRing(answers)).Text(); strings.Contains(text, "whole ring") {
		t.Error(text)
	}
	for i, a := range answers {
		if a.Status != nil {
			a.Status.Complete = i == 0
		}
	}
	r := MakeRing(answers)
	if text := r.Text(); !strings.Contains(text, "\n\n"+joining) || r.Sums.Partial != 2 {
		t.Errorf("%d are partial:\n%s", r.Sums.Partial, text)
	}
	answers = nil
	for i := range 600 {
		s := status(fmt.Sprintf("n%03d", i), map[string]string{fmt.Sprintf("n%03d", (i+1)%600): "alive"})
		s.Complete = false
		answers = append(answers, answer(s))
	}
	r = MakeRing(answers)
	if text := r.Text(); !strings.Contains(text, "\n\n"+tooMany) {
		t.Errorf("%s", text[:500])
	}
}

func TestRingJSON(t *testing.T) {
	a := status("a", map[string]string{"b": "alive"})
	a.Owners = []protocol.OwnerStatus{{Owner: owner(3), Version: 2, Committed: 1, Shards: 1, Objects: 2, Bytes: 3, Missing: 4}}
	got, err := json.MarshalIndent(MakeRing([]Answer{answer(a), {Addr: "x:1", Cause: "refused"}}), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "ring.json", string(got)+"\n")
}

// TestStatus: what is said of node d, by whom.
func TestStatus(t *testing.T) {
	self := func(joined bool) *protocol.NodeStatus {
		s := status("d", nil)
		s.Joined = joined
		return s
	}
	for _, c := range []struct {
		name   string
		said   map[string]string
		own    *protocol.NodeStatus
		status string
		text   string
	}{
		{"all agree", map[string]string{"a": "alive", "b": "alive"}, self(true), "alive", "alive"},
		{"most", map[string]string{"a": "alive", "b": "alive", "c": "dead"}, nil, "alive", "alive (dead to 1 of 3)"},
		{"the worse of two", map[string]string{"a": "suspect", "b": "dead"}, self(true), "dead", "dead (suspect to 1 of 2)"},
		{"its own voice", map[string]string{"a": "alive", "b": "dead"}, self(true), "alive", "alive (dead to 1 of 2)"},
		{"its voice before it is on the ring", map[string]string{"a": "alive", "b": "dead"}, self(false), "dead", "dead (alive to 1 of 2)"},
		{"the worse of three", map[string]string{"a": "alive", "b": "suspect", "c": "left"}, nil, "left", "left (alive to 1 of 3) (suspect to 1 of 3)"},
		{"nobody knows it yet", nil, self(false), "joining", "joining"},
		{"it is alone", nil, self(true), "alive", "alive"},
		{"a status of another release", map[string]string{"a": "asleep", "b": "dead"}, nil, "asleep", "asleep (dead to 1 of 2)"},
	} {
		var answers []Answer
		for who, is := range c.said {
			answers = append(answers, answer(status(who, map[string]string{"d": is})))
		}
		if c.own != nil {
			answers = append(answers, answer(c.own))
		}
		r := MakeRing(answers)
		d := r.find("d")
		if d == nil || d.Status != c.status || d.belief() != c.text {
			t.Errorf("%s: got %+v", c.name, d)
		}
	}
}

func TestPartedRings(t *testing.T) {
	r := MakeRing([]Answer{
		answer(status("a", map[string]string{"b": "alive", "c": "dead"})),
		answer(status("b", map[string]string{"a": "alive"})),
		answer(status("c", map[string]string{"a": "dead", "b": "dead"})),
	})
	if len(r.Parts) != 2 || !slices.Equal(r.Parts[0], []string{"a", "b"}) || !slices.Equal(r.Parts[1], []string{"c"}) {
		t.Errorf("got %v", r.Parts)
	}
	golden(t, "parted.txt", r.Text())
}

// TestWhoIsSilent: a node that answers at one address and not at another is not
// silent.
func TestWhoIsSilent(t *testing.T) {
	a := status("a", nil)
	r := MakeRing([]Answer{{Addr: "alias:1", Status: a}, {Addr: "alias:2", Status: a}, {Addr: a.Node.Addr, Cause: "refused"}, {Addr: "y:1", Cause: "z"}, {Addr: "y:1", Cause: "z"}})
	if len(r.Nodes) != 1 || !slices.Equal(r.Silent, []Silent{{Addr: "y:1", Cause: "z"}}) {
		t.Errorf("got %+v", r)
	}
}

func TestNames(t *testing.T) {
	node := func(id, host, status string) Node {
		return Node{ID: id, Addr: id + ":1", Host: host, Status: status}
	}
	r := Ring{Nodes: []Node{
		node("one", "h1", "alive"), node("old", "h1", "dead"), node("two", "h2", "alive"), node("three", "h2", "suspect"),
		node("gone", "h3", "left"), node("bare", "", "alive"), node("x", "h4", "dead"), node("y", "h4", "dead"),
	}}
	called, got := r.names(), map[string]string{}
	for _, id := range []string{"one", "old", "two", "three", "gone", "bare", "x", "y", "stranger"} {
		got[id] = called.of(id)
	}
	want := map[string]string{"one": "h1", "old": "old", "two": "two:1", "three": "three:1", "gone": "h3", "bare": "bare", "x": "x", "y": "y", "stranger": "stranger"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if s := list[string](called, nil); s != "nobody" {
		t.Errorf("got %q", s)
	}
}

// TestOrderDoesNotMatter: the picture depends on what was said, not on who was
// asked first, and its sums are right.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "nodes")
		name := func(i int) string { return string(rune('a' + i)) }
		var answers []Answer
		want := Sums{}
		for i := range n {
			s := status(name(i), map[string]string{})
			for j := range n {
				if is := rapid.SampledFrom([]string{"", "alive", "suspect", "dead", "left"}).Draw(t, "believes"); is != "" && i != j {
					m := protocol.MemberStatus{Node: at(name(j)), Status: is}
					m.Addr += name(i) // all know it elsewhere
					s.Members = append(s.Members, m)
				}
			}
			s.UnderReplicated, s.Bytes = i, int64(i)
			s.Owners = []protocol.OwnerStatus{{Owner: owner(int32(i % 2)), Version: shard.Version(i), Shards: i, Objects: i, Missing: i % 3}}
			if rapid.Bool().Draw(t, "answers") {
				answers = append(answers, answer(s))
				want.Answered++
				want.UnderReplicated += i
				want.Bytes += int64(i)
				want.Shards += i
			} else {
				answers = append(answers, Answer{Addr: s.Node.Addr, Cause: "refused"})
			}
		}
		first := MakeRing(answers)
		rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1)).Shuffle(n, func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
		second := MakeRing(answers)
		if a, b := first.Text(), second.Text(); a != b {
			t.Fatalf("got\n%s\nand\n%s", a, b)
		}
		s := first.Sums
		if s.Answered != want.Answered || s.UnderReplicated != want.UnderReplicated || s.Bytes != want.Bytes || s.Shards != want.Shards {
			t.Fatalf("got %+v, want %+v", s, want)
		}
	})
}

func TestLookup(t *testing.T) {
	m := &shard.Manifest{Owner: owner(3), Version: 12, Replicas: 2, Shards: [][]shard.Ref{
		chain(owner(3), 0, 4, []shard.NodeID{"a", "b"}, []shard.NodeID{"b", "c"}), chain(owner(3), 2, 4, []shard.NodeID{"a"}),
	}}
	key := func(slots shard.Range) string {
		for i := range 1000 {
			if k := string(rune('A' + i)); slots.Has(shard.Hash([]byte(k))) {
				return k
			}
		}
		panic("no key")
	}
	if _, _, ok := FindKey(m, []byte(key(shard.RangeOf(1, 4)))); ok {
		t.Error("a key in slots that nothing covers was found")
	}
	where, s, ok := FindKey(m, []byte(key(shard.RangeOf(0, 4))))
	if !ok || where != owner(3).ShardHash(0) || s.Objects != 2 || s.Bytes != 16*mib || !slices.Equal(s.Named, []shard.NodeID{"b"}) {
		t.Errorf("got %x, %+v, %t", where, s, ok)
	}
	nodes := []ring.Node{at("a"), at("b"), at("c"), at("d")}
	s.Place(ring.NewView(nodes), where, 2)
	l := MakeLookup(protocol.LookupAnswer{Key: where, Path: []ring.Node{at("a"), at("d")}, Nodes: []ring.Node{at("c"), at("d"), at("b")}}, "shard")
	l.State = &s
	golden(t, "lookup.txt", l.Text())
	plain := MakeLookup(protocol.LookupAnswer{Key: 255, Path: []ring.Node{at("a")}, Nodes: []ring.Node{at("a")}}, `"words"`)
	equal(t, "a lookup without hops", plain.Text(), `00000000000000ff ("words"): 0 hops

           NODE  HOST    RACK  ADDRESS
asked      a     host-a  r1    10.0.0.a:6629
successor  a     host-a  r1    10.0.0.a:6629
`)
	empty := MakeLookup(protocol.LookupAnswer{}, "x")
	equal(t, "no way at all", empty.Text(), "0000000000000000 (x): 0 hops\n\n  NODE  HOST  RACK  ADDRESS\n")
}
