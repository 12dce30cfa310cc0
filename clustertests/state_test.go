package clustertests

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/topologies/advertising"
)

// TestStateThroughDeaths: the counts that stateful bolts keep on the ring are
// exactly right, while workers and hosts die, two at a time, and holders during
// recoveries.
func TestStateThroughDeaths(t *testing.T) {
	random := seeded(t)
	modes, resumes := []string{"star", "line", "tree", "auto"}, []string{"full", "ondemand"}
	mode, resume := modes[random.IntN(len(modes))], resumes[random.IntN(len(resumes))]
	events, rate, rounds := 480_000, 8_000, 5
	if soak() {
		events, rounds = 3_600_000, 60
	}
	r := startCluster(t, options{nimbuses: 1, supervisors: 5, slots: 2, apart: true, conf: map[string]string{
		"nimbus.supervisor.timeout.secs": "4", "supervisor.heartbeat.frequency.secs": "1", "nimbus.monitor.freq.secs": "1",
		"sr3.repair.delay.secs": "1",
	}})
	out := filepath.Join(r.dir, "counts")
	r.must("submit", "advertising", "--name", "ads", "--events", strconv.Itoa(events), "--rate", strconv.Itoa(rate),
		"--users", "5000", "--output", out, "--parallelism", "2",
		"--set", "topology.workers=5", "--set", "topology.sr3.recovery="+mode, "--set", "topology.sr3.resume="+resume, "--set", "topology.sr3.shard.bytes=65536")
	t.Logf("recovery by %s, resume %s", mode, resume)
	data := advertising.DefaultData(1, int64(events))
	data.Users = 5000
	want := data.Expected()
	d := &stateDeaths{rig: r, random: random, out: out}
	d.all = d.sum(want)
	d.flows()
	strikes := []struct {
		name string
		do   func()
	}{
		{"a worker is killed", func() { d.workers(1) }},
		{"two workers are killed", func() { d.workers(2) }},
		{"a supervisor is killed", d.supervisor},
		{"a host is lost", func() { d.hosts(1) }},
		{"two hosts are lost", func() { d.hosts(2) }},
		{"a holder is killed while a worker recovers", d.holder},
	}
	for i := range rounds {
		if i%len(strikes) == 0 {
			random.Shuffle(len(strikes), func(i, j int) { strikes[i], strikes[j] = strikes[j], strikes[i] })
		}
		begin := time.Now()
		strikes[i%len(strikes)].do()
		d.flows()
		t.Logf("%s: counts go on after %s, %d views", strikes[i%len(strikes)].name, time.Since(begin).Round(time.Millisecond), d.views())
	}
	var left []string
	await(t, 4*patience+time.Duration(events/rate)*time.Second, "all events are counted", func() bool {
		got, err := advertising.ReadCounts(out)
		if err != nil {
			return false
		}
		left = got.Diff(want, 5)
		return len(left) == 0 || d.views() > d.all
	})
	if len(left) > 0 {
		t.Errorf("counts are wrong: %q", left)
	}
}

// stateDeaths is what happens in TestStateThroughDeaths.
type stateDeaths struct {
	*rig
	random *rand.Rand
	out    string
	all    int64 // views that there will be, 0 if there is no end to them
}

func (d *stateDeaths) sum(c advertising.Counts) (n int64) {
	for _, views := range c.Views {
		n += views
	}
	return n
}

// views is how many views are counted.
func (d *stateDeaths) views() int64 {
	c, err := advertising.ReadCounts(d.out)
	if err != nil {
		return 0 // a file is being replaced
	}
	return d.sum(c)
}

// flows waits until more is counted than was ever before.
func (d *stateDeaths) flows() {
	d.t.Helper()
	before := d.views()
	if before > 0 && before == d.all {
		d.t.Fatal("all events are counted before the strikes are over: there must be more of them")
	}
	await(d.t, 2*patience, "counts grow", func() bool { return d.views() > before })
}

// some picks n of the workers that run.
func (d *stateDeaths) some(n int) []int {
	var pids []int
	await(d.t, patience, "workers run", func() bool {
		pids = slices.Sorted(maps.Values(d.workerPIDs()))
		return len(pids) >= n
	})
	d.random.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
	return pids[:n]
}

func (d *stateDeaths) workers(n int) {
	for _, pid := range d.some(n) {
		sigkill(d.t, pid)
	}
}

func (d *stateDeaths) anyHosts(n int) []*daemon {
	var out []*daemon
	for _, i := range d.random.Perm(len(d.rig.supervisor))[:n] {
		out = append(out, d.rig.supervisor[i])
	}
	return out
}

func (d *stateDeaths) supervisor() {
	s := d.anyHosts(1)[0]
	s.kill()
	d.flows()
	s.start()
	d.repaired()
}

// hosts kills hosts with all that runs on them, and lets them come back when
// their work was placed elsewhere.
func (d *stateDeaths) hosts(n int) {
	lost := d.anyHosts(n)
	for _, s := range lost {
		s.kill()
		for _, pid := range d.workersOf(s) {
			sigkill(d.t, pid)
		}
	}
	d.flows()
	for _, s := range lost {
		s.start()
	}
	d.repaired()
}

// repaired waits until there are as many copies of everything as there should be: the
// strikes are apart, since one more loss before the repair may take the last copy.
func (d *stateDeaths) repaired() {
	hosts := len(d.rig.supervisor)
	d.awaitSupervisors(hosts)
	<-time.After(3 * time.Second) // a node that is back has looked at what it lacks
	await(d.t, 2*patience, "all copies are there", func() bool {
		sums := shown[overview.Ring](d.rig, "ring", "--json").Sums
		return sums.Answered == hosts && sums.UnderReplicated == 0
	})
}

func (d *stateDeaths) holder() {
	d.workers(1)
	<-time.After(time.Duration(d.random.IntN(300)) * time.Millisecond) // anywhere in it
	d.supervisor()
}
