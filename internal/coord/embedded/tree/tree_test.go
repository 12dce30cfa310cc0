package tree

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/coord"
)

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// pair is a Tree and its twin, driven alike.
type pair struct {
	tree *Tree
	twin *twin
	now  time.Time
}

// path draws from so few that most operations meet.
var drawPath = rapid.SampledFrom([]string{"/a", "/b", "/a/a", "/a/b", "/a/b/c", "/a0000000000", "/a/b0000000001", "/a0000000001"})

func drawOp(t *rapid.T) coord.Op {
	path := drawPath.Draw(t, "path")
	data := []byte(rapid.StringMatching("[a-z]{0,3}").Draw(t, "data"))
	version := rapid.Int32Range(-1, 2).Draw(t, "version")
	switch rapid.SampledFrom([]string{"create", "create", "create", "set", "delete", "check"}).Draw(t, "op") {
	case "create":
		return coord.CreateOp{Path: path, Data: data, Mode: coord.Mode(rapid.Int32Range(0, 3).Draw(t, "mode"))}
	case "set":
		return coord.SetOp{Path: path, Data: data, Version: version}
	case "delete":
		return coord.DeleteOp{Path: path, Version: version}
	default:
		return coord.CheckOp{Path: path, Version: version}
	}
}

// session draws a living one.
func (p *pair) session(t *rapid.T) int64 {
	ids := slices.Sorted(maps.Keys(p.twin.sessions))
	if len(ids) == 0 {
		t.Skip("no session")
	}
	return rapid.SampledFrom(ids).Draw(t, "session")
}

func (p *pair) open(t *rapid.T) {
	timeout := time.Duration(rapid.IntRange(1, 5).Draw(t, "seconds")) * time.Second
	if got, want := p.tree.Open(p.now, timeout), p.twin.open(timeout); got != want {
		t.Fatalf("session %d, want %d", got, want)
	}
}

func (p *pair) apply(t *rapid.T) {
	id := p.session(t)
	ops := make([]coord.Op, rapid.SampledFrom([]int{1, 1, 1, 2, 3, 5}).Draw(t, "ops"))
	for i := range ops {
		ops[i] = drawOp(t)
	}
	results, index, err := p.tree.Apply(id, p.now, ops...)
	var created []string
	for _, r := range results {
		if r.Path != "" {
			created = append(created, r.Path)
		}
	}
	wantCreated, wantIndex, wantErr := p.twin.apply(id, p.now, ops)
	if got := strings.Join(created, " "); got != wantCreated || index != wantIndex || !errors.Is(err, wantErr) {
		t.Fatalf("%+v: created %q, error %v at %d; want %q, %v at %d", ops, got, err, index, wantCreated, wantErr, wantIndex)
	}
}

func (p *pair) watch(t *rapid.T) {
	id, path := p.session(t), drawPath.Draw(t, "path")
	kind := Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
	w := p.tree.Watch(id, kind, path)
	p.twin.watches = append(p.twin.watches, twinWatch{watch{w, id}, kind, path})
}

func (p *pair) end(t *rapid.T) {
	id := p.session(t)
	if !p.tree.End(id, p.now) || p.tree.End(id, p.now) || p.tree.Alive(id) {
		t.Fatal("a session ends once")
	}
	p.twin.end(id, p.now)
}

func (p *pair) leave(t *rapid.T) {
	id := p.session(t)
	p.tree.Leave(id, p.now)
	if s := p.twin.sessions[id]; !s.absent {
		s.absent, s.deadline = true, p.now.Add(s.timeout)
		p.twin.sessions[id] = s
	}
}

func (p *pair) back(t *rapid.T) {
	id := p.session(t)
	if !p.tree.Return(id) {
		t.Fatal("a living session cannot return")
	}
	s := p.twin.sessions[id]
	s.absent = false
	p.twin.sessions[id] = s
}

func (p *pair) tick(t *rapid.T) {
	p.now = p.now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
	if got, want := p.tree.Tick(p.now), p.twin.tick(p.now); !slices.Equal(got, want) {
		t.Fatalf("the sessions %v are over, want %v", got, want)
	}
	if next, ok := p.tree.NextDeadline(); ok && !next.After(p.now) {
		t.Fatalf("a deadline is left at %v, it is %v", next, p.now)
	}
}

