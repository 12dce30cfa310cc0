package scheduler

import (
	"strings"
	"testing"
)

// TestWants: workers that cannot run everywhere come only where they can.
func TestWants(t *testing.T) {
	const jvm = "workers of Storm 2.8.3"
	able := func(s *Supervisor) { s.Offers = []string{"another", jvm} }
	other := func(s *Supervisor) { s.Offers = []string{"workers of Storm 1.2.4"} }
	wants := func(t *Topology) { t.Wants = jvm }
	for _, c := range []struct {
		name string
		sups []Supervisor
		topo Topology
		want string
		why  string
	}{
		{"the able one, though the other has more slots", []Supervisor{sv(1, 4), sv(2, 2, able)}, tp("a", 2, 2, wants), "s2:1=1 s2:2=2", ""},
		{"as many as there are", []Supervisor{sv(1, 4, other), sv(2, 1, able)}, tp("a", 2, 2, wants), "s2:1=1,2", "1 is without " + jvm},
		{"none", []Supervisor{sv(1, 4), sv(2, 4, other)}, tp("a", 1, 1, wants), "", "2 are without " + jvm},
		{"without a wish anywhere", []Supervisor{sv(1, 1), sv(2, 1, able)}, tp("a", 2, 2), "s1:1=1 s2:1=2", ""},
		{"what is lost goes to another able one", []Supervisor{sv(1, 4), sv(3, 1, able)}, tp("a", 1, 1, wants, on("s2:1=1")), "s3:1=1", ""},
		{"off a drained one to an able one", []Supervisor{sv(1, 4), sv(2, 1, able, drained), sv(3, 1, able)}, tp("a", 1, 1, wants, on("s2:1=1")), "s3:1=1", ""},
	} {
		plan := Schedule(Snapshot{NowSecs: 100, Supervisors: c.sups, Topologies: []Topology{c.topo}})
		p, _ := plan.Of("a")
		if got := layoutOf(p.Assignment); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		var text strings.Builder
		if err := plan.Explain(&text); err != nil || !strings.Contains(text.String(), c.why) {
			t.Errorf("%s: %v, the plan does not say %q:\n%s", c.name, err, c.why, text.String())
		}
	}
}
