package scheduler

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
)

func TestPlanDetails(t *testing.T) {
	s := Snapshot{NowSecs: 100, Supervisors: []Supervisor{sv(1, 2), sv(2, 2)}, Topologies: []Topology{
		tp("b", 1, 1, on("s1:1=1")), tp("a", 2, 3, on("s1:2=1,3 s3:1=2")),
	}}
	p := Schedule(s)
	a, ok := p.Of("a")
	if !ok || !a.Changed {
		t.Fatalf("a: found %v, changed %v", ok, a.Changed)
	}
	at := func(id cluster.SupervisorID, port cluster.Port) cluster.Slot {
		return cluster.Slot{Supervisor: id, Port: port}
	}
	want := cluster.Assignment{
		{Executor: ex(1), Slot: at("s1", 2), StartSecs: 50},
		{Executor: ex(2), Slot: at("s2", 1), StartSecs: 100},
		{Executor: ex(3), Slot: at("s1", 2), StartSecs: 50},
	}
	if !a.Assignment.Equal(want) {
		t.Errorf("assignment %v, want %v", a.Assignment, want)
	}
	if want := []cluster.Executor{ex(1), ex(3)}; !slices.Equal(a.Stay, want) {
		t.Errorf("stay %v, want %v", a.Stay, want)
	}
	if want := []Move{{ex(2), at("s3", 1), at("s2", 1), "supervisor s3 is lost"}}; !slices.Equal(a.Moves, want) {
		t.Errorf("moves %v, want %v", a.Moves, want)
	}
	if b, ok := p.Of("b"); !ok || b.Changed || len(b.Moves) != 0 {
		t.Errorf("b: %v, %v", b, ok)
	}
	if _, ok := p.Of("c"); ok {
		t.Error("c is not in the snapshot but in the plan")
	}
}

func TestMissingSlots(t *testing.T) {
	full := func() []Supervisor { return []Supervisor{sv(1, 1, has(100, 100)), sv(2, 1, blacklisted)} }
	for _, c := range []struct {
		name string
		topo Topology
		sups []Supervisor
		want int
	}{
		{"enough", tp("a", 1, 1), full(), 0},
		{"fewer workers than wanted", tp("a", 3, 3), full(), 2},
		{"nothing", tp("a", 2, 2), full()[1:], 2},
		{"all workers, but one may not take in more", tp("a", 1, 2, on("s2:1=1")), full()[1:], 1},
		{"packed, no slot", tp("a", 1, 1, packed(1, 1)), full()[1:], 1},
		{"packed, a slot would not help", tp("a", 1, 1, packed(101, 1)), full(), 0},
	} {
		p, _ := Schedule(Snapshot{Supervisors: c.sups, Topologies: []Topology{c.topo}}).Of("a")
		if p.MissingSlots != c.want {
			t.Errorf("%s: %d slots are missing, want %d", c.name, p.MissingSlots, c.want)
		}
	}
}

func TestExplain(t *testing.T) {
	s := Snapshot{NowSecs: 100, Supervisors: []Supervisor{sv(1, 2), sv(2, 1), sv(3, 1, cordoned)}, Topologies: []Topology{
		tp("a", 3, 6, on("s1:1=1,4 s9:1=2,5 s3:1=3,6")),
		tp("b", 2, 2, on("s1:2=1,2")),
		tp("c", 1, 7),
	}}
	s.Topologies[0].Executors[0].Component = "spout"
	const want = `a: 3 workers, 4 executors stay, 2 placed, 0 not placed
  HOST  SLOT  EXECUTORS     CHANGE
  h1    s1:1  1 c, 1 spout  stays
  h2    s2:1  2 c           supervisor s9 is lost
  h3    s3:1  2 c           stays

b: 1 worker, 2 executors stay, 0 placed, 0 not placed
  HOST  SLOT  EXECUTORS  CHANGE
  h1    s1:2  2 c        stays
  note: has 1 of 2 workers: needs 1 more slot: 2 of 3 supervisors have no free slot, 1 is cordoned (host h3)

c: 0 workers, 0 executors stay, 0 placed, 7 not placed
  not placed: [1,1] [2,2] [3,3] [4,4] [5,5] and 2 more: needs 1 more slot: 2 of 3 supervisors have no free slot, 1 is cordoned (host h3)
`
	var b strings.Builder
	if err := Schedule(s).Explain(&b); err != nil || b.String() != want {
		t.Errorf("got (%v)\n%s\nwant\n%s", err, b.String(), want)
	}
	b.Reset()
	if err := Schedule(Snapshot{}).Explain(&b); err != nil || b.String() != "no topologies\n" {
		t.Errorf("nothing is explained as %q, %v", b.String(), err)
	}
	if err := Schedule(s).Explain(broken{}); !errors.Is(err, errBroken) {
		t.Errorf("got error %v", err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestExplainChange(t *testing.T) {
	for _, c := range []struct {
		l    line
		want string
	}{
		{line{stay: 2}, "stays"},
		{line{move: 2, reasons: map[string]int{"new": 2}}, "new"},
		{line{move: 3, reasons: map[string]int{"new": 2, "lost": 1}}, "1: lost, 2: new"},
		{line{stay: 1, move: 1, reasons: map[string]int{"new": 1}}, "1 stay; 1: new"},
	} {
		if got := c.l.change(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
