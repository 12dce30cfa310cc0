package clustertests

import (
	"maps"
	"slices"
	"testing"
	"time"
)

// TestCutLinks: counts are exact, and nobody is restarted who need not be,
// while links between hosts are cut so that nobody is told: packets vanish.
func TestCutLinks(t *testing.T) {
	random := seeded(t)
	n := newNetwork(t)
	r := startCluster(t, options{nimbuses: 2, supervisors: 3, slots: 2, net: n, conf: map[string]string{
		"nimbus.supervisor.timeout.secs": "8", "supervisor.heartbeat.frequency.secs": "1", "nimbus.monitor.freq.secs": "1",
	}})
	l := &links{network: n, deaths: &deaths{rig: r, pick: random.IntN}}
	lasts := 5 * time.Second // about, if nothing was cut
	if soak() {
		lasts = time.Minute
	}
	l.text = newText(t, l.size(lasts))
	l.fill()
	events := []struct {
		name string
		do   func()
	}{
		{"two hosts of workers cannot reach each other", l.between},
		{"a host of workers is cut off for a while", l.briefly},
		{"the host of the leading nimbus is cut off", l.leader},
		{"links are cut and a worker and the leader die", l.everything},
	}
	random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	for _, e := range events {
		begin := time.Now()
		if l.count.progress() > l.text.blocks()/2 {
			l.count.check()
			l.count.kill()
			l.fill()
		}
		e.do()
		l.count.flows(100)
		t.Logf("%s: over after %s, %d of %d blocks are counted", e.name, time.Since(begin).Round(10*time.Millisecond), l.count.progress(), l.text.blocks())
	}
	l.count.check()
	l.count.kill()
	l.lostHost()
}

// links are the events in which links are cut.
type links struct {
	*deaths
	*network
}

// outage is how long links are cut: longer than a session with ZooKeeper, and
// shorter than what nimbus gives a supervisor.
const outage = 5 * time.Second

// between keeps the workers of two hosts from each other, while nimbus and
// ZooKeeper see nothing wrong.
func (l *links) between() {
	i := l.pick(3)
	a, b := l.rig.supervisor[i].name, l.rig.supervisor[(i+1)%3].name
	l.cutBetween(a, b)
	<-time.After(outage) // an outage is a time, not an event
	l.unharmed()
	l.heal(a, b)
	l.count.flows(50)
	l.unharmed()
}

func (l *links) briefly() {
	host := l.rig.supervisor[l.pick(3)].name
	l.cut(host)
	<-time.After(outage)
	l.unharmed()
	l.heal(host)
	l.count.flows(50)
	l.awaitSupervisors(3)
	l.unharmed()
}

func (l *links) leader() {
	old := l.rig.leader()
	l.cut(old.name)
	l.count.flows(50)
	var next *daemon
	await(l.rig.t, patience, "the other nimbus leads", func() bool { next = l.rig.leader(); return next != old })
	l.heal(old.name)
	l.awaitSupervisors(3)
	l.awaitOne(next)
	l.unharmed()
}

// awaitOne waits until both nimbuses are there and know one leader.
func (l *links) awaitOne(leader *daemon) {
	l.rig.t.Helper()
	for _, d := range l.nimbus {
		await(l.rig.t, patience, d.name+" knows who leads", func() bool {
			c := l.newClient(d)
			defer c.Close()
			found, err := c.Leader(l.rig.t.Context())
			return err == nil && found.Host == leader.host && found.Port == leader.port
		})
	}
}

// everything cuts two hosts from each other and the third off, and kills the
// leader and a worker.
func (l *links) everything() {
	i := l.pick(3)
	a, b, c := l.rig.supervisor[i].name, l.rig.supervisor[(i+1)%3].name, l.rig.supervisor[(i+2)%3].name
	old := l.rig.leader()
	l.cutBetween(a, b)
	l.cut(c)
	old.kill()
	port := l.somePort()
	sigkill(l.rig.t, l.known[port])
	<-time.After(outage)
	await(l.rig.t, patience, "the worker is there again", func() bool {
		pid, ok := l.workerPIDs()[port]
		return ok && pid != l.known[port]
	})
	l.unharmed(port)
	l.heal(a, b, c)
	old.start()
	l.awaitSupervisors(3)
	l.unharmed()
}

// lostHost has a host away for so long that its executors are placed
// elsewhere. It never learned of that: when it is back, there are two of each
// for a moment, and still every word is counted once.
func (l *links) lostHost() {
	t := l.rig.t
	l.count = l.countWords("placed-anew", l.text, "--workers", "4")
	l.count.flows(100)
	lost := l.rig.host(l.counterPorts(l.count)[0])
	there := slices.Sorted(maps.Keys(l.workersOf(lost)))
	l.cut(lost.name)
	await(t, patience, "nothing is placed on the lost host", func() bool {
		ports := slices.Concat(l.counterPorts(l.count), slices.Collect(maps.Values(l.placement(l.count.name, "read"))), slices.Collect(maps.Values(l.placement(l.count.name, "split"))))
		return !slices.ContainsFunc(ports, func(port int) bool { return slices.Contains(lost.slots, port) })
	})
	if now := slices.Sorted(maps.Keys(l.workersOf(lost))); !slices.Equal(now, there) {
		t.Errorf("on the lost host ran workers at %v, and then at %v: nobody can have told it", there, now)
	}
	l.count.flows(100)
	l.heal(lost.name)
	await(t, patience, "the lost host ends its workers", func() bool {
		return l.count.complete() || len(l.workersOf(lost)) == 0
	})
	l.count.check()
}
