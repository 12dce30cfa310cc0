package clustertests

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stormring/stormring/clienttests/fetch"
	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/sr3/recovery"
)

// sums is a topology of Java that sums numbers by key in its state.
type sums struct {
	*rig
	folder string
	many   int
}

// keysOfSums is how many keys there are.
const keysOfSums = 7

// submitSums submits one with Storm's own client.
func (r *rig) submitSums(name string, many int) *sums {
	r.t.Helper()
	needs := []string{"javac", "mvn"}
	jar := fetch.Client(r.t, needs, "jar", "2.8")
	s := &sums{rig: r, folder: r.t.TempDir(), many: many}
	settings := filepath.Join(r.t.TempDir(), "storm.yaml")
	writeYAML(r.t, settings, map[string]string{"nimbus.seeds": `["127.0.0.1"]`, "nimbus.thrift.port": strconv.Itoa(r.nimbus[0].port)})
	cmd := exec.CommandContext(r.t.Context(), "java", "-XX:TieredStopAtLevel=1", "-cp", jar+":"+fetch.Client(r.t, needs, "classpath", "2.8"),
		"-Dstorm.jar="+jar, "-Dstorm.conf.file="+settings, "stormring.clienttests.SubmitState", name, s.folder, strconv.Itoa(many))
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	return s
}

// want are the sums of all numbers, by key.
func (s *sums) want() map[string]int {
	want := map[string]int{}
	for n := range s.many {
		want[fmt.Sprintf("key%d", n%keysOfSums)] += n
	}
	return want
}

// of are the sums of a component, as they were at its last checkpoints.
func (s *sums) of(component string) map[string]int {
	files, _ := filepath.Glob(filepath.Join(s.folder, component+"-*[0-9]"))
	got := map[string]int{}
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for line := range strings.Lines(string(text)) {
			var key string
			var n int
			if _, err := fmt.Sscan(line, &key, &n); err == nil {
				got[key] += n
			}
		}
	}
	return got
}

func (s *sums) total(component string) (n int) {
	for _, v := range s.of(component) {
		n += v
	}
	return n
}

// acked is how many numbers were acked without a gap.
func (s *sums) acked() int {
	text, _ := os.ReadFile(filepath.Join(s.folder, "acked"))
	n, _ := strconv.Atoi(string(text))
	return n
}

// flows waits until more is acked, and more is in both sums.
func (s *sums) flows(after string) {
	s.t.Helper()
	acked, sum, window := s.acked(), s.total("sum"), s.total("window")
	took, ok := watch(s.t, 4*patience, func() bool {
		return s.acked() == s.many || s.acked() > acked && s.total("sum") > sum && s.total("window") > window
	})
	if !ok {
		s.t.Fatalf("nothing flows after %s: %d acked, %d and %d in sums", after, s.acked(), s.total("sum"), s.total("window"))
	}
	s.t.Logf("after %s numbers flow in %v: %d acked", after, took, s.acked())
}