func (p *pair) compare(t *rapid.T) {
	out := p.tree.Drain()
	if !slices.Equal(out.Fired, p.twin.fired) {
		t.Fatalf("fired %+v\nwant %+v", out.Fired, p.twin.fired)
	}
	p.twin.fired = nil
	if err := p.twin.differs(p.tree); err != nil {
		t.Fatalf("tree and twin differ in %v", err)
	}
}

func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &pair{tree: New(1000), twin: newTwin(), now: start}
		p.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"open": p.open, "apply": p.apply, "apply2": p.apply, "apply3": p.apply, "watch": p.watch, "watch2": p.watch,
			"end": p.end, "leave": p.leave, "return": p.back, "tick": p.tick, "": p.compare,
		})
	})
}

func TestDeadlines(t *testing.T) {
	tr := New(10)
	a, b := tr.Open(start, 3*time.Second), tr.Open(start, 5*time.Second)
	if _, ok := tr.NextDeadline(); ok {
		t.Fatal("a session whose client is there is to expire")
	}
	tr.Leave(b, start)
	tr.Leave(a, start.Add(time.Second))
	tr.Leave(a, start.Add(2*time.Second)) // it is gone already
	if next, ok := tr.NextDeadline(); !ok || !next.Equal(start.Add(4*time.Second)) {
		t.Fatalf("the next deadline is %v, want 4s from start", next)
	}
	if got := tr.Tick(start.Add(4*time.Second - 1)); got != nil {
		t.Fatalf("%v are over too early", got)
	}
	if got := tr.Tick(start.Add(4 * time.Second)); !slices.Equal(got, []int64{a}) {
		t.Fatalf("%v are over, want %d", got, a)
	}
	if !tr.Return(b) || tr.Return(a) || tr.Alive(a) || !tr.Alive(b) {
		t.Fatal("want b back and a gone")
	}
	if got := tr.Tick(start.Add(time.Hour)); got != nil {
		t.Fatalf("%v are over though back", got)
	}
	if _, _, err := tr.Apply(a, start, coord.CreateOp{Path: "/x"}); !errors.Is(err, coord.ErrSessionExpired) {
		t.Fatalf("an ended session writes: %v", err)
	}
}

func TestTxns(t *testing.T) {
	tr := New(10)
	id := tr.Open(start, time.Second)
	if _, _, err := tr.Apply(id, start, coord.CreateOp{Path: "/x", Data: []byte("d")}, coord.CreateOp{Path: "/x/n", Mode: coord.EphemeralSequential}, coord.SetOp{Path: "/x", Version: 0}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tr.Apply(id, start, coord.CheckOp{Path: "/x", Version: 1}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tr.Apply(id, start, coord.CreateOp{Path: "/y"}, coord.CheckOp{Path: "/x", Version: 7}); !errors.Is(err, coord.ErrBadVersion) {
		t.Fatal(err)
	}
	tr.End(id, start.Add(time.Second))
	want := []Txn{
		{Zxid: 1, Millis: start.UnixMilli()},
		{Zxid: 2, Millis: start.UnixMilli(), Changes: []Change{
			{Type: coord.EventNodeCreated, Path: "/x", Data: []byte("d")},
			{Type: coord.EventNodeCreated, Path: "/x/n0000000000", Owner: id},
			{Type: coord.EventNodeDataChanged, Path: "/x"},
		}},
		{Zxid: 3, Millis: start.UnixMilli() + 1000, Changes: []Change{{Type: coord.EventNodeDeleted, Path: "/x/n0000000000"}}},
	}
	if got := tr.Drain().Txns; !slices.EqualFunc(got, want, equalTxn) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func equalTxn(a, b Txn) bool {
	return a.Zxid == b.Zxid && a.Millis == b.Millis && slices.EqualFunc(a.Changes, b.Changes, func(a, b Change) bool {
		return a.Type == b.Type && a.Path == b.Path && string(a.Data) == string(b.Data) && a.Owner == b.Owner
	})
}
