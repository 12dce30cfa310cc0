package clustertests

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/clienttests/fetch"
	"github.com/stormring/stormring/internal/cluster"
)

// tenant is a topology that shares a cluster with others of other kinds.
type tenant interface {
	// name is the topology's.
	name() string
	// progress is how much is done, of size.
	progress() int
	size() int
	// complete tells whether all is done; check says what is wrong then.
	complete() bool
	check()
}

// goTenant counts words in Go, exactly.
type goTenant struct{ *count }

func (c goTenant) name() string { return c.count.name }
func (c goTenant) size() int    { return c.text.blocks() }

// linesTenant has each line of a file written by a bolt in Python at least once.
type linesTenant struct {
	t      *testing.T
	id     string
	folder string
	lines  int
}

// linesYAML are the lines of a file, through two bolts in Python.
const linesYAML = `name: %s
config: {topology.max.spout.pending: 64, topology.message.timeout.secs: 4, topology.workers: 2}
spouts:
  - {id: lines, className: polyglot.Lines, constructorArgs: [%q]}
bolts:
  - {id: pass, command: [python3, pass.py], outputs: [text], parallelism: 2}
  - {id: write, command: [python3, write.py, %q], outputs: [], parallelism: 2}
streams:
  - {from: lines, to: pass, grouping: {type: SHUFFLE}}
  - {from: pass, to: write, grouping: {type: FIELDS, args: [text]}}
`

const passPython = `import stormring


class Pass(stormring.BasicBolt):
    def process(self, tup):
        stormring.emit([tup.values[0]])


Pass().run()
`

const writePython = `import os
import sys

import stormring

out = open(os.path.join(sys.argv[1], "pid-%d" % os.getpid()), "a")


class Write(stormring.BasicBolt):
    def process(self, tup):
        out.write(tup.values[0] + "\n")
        out.flush()


Write().run()
`

// submitLines submits such a topology.
func (r *rig) submitLines(id string, lines int) linesTenant {
	r.t.Helper()
	n := linesTenant{t: r.t, id: id, folder: r.t.TempDir(), lines: lines}
	dir := r.t.TempDir()
	var text bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	input := filepath.Join(dir, "input")
	for file, content := range map[string]string{
		input: text.String(), filepath.Join(dir, "resources", "pass.py"): passPython, filepath.Join(dir, "resources", "write.py"): writePython,
		filepath.Join(dir, "lines.yaml"): fmt.Sprintf(linesYAML, id, input, n.folder),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
	r.must("flux", filepath.Join(dir, "lines.yaml"))
	return n
}

func (n linesTenant) name() string { return n.id }
func (n linesTenant) size() int    { return n.lines }

func (n linesTenant) written() map[string]bool {
	seen := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(n.folder, "pid-*"))
	if err != nil {
		n.t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			n.t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for _, line := range lines[:len(lines)-1] { // the last is empty, or half
			seen[line] = true
		}
	}
	return seen
}

func (n linesTenant) progress() int  { return len(n.written()) }
func (n linesTenant) complete() bool { return n.progress() >= n.lines }

func (n linesTenant) check() {
	n.t.Helper()
	await(n.t, 4*patience, n.id+" has written all lines", n.complete)
	seen := n.written()
	for i := range n.lines {
		delete(seen, "line "+strconv.Itoa(i))
	}
	if len(seen) > 0 {
		n.t.Errorf("%s has written lines that are not in its file: %v", n.id, slices.Collect(maps.Keys(seen)))
	}
}

// javaTenant has numbers written by a bolt in Java at least once.
type javaTenant struct {
	t  *testing.T
	id string
	numbers
}

func (n javaTenant) name() string   { return n.id }
func (n javaTenant) size() int      { return n.many }
func (n javaTenant) progress() int  { return len(n.seen(n.t)) }
func (n javaTenant) complete() bool { return n.all(n.t) }

func (n javaTenant) check() {
	n.t.Helper()
	await(n.t, 4*patience, n.id+" has written all numbers", n.complete)
	if got := n.progress(); got != n.many {
		n.t.Errorf("%s has written %d different lines, not %d", n.id, got, n.many)
	}
}

// mixed is a cluster with tenants of all kinds.
type mixed struct {
	*rig
	make    []func(round int) tenant
	tenants []tenant
	rounds  []int
	pick    func(n int) int
}

