package clustertests

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

// deaths are what happens to a cluster in TestWordCountThroughDeaths.
type deaths struct {
	*rig
	text   *text
	count  *count
	counts int // so far
	// pick chooses among n.
	pick func(n int) int
	// known are the workers' processes; those that die may be others later.
	known map[int]int
	// away is for how long ZooKeeper is gone.
	away time.Duration
}

// TestWordCountThroughDeaths: counts are exact, and whoever was not killed
// itself runs on, while workers, supervisors, the nimbus that leads and
// ZooKeeper die, one after the other and together.
func TestWordCountThroughDeaths(t *testing.T) {
	for _, nimbuses := range []int{1, 2} {
		t.Run(map[int]string{1: "one nimbus", 2: "two nimbuses"}[nimbuses], func(t *testing.T) {
			if nimbuses == 1 && !soak() {
				t.Skip("set STORMRING_SOAK for the variant in which nothing takes over")
			}
			testDeaths(t, nimbuses)
		})
	}
}

func testDeaths(t *testing.T, nimbuses int) {
	random := seeded(t)
	r := startCluster(t, options{nimbuses: nimbuses, supervisors: 3, slots: 2, conf: map[string]string{
		"nimbus.supervisor.timeout.secs": "10", "supervisor.heartbeat.frequency.secs": "1", "nimbus.monitor.freq.secs": "1",
	}})
	d := &deaths{rig: r, pick: random.IntN, away: 5 * time.Second}
	lasts := 10 * time.Second // about, if nothing died
	if soak() {
		d.away, lasts = 30*time.Second, 60*time.Second
	}
	d.text = newText(t, d.size(lasts))
	d.fill()

	events := []struct {
		name string
		do   func()
	}{
		{"a worker is killed", d.worker},
		{"a supervisor is killed", d.supervisor},
		{"the leading nimbus is killed", d.leader},
		{"ZooKeeper is stopped", func() { d.zooKeeper(false) }},
		{"ZooKeeper is silent", func() { d.zooKeeper(true) }},
		{"all together", d.everything},
	}
	random.Shuffle(len(events)-1, func(i, j int) { events[i], events[j] = events[j], events[i] })
	for _, e := range events {
		begin := time.Now()
		if d.count.progress() > d.text.blocks()/2 {
			d.count.check()
			d.count.kill()
			d.fill()
		}
		e.do()
		d.count.flows(100)
		t.Logf("%s: over after %s, %d of %d blocks are counted", e.name, time.Since(begin).Round(10*time.Millisecond), d.count.progress(), d.count.text.blocks())
	}
	d.count.check()
	// All daemons are as good as new.
	d.count.kill()
	again := r.countWords("again", newText(t, 20), "--workers", "6")
	again.check()
	for _, daemon := range r.all() {
		if !daemon.alive() {
			t.Errorf("%s has ended", daemon.name)
		}
	}
}

// fill has the cluster count the text, which it may have done before.
func (d *deaths) fill() {
	d.t.Helper()
	d.counts++
	d.count = d.countWords(fmt.Sprintf("words%d", d.counts), d.text, "--workers", "6", "--set", "topology.max.spout.pending=2")
	d.count.flows(100)
	d.known = d.settled()
}

// size is how many files are counted in about this time: a run of its own
// tells, for machines differ.
func (d *deaths) size(lasts time.Duration) int {
	d.t.Helper()
	probe := d.countWords("probe", newText(d.t, 60), "--workers", "6", "--set", "topology.max.spout.pending=2")
	probe.awaitProgress(200)
	begin, from := time.Now(), probe.progress()
	probe.check()
	files := int(float64(probe.text.blocks()-from)/time.Since(begin).Seconds()*lasts.Seconds()) / fileBlocks
	probe.kill()
	return min(max(files, 60), 20000)
}

// settled is all six workers, once they run.
func (d *deaths) settled() map[int]int {
	d.t.Helper()
	var pids map[int]int
	await(d.t, patience, "six workers run", func() bool { pids = d.workerPIDs(); return len(pids) == 6 })
	return pids
}

