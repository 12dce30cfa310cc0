package clustertests

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/topologies/advertising"
)

// TestRecoveryIsShown: what ops teams see of the ring and of recoveries, and that a
// rebalance changes the mode of a running topology.
func TestRecoveryIsShown(t *testing.T) {
	r := startCluster(t, options{nimbuses: 1, supervisors: 4, slots: 1, apart: true, conf: map[string]string{
		"nimbus.supervisor.timeout.secs": "4", "supervisor.heartbeat.frequency.secs": "1", "nimbus.monitor.freq.secs": "1",
		"sr3.repair.delay.secs": "1",
	}})
	out := filepath.Join(r.dir, "counts")
	r.must("submit", "advertising", "--name", "ads", "--events", "0", "--rate", "2000", "--retain", "50", "--output", out,
		"--set", "topology.workers=2", "--set", "topology.sr3.recovery=star")
	d := &stateDeaths{rig: r, out: out}
	d.flows()

	var ring overview.Ring
	await(t, patience, "all copies are there", func() bool {
		ring = shown[overview.Ring](r, "ring", "--json")
		return ring.Sums.Answered == 4 && ring.Sums.UnderReplicated == 0 && ring.Sums.Objects > 0
	})
	if text := r.must("ring"); strings.Count(text, "127.0.0.") < 4 {
		t.Errorf("ring shows\n%s", text)
	}
	if text := r.must("ring", "lookup", "some key", "--node="+r.nodes()); !strings.Contains(text, "127.0.0.") {
		t.Errorf("ring lookup shows\n%s", text)
	}
	text := r.must("recovery", "ads", "--plan", "--fail", "127.0.0.2,127.0.0.3")
	for _, mode := range []string{"star", "line", "tree"} {
		if !strings.Contains(text, mode) {
			t.Errorf("the plan does not say %s:\n%s", mode, text)
		}
	}

	r.must("rebalance", "ads", "-w", "0", "-t", `{"topology.sr3.recovery": "tree"}`)
	before := d.views()
	await(t, patience, "the topology runs again", func() bool { return d.views() > before })
	d.flows()
	// Supervisors look for a new configuration every few seconds.
	await(t, patience, "a recovery by tree is reported", func() bool {
		for _, pid := range r.workerPIDs() {
			sigkill(t, pid)
		}
		d.flows()
		text, err := json.Marshal(shown[overview.Topology](r, "recovery", "ads", "--json"))
		return err == nil && strings.Contains(string(text), `"mode":"tree"`)
	})
	await(t, patience, "it tells how long the workers' deaths went unnoticed", func() bool {
		return slices.ContainsFunc(recoveries(r), func(v overview.Recovery) bool { return v.DetectMS > 0 && v.DetectMS < 1000 && v.PlaceMS > 0 })
	})
	lost := r.supervisor[3]
	for _, s := range r.supervisor {
		if len(r.workersOf(s)) > 0 {
			lost = s
		}
	}
	lost.kill()
	for _, pid := range r.workersOf(lost) {
		sigkill(t, pid)
	}
	await(t, 2*patience, "it tells how long the host's death went unnoticed", func() bool {
		return slices.ContainsFunc(recoveries(r), func(v overview.Recovery) bool { return v.DetectMS >= 4000 && v.DetectMS < 15000 && v.PlaceMS > 0 })
	})
	if got, err := advertising.ReadCounts(out); err != nil || len(got.Views) == 0 {
		t.Errorf("counts %v, error %v", got, err)
	}
}

// recoveries are all that the command tells of.
func recoveries(r *rig) (all []overview.Recovery) {
	text, err := r.run("recovery", "ads", "--json")
	var state overview.Topology
	if err != nil || json.Unmarshal([]byte(text), &state) != nil {
		return nil // nobody answers just now
	}
	for _, c := range state.Components {
		for _, k := range c.Tasks {
			all = append(all, k.Recoveries...)
		}
	}
	return all
}

// nodes are the addresses of all ring nodes.
func (r *rig) nodes() string {
	var addrs []string
	for _, d := range r.supervisor {
		addrs = append(addrs, d.host+":"+strconv.Itoa(d.ring))
	}
	return strings.Join(addrs, ",")
}

// shown is what a command prints as JSON.
func shown[T any](r *rig, args ...string) (v T) {
	r.t.Helper()
	text := r.must(args...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		r.t.Fatalf("stormring %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return v
}