// TestMixed: topologies in Go, in Python and in Java run side by side on three
// supervisors, and all of them do all that they have to, while workers of each kind,
// supervisors, the nimbus that leads, ZooKeeper and a whole host go away: three of
// these, or all if STORMRING_SOAK is set.
func TestMixed(t *testing.T) {
	slow(t)
	random := seeded(t)
	fetch.Client(t, []string{"javac", "mvn"}, "prepare", "2.8")
	r := startCluster(t, options{nimbuses: 2, supervisors: 3, slots: 3, apart: true, conf: map[string]string{
		"nimbus.supervisor.timeout.secs": "8", "supervisor.heartbeat.frequency.secs": "1", "nimbus.monitor.freq.secs": "1",
		"stormring.jvm.libs": javaLibs(t),
	}})
	words := newText(t, 300)
	m := &mixed{rig: r, pick: random.IntN, make: []func(int) tenant{
		func(i int) tenant {
			return goTenant{r.countWords(fmt.Sprintf("go%d", i), words, "--workers", "2", "--set", "topology.max.spout.pending=1")}
		},
		func(i int) tenant { return r.submitLines(fmt.Sprintf("python%d", i), 20_000) },
		func(i int) tenant {
			id := fmt.Sprintf("java%d", i)
			return javaTenant{t, id, newStormClient(t, t.TempDir(), r.leader().port).submitNumbers(t, id, 20_000)}
		},
	}}
	for _, submit := range m.make {
		m.tenants, m.rounds = append(m.tenants, submit(1)), append(m.rounds, 1)
	}
	m.flows()
	events := []struct {
		name string
		do   func()
	}{
		{"a worker without a JVM is killed", func() { m.kill(m.workerPIDs()) }},
		{"a worker in a JVM is killed", func() { m.kill(m.jvms()) }},
		{"a supervisor is killed", m.supervisorDies},
		{"a host is lost", m.hostIsLost},
		{"the leading nimbus is killed", m.leaderDies},
		{"ZooKeeper is stopped", m.zooKeeperStops},
	}
	random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	if !soak() {
		events = events[:3] // all of them take four minutes
	}
	for _, e := range events {
		begin := time.Now()
		e.do()
		m.flows()
		t.Logf("%s: all go on after %s", e.name, time.Since(begin).Round(10*time.Millisecond))
	}
	for _, x := range m.tenants {
		x.check()
	}
	for _, x := range m.tenants {
		r.must("kill", x.name(), "-w", "0")
	}
	await(t, patience, "no worker is left", func() bool { return len(r.jvms())+len(r.workerPIDs()) == 0 })
	for _, d := range r.all() {
		if !d.alive() {
			t.Errorf("%s has ended", d.name)
		}
	}
}

// flows waits until all tenants have done more than before. One that nears its end
// is awaited, checked and submitted anew.
func (m *mixed) flows() {
	m.t.Helper()
	for i, x := range m.tenants {
		before := x.progress()
		await(m.t, 3*patience, x.name()+" goes on", func() bool { return x.progress() > before || x.complete() })
		if x.progress() < x.size()*2/3 {
			continue
		}
		x.check()
		m.must("kill", x.name(), "-w", "0")
		m.rounds[i]++
		again := m.make[i](m.rounds[i])
		m.tenants[i] = again
		await(m.t, 3*patience, again.name()+" begins", func() bool { return again.progress() > 0 })
	}
}

// kill kills one of some workers.
func (m *mixed) kill(pids map[int]int) {
	m.t.Helper()
	if len(pids) == 0 {
		m.t.Fatal("there is no such worker")
	}
	ports := slices.Sorted(maps.Keys(pids))
	port := ports[m.pick(len(ports))]
	sigkill(m.t, pids[port])
	await(m.t, patience, "the worker is there again", func() bool {
		all := m.workerPIDs()
		maps.Copy(all, m.jvms())
		pid, ok := all[port]
		return ok && pid != pids[port]
	})
}

func (m *mixed) some() *daemon { return m.supervisor[m.pick(len(m.supervisor))] }

func (m *mixed) supervisorDies() {
	m.t.Helper()
	s := m.some()
	s.kill()
	m.flows() // its workers work
	s.start()
	m.awaitSupervisors(len(m.supervisor))
}

// hostIsLost kills a supervisor and all of its workers, and lets it come back when
// their work was placed elsewhere.
func (m *mixed) hostIsLost() {
	m.t.Helper()
	s := m.some()
	lost := m.workersOf(s)
	for port, pid := range m.jvms() {
		if slices.Contains(s.slots, port) {
			lost[port] = pid
		}
	}
	s.kill()
	for _, pid := range lost {
		sigkill(m.t, pid)
	}
	await(m.t, 2*patience, "nothing is placed at the lost host", func() bool {
		for _, x := range m.tenants {
			info, err := m.client.Topology(m.t.Context(), x.name(), cluster.NoErrors)
			if err != nil || slices.ContainsFunc(info.ExecutorList, func(e cluster.ExecutorSummary) bool { return slices.Contains(s.slots, int(e.Port)) }) {
				return false
			}
		}
		return true
	})
	m.flows()
	s.start()
	m.awaitSupervisors(len(m.supervisor))
}

func (m *mixed) leaderDies() {
	m.t.Helper()
	l := m.leader()
	l.kill()
	m.flows()
	l.start()
	m.awaitSupervisors(len(m.supervisor))
}

// zooKeeperStops: tuples flow without it, and a worker of ours that dies is started
// again. Storm's own cannot start without it.
func (m *mixed) zooKeeperStops() {
	m.t.Helper()
	m.zk.stop()
	m.kill(m.workerPIDs())
	<-time.After(3 * time.Second) // an outage is a time, not an event
	m.zk.start()
	m.leader()
	m.awaitSupervisors(len(m.supervisor))
}
