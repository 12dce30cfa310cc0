package clustertests

import (
	"maps"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/stormring/stormring/sr3/overview"
)

// TestRingIsFound: several supervisors on one host, each with a ring port of its own,
// are found through nimbus, also when some of them have gone.
func TestRingIsFound(t *testing.T) {
	r := startCluster(t, options{nimbuses: 1, supervisors: 3})
	want := map[string]bool{}
	for _, d := range r.supervisor {
		want[net.JoinHostPort(d.host, strconv.Itoa(d.ring))] = true
	}
	var ring overview.Ring
	await(t, patience, "all nodes are found", func() bool {
		ring = shown[overview.Ring](r, "ring", "--json")
		return ring.Sums.Answered == 3
	})
	got := map[string]bool{}
	for _, n := range ring.Nodes {
		got[n.Addr] = n.Answered
	}
	if !maps.Equal(got, want) || len(ring.Silent) != 0 {
		t.Errorf("found %v, want %v; silent are %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), ring.Silent)
	}
	r.supervisor[0].kill()
	r.supervisor[2].kill()
	if ring = shown[overview.Ring](r, "ring", "--json"); ring.Sums.Answered != 1 {
		t.Errorf("%d nodes answered, one lives", ring.Sums.Answered)
	}
}