// unharmed checks that all workers run, and that those are the same that
// nobody has killed.
func (d *deaths) unharmed(killed ...int) {
	d.t.Helper()
	now := d.settled()
	for port, pid := range d.known {
		switch {
		case slices.Contains(killed, port) && now[port] == pid:
			d.t.Errorf("the worker at %d was killed and is still the same", port)
		case !slices.Contains(killed, port) && now[port] != pid:
			d.t.Errorf("nobody has killed the worker at %d, yet process %d is %d now", port, pid, now[port])
		}
	}
	d.known = now
}

// somePort is the slot of a worker.
func (d *deaths) somePort() int {
	sorted := slices.Sorted(maps.Keys(d.known))
	return sorted[d.pick(len(sorted))]
}

func (d *deaths) worker() {
	d.t.Helper()
	port := d.somePort()
	sigkill(d.t, d.known[port])
	await(d.t, patience, "the worker is there again", func() bool {
		pid, ok := d.workerPIDs()[port]
		return ok && pid != d.known[port]
	})
	d.unharmed(port)
}

func (d *deaths) supervisor() {
	d.t.Helper()
	s := d.rig.supervisor[d.pick(3)]
	s.kill()
	d.count.flows(50) // its workers work
	s.start()
	// It is back once it restarts a worker that dies.
	port := s.slots[d.pick(len(s.slots))]
	sigkill(d.t, d.known[port])
	await(d.t, patience, "the worker is there again", func() bool {
		pid, ok := d.workerPIDs()[port]
		return ok && pid != d.known[port]
	})
	d.unharmed(port)
}

func (d *deaths) leader() {
	d.t.Helper()
	l := d.rig.leader()
	l.kill()
	d.count.flows(50)
	if len(d.nimbus) == 1 {
		l.start()
	}
	next := d.rig.leader()
	if len(d.nimbus) > 1 {
		if next == l {
			d.t.Errorf("%s leads and is dead", l.name)
		}
		l.start()
	}
	d.awaitSupervisors(3)
	d.unharmed()
}

// zooKeeper has it away: gone, or silent with all connections open.
func (d *deaths) zooKeeper(silent bool) {
	d.t.Helper()
	begin := time.Now()
	d.lose(silent)
	// A worker that dies now is started again all the same.
	port := d.somePort()
	sigkill(d.t, d.known[port])
	await(d.t, patience, "the worker is there again, without ZooKeeper", func() bool {
		pid, ok := d.workerPIDs()[port]
		return ok && pid != d.known[port]
	})
	d.unharmed(port)
	<-time.After(d.away - time.Since(begin)) // an outage is a time, not an event
	d.unharmed()
	d.find(silent)
	d.rig.leader()
	d.awaitSupervisors(3)
	d.unharmed()
}

func (d *deaths) lose(silent bool) {
	if silent {
		d.zk.freeze()
	} else {
		d.zk.stop()
	}
}

func (d *deaths) find(silent bool) {
	if silent {
		d.zk.thaw()
	} else {
		d.zk.start()
	}
}

// everything dies at once: ZooKeeper, the leader, a supervisor and one worker
// of each supervisor.
func (d *deaths) everything() {
	d.t.Helper()
	l, s := d.rig.leader(), d.rig.supervisor[d.pick(3)]
	d.lose(false)
	l.kill()
	s.kill()
	var killed []int
	for _, host := range d.rig.supervisor {
		port := host.slots[d.pick(len(host.slots))]
		sigkill(d.t, d.known[port])
		killed = append(killed, port)
	}
	l.start()
	s.start()
	<-time.After(d.away / 2)
	d.find(false)
	d.rig.leader()
	d.awaitSupervisors(3)
	await(d.t, patience, "killed workers are there again", func() bool {
		now := d.workerPIDs()
		return !slices.ContainsFunc(killed, func(port int) bool { return now[port] == 0 || now[port] == d.known[port] })
	})
	d.unharmed(killed...)
}