// jvmsOf are the JVMs of one supervisor.
func (s *sums) jvmsOf(d *daemon) []int {
	var pids []int
	for port, pid := range s.jvms() {
		if slices.Contains(d.slots, port) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// busy is a supervisor that has workers.
func (s *sums) busy() *daemon {
	s.t.Helper()
	i := slices.IndexFunc(s.supervisor, func(d *daemon) bool { return len(s.jvmsOf(d)) > 0 })
	if i < 0 {
		s.t.Fatal("no supervisor has workers")
	}
	return s.supervisor[i]
}

// TestJavaState: what stateful bolts of Java keep on the ring is exact, though a worker
// is killed, a host, a supervisor, without which it goes on, and an agent; it is there after all workers have died at once,
// those with windows too; and it is given up when the topology is killed.
func TestJavaState(t *testing.T) {
	slow(t)
	fetch.Client(t, []string{"javac", "mvn"}, "prepare", "2.8")
	r := startCluster(t, options{nimbuses: 1, supervisors: 3, slots: 2, apart: true, conf: map[string]string{
		"nimbus.monitor.freq.secs": "1", "nimbus.supervisor.timeout.secs": "4", "supervisor.heartbeat.frequency.secs": "1",
		"sr3.repair.delay.secs": "1", "stormring.jvm.libs": javaLibs(t),
	}})
	s := r.submitSums("sums", 70_000)
	s.flows("the start")
	s.flows("the first windows") // which a committed version knows of then

	pids := s.jvms()
	sigkill(t, pids[slices.Min(slices.Collect(maps.Keys(pids)))])
	s.flows("the death of a worker")

	host := s.busy()
	host.kill()
	for _, pid := range append(s.jvmsOf(host), host.agent()) {
		sigkill(t, pid)
	}
	s.flows("the death of a host")
	host.start()
	r.awaitSupervisors(3)

	host = s.busy()
	agent := host.agent()
	host.kill()
	s.flows("the death of a supervisor")
	host.start()
	r.awaitSupervisors(3)
	s.flows("the restart of a supervisor")
	if now := host.agent(); now != agent {
		t.Errorf("a supervisor came back, and the agent is process %d now, and was %d", now, agent)
	}
	workers := s.jvms()
	sigkill(t, agent)
	s.flows("the death of an agent")
	if now := s.jvms(); !maps.Equal(now, workers) {
		t.Errorf("the workers are %v now, and were %v", now, workers)
	}

	await(t, 4*patience, "all numbers are acked", func() bool { return s.acked() == s.many })
	s.right("at the end")
	for _, pid := range s.jvms() {
		sigkill(t, pid)
	}
	files, _ := filepath.Glob(filepath.Join(s.folder, "*-*"))
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	s.right("after the death of all workers")

	ring := shown[overview.Ring](r, "ring", "--json")
	if ring.Sums.Answered != 3 || ring.Sums.Objects == 0 {
		t.Errorf("the ring shows %+v", ring.Sums)
	}
	s.shows("sum", "window", "window-window", "window-window-partitions", "window-window-systemstate")
	s.chose("sum", recovery.Tree, 2)
	s.chose("window-window", recovery.Auto, 3)
	s.noticed()
	r.must("kill", "sums", "-w", "0")
	await(t, patience, "no JVM is left", func() bool { return len(r.jvms()) == 0 })
	// Without it the nodes of the ring let all objects go, after ten minutes.
	session := r.inside()
	await(t, patience, "the commit record is gone, and who had a state", func() bool {
		return len(r.names(session, "stormring/checkpoints"))+len(r.names(session, "stormring/states")) == 0
	})
}

// right checks the sums of numbers, and those of windows, which come a second later.
func (s *sums) right(when string) {
	s.t.Helper()
	want := s.want()
	for _, component := range []string{"sum", "window"} {
		if _, ok := watch(s.t, 2*patience, func() bool { return maps.Equal(s.of(component), want) }); !ok {
			s.t.Errorf("%s: %s has %v, not %v", when, component, s.of(component), want)
		}
	}
}

// shows checks that the tools of the ring tell of these components.
func (s *sums) shows(components ...string) {
	s.t.Helper()
	var text string
	if _, ok := watch(s.t, patience, func() bool {
		var state overview.Topology
		out, err := s.run("recovery", "sums", "--json")
		if text = out; err != nil || json.Unmarshal([]byte(out), &state) != nil {
			return false
		}
		var have []string
		for _, c := range state.Components {
			have = append(have, c.Name)
		}
		return !slices.ContainsFunc(components, func(c string) bool { return !slices.Contains(have, c) })
	}); !ok {
		s.t.Errorf("recovery shows\n%s\nand not all of %v", text, components)
	}
}

// chose checks how a component is recovered, by its own settings or the topology's.
func (s *sums) chose(component string, mode recovery.Mode, replicas int) {
	s.t.Helper()
	for _, c := range shown[overview.Topology](s.rig, "recovery", "sums", "--json").Components {
		if c.Name != component {
			continue
		}
		for i := range c.Tasks {
			if got := &c.Tasks[i]; got.Mode != mode || got.Replicas != replicas {
				s.t.Errorf("task %d of %s has mode %s and %d replicas, not %s and %d", got.Task, component, got.Mode, got.Replicas, mode, replicas)
			}
		}
	}
}

// noticed checks that the reports say how long killed workers were missed: for less than a
// second, as their supervisor was there.
func (s *sums) noticed() {
	s.t.Helper()
	var all []overview.Recovery
	if _, ok := watch(s.t, patience, func() bool {
		all = nil
		for _, c := range shown[overview.Topology](s.rig, "recovery", "sums", "--json").Components {
			for i := range c.Tasks {
				all = append(all, c.Tasks[i].Recoveries...)
			}
		}
		return slices.ContainsFunc(all, func(v overview.Recovery) bool { return v.DetectMS > 0 && v.DetectMS < 1000 && v.PlaceMS > 0 })
	}); !ok {
		s.t.Errorf("of no recovery it is known how long the worker was missed: %+v", all)
	}
}
