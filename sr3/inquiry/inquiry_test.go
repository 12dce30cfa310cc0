package inquiry

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// unused is an address at which nobody is.
func unused(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestOneNodeIsEnough: it names b, which names c; the dead are not asked, and who
// is silent is named.
func TestOneNodeIsEnough(t *testing.T) {
	a, b, c, d := fake(t, "a"), fake(t, "b"), fake(t, "c"), fake(t, "d")
	a.knows(member(b.self, ring.Alive), member(d.self, ring.Dead))
	b.knows(member(a.self, ring.Alive), member(c.self, ring.Suspect), member(d.self, ring.Left))
	c.quiet(protocol.GetStatus)
	q := open(t, Config{Nodes: []string{a.self.Addr}, Timeout: 50 * time.Millisecond})
	r, err := q.Ring(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range r.Nodes {
		got = append(got, n.ID+" "+n.Status)
	}
	if want := "a alive, b alive, c suspect, d left"; strings.Join(got, ", ") != want {
		t.Errorf("got %q", got)
	}
	if len(r.Silent) != 1 || r.Silent[0] != (overview.Silent{ID: "c", Addr: c.self.Addr, Cause: "no answer within 50ms"}) {
		t.Errorf("silent: %+v", r.Silent)
	}
	if d.times(protocol.GetStatus) != 0 || b.times(protocol.GetStatus) != 1 || a.times(protocol.GetStatus) != 1 {
		t.Error("a dead node was asked, or a living one more than once")
	}
}

func TestNobodyAnswers(t *testing.T) {
	var addrs []string
	for range 5 {
		addrs = append(addrs, unused(t))
	}
	q := open(t, Config{Nodes: addrs, Timeout: time.Second})
	_, err := q.Ring(t.Context())
	if !errors.Is(err, ErrSilent) || !strings.HasSuffix(err.Error(), "; and 2 more") || strings.Count(err.Error(), "refused") != 3 {
		t.Errorf("got %v", err)
	}
	if _, err := q.Lookup(t.Context(), 1, "a position"); !errors.Is(err, ErrSilent) || !strings.HasPrefix(err.Error(), "look up a position: ") {
		t.Errorf("got %v", err)
	}
	if _, err := q.Topology(t.Context(), topology); !errors.Is(err, ErrSilent) {
		t.Errorf("got %v", err)
	}
	if _, err := q.Plans(t.Context(), overview.PlanRequest{Topology: topology}); !errors.Is(err, ErrSilent) {
		t.Errorf("got %v", err)
	}
	if _, err := Open(Config{}); err == nil {
		t.Error("an inquiry of nobody was opened")
	}
}

func TestGivenUp(t *testing.T) {
	a := fake(t, "a")
	a.quiet(protocol.GetStatus, protocol.LookupKey)
	q := open(t, Config{Nodes: []string{a.self.Addr}, Timeout: time.Hour})
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, errors.New("enough"))
	defer cancel()
	if _, err := q.Ring(ctx); err == nil || err.Error() != "enough" {
		t.Errorf("got %v", err)
	}
	if _, err := q.Lookup(ctx, 1, "x"); err == nil || err.Error() != "look up x: enough" {
		t.Errorf("got %v", err)
	}
}

// TestNextIsAsked: one that is slow, one that fails, one that knows.
func TestNextIsAsked(t *testing.T) {
	a, b, c := fake(t, "a"), fake(t, "b"), fake(t, "c")
	a.quiet(protocol.LookupKey)
	c.answer(protocol.LookupKey, protocol.LookupAnswer{Key: 7, Path: []ring.Node{c.self, b.self}, Nodes: []ring.Node{b.self}})
	q := open(t, Config{Nodes: []string{a.self.Addr, b.self.Addr, c.self.Addr}, Timeout: time.Hour})
	l, err := q.Lookup(t.Context(), 7, "a position")
	if err != nil || l.Hops != 1 || l.Key != "0000000000000007" || l.Successors[0].ID != "b" || b.times(protocol.LookupKey) != 1 {
		t.Errorf("got %+v, %v", l, err)
	}
}

// tree are two nodes, of which b has a task's whole state and a its manifest.
func tree(t *testing.T) (a, b *said, m *shard.Manifest) {
	t.Helper()
	a, b = fake(t, "a"), fake(t, "b")
	a.knows(member(b.self, ring.Alive))
	b.answer(protocol.GetStatus, protocol.NodeStatus{
		Node: b.self, Joined: true, Members: []protocol.MemberStatus{member(a.self, ring.Alive)},
		Owners: []protocol.OwnerStatus{{Owner: owner(3), Version: 5, Committed: 4, Shards: 1, Objects: 1, Bytes: 100}},
	})
	m = &shard.Manifest{Owner: owner(3), Version: 5, Epoch: 1, Replicas: 1, Shards: [][]shard.Ref{{{
		ObjectID: shard.ObjectID{Owner: owner(3), Range: shard.Whole(), Version: 5, Epoch: 1, Kind: shard.Base}, Size: 200, Stored: 100,
		Holders: []shard.NodeID{"b"},
	}}}}
	body, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []*said{a, b} {
		n.answer(protocol.GetReports, protocol.Reports{Reports: []protocol.TaskReport{}})
		n.answer(protocol.GetRecord, protocol.Record{Committed: 5})
		n.answer(protocol.Have, protocol.HaveAnswer{Spans: []protocol.Span{}})
		n.answer(protocol.LookupKey, protocol.LookupAnswer{Key: owner(3).ShardHash(0), Path: []ring.Node{n.self}, Nodes: []ring.Node{b.self, a.self}})
		n.raw(protocol.GetManifest, body, nil)
	}
	b.answer(protocol.Have, protocol.HaveAnswer{Spans: []protocol.Span{{Shard: 0, First: 0, Until: 1}}})
	return a, b, m
}

func TestPlans(t *testing.T) {
	a, _, _ := tree(t)
	a.answer(protocol.GetReports, protocol.Reports{Reports: []protocol.TaskReport{{Owner: owner(3), AtMillis: 99_000, Mode: "line"}}})
	q := open(t, Config{Nodes: []string{a.self.Addr}})
	p, err := q.Plans(t.Context(), overview.PlanRequest{Topology: topology})
	if err != nil {
		t.Fatal(err)
	}
	k := p.Tasks[0]
	if len(p.Tasks) != 1 || k.Now != "a" || k.On != "a" || k.Version != 5 || k.Plans[0].Mode != "line" || k.Plans[0].Flows[0].Node != "b" || p.LostTasks != 0 {
		t.Errorf("got %+v", p)
	}
	p, err = q.Plans(t.Context(), overview.PlanRequest{Topology: topology, Fail: []string{"host-b"}})
	if err != nil || p.LostTasks != 1 || p.LostShards != 1 || p.Tasks[0].Lost[0].Slots != "0-16383" {
		t.Errorf("got %+v, %v", p, err)
	}
	p, err = q.Plans(t.Context(), overview.PlanRequest{Topology: topology, Component: "other"})
	if err != nil || len(p.Tasks) != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestWithoutManifest: all nodes answer that they have none; nothing is committed;
// the record cannot be read.
func TestWithoutManifest(t *testing.T) {
	a, b, _ := tree(t)
	missing := &transport.RemoteError{Code: protocol.CodeNotFound, Text: "not here"}
	a.raw(protocol.Have, nil, missing)
	b.raw(protocol.Have, nil, missing)
	q := open(t, Config{Nodes: []string{a.self.Addr}})
	p, err := q.Plans(t.Context(), overview.PlanRequest{Topology: topology})
	if err != nil || !p.Tasks[0].NoManifest || p.LostTasks != 1 {
		t.Errorf("got %+v, %v", p, err)
	}
	_, err = q.LookupState(t.Context(), owner(3), "k")
	if want := "no node that answered has the manifest of words-1-1700000000/count/3, version 5: is there such a task?"; err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	away := &transport.RemoteError{Code: protocol.CodeUnavailable, Text: "the store is away"}
	a.raw(protocol.GetRecord, nil, away)
	b.raw(protocol.GetRecord, nil, away)
	if p, err = q.Plans(t.Context(), overview.PlanRequest{Topology: topology}); err != nil || p.Tasks[0].Version != 4 {
		t.Errorf("the newest version that a node heard of is 4; got %+v, %v", p, err)
	}
	if _, err = q.LookupState(t.Context(), shard.Owner{Topology: "other"}, "k"); !errors.Is(err, ErrSilent) {
		t.Errorf("got %v", err)
	}
	a.answer(protocol.GetRecord, protocol.Record{})
	b.answer(protocol.GetRecord, protocol.Record{})
	if p, err = q.Plans(t.Context(), overview.PlanRequest{Topology: topology}); err != nil || p.Tasks[0].Version != 0 || p.LostTasks != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err = q.LookupState(t.Context(), owner(3), "k"); err == nil || err.Error() != "nothing of words-1-1700000000/count/3 is committed yet" {
		t.Errorf("got %v", err)
	}
}

// TestManifestOfAnother: what one node hands out wrongly is asked of the next.
func TestManifestOfAnother(t *testing.T) {
	a, _, _ := tree(t)
	other := shard.Manifest{Owner: owner(9), Version: 5}
	body, err := other.Encode()
	if err != nil {
		t.Fatal(err)
	}
	a.raw(protocol.GetManifest, body, nil)
	q := open(t, Config{Nodes: []string{a.self.Addr}})
	l, err := q.LookupState(t.Context(), owner(3), "word")
	if err != nil {
		t.Fatal(err)
	}
	s := l.State
	if s.Version != 5 || s.Slots != "0-16383" || s.Bytes != 100 || len(s.Holders) != 1 || len(s.Named) != 1 || s.Named[0] != "b" || l.Of != "shard of slots 0-16383 of words-1-1700000000/count/3" {
		t.Errorf("got %+v", s)
	}
}
