package clustertests

import (
	"encoding/json"
	"path/filepath"
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
	nodes := "--node=" + r.nodes()
	out := filepath.Join(r.dir, "counts")
	r.must("submit", "advertising", "--name", "ads", "--events", "0", "--rate", "2000", "--retain", "50", "--output", out,
		"--set", "topology.workers=2", "--set", "topology.sr3.recovery=star")
	d := &stateDeaths{rig: r, out: out}
	d.flows()

	var ring overview.Ring
	await(t, patience, "all copies are there", func() bool {
		ring = shown[overview.Ring](r, "ring", "--json", nodes)
		return ring.Sums.Answered == 4 && ring.Sums.UnderReplicated == 0 && ring.Sums.Objects > 0
	})
	if text := r.must("ring", nodes); strings.Count(text, "127.0.0.") < 4 {
		t.Errorf("ring shows\n%s", text)
	}
	if text := r.must("ring", "lookup", "some key", nodes); !strings.Contains(text, "127.0.0.") {
		t.Errorf("ring lookup shows\n%s", text)
	}
	text := r.must("recovery", "ads", "--plan", "--fail", "127.0.0.2,127.0.0.3", nodes)
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
		text, err := json.Marshal(shown[overview.Topology](r, "recovery", "ads", "--json", nodes))
		return err == nil && strings.Contains(string(text), `"mode":"tree"`)
	})
	if got, err := advertising.ReadCounts(out); err != nil || len(got.Views) == 0 {
		t.Errorf("counts %v, error %v", got, err)
	}
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
