package clustertests

import (
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
	"github.com/stormring/stormring/internal/cluster"
)

// stormOfJava is the release of Storm whose client submits and whose workers run.
const stormOfJava = "2.8.3"

// javaLibs is a folder with the libraries of Storm's workers, which `jvm install`
// makes once.
func javaLibs(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("STORMRING_CACHE")
	if cache == "" {
		home, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, "stormring")
	}
	dir := filepath.Join(cache, "jvm")
	if out, err := exec.CommandContext(t.Context(), program, "jvm", "install", stormOfJava, "--dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("stormring jvm install: %v\n%s", err, out)
	}
	return dir
}

// numbers is a topology of Java that writes numbers to files.
type numbers struct {
	folder string
	many   int
}

// submitNumbers submits one with Storm's own client.
func (r *rig) submitNumbers(t *testing.T, name string, many int) numbers {
	t.Helper()
	return r.stormClient(t).submitNumbers(t, name, many)
}

// submitNumbers submits one.
func (c stormClient) submitNumbers(t *testing.T, name string, many int) numbers {
	t.Helper()
	n, err := c.trySubmitNumbers(t, name, many)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// trySubmitNumbers submits one, or says what the client printed.
func (c stormClient) trySubmitNumbers(t *testing.T, name string, many int) (numbers, error) {
	t.Helper()
	n := numbers{folder: t.TempDir(), many: many}
	_, err := c.try(t, "stormring.clienttests.SubmitWords", name, n.folder, fmt.Sprint(many))
	return n, err
}

// stormClient runs classes of Storm's own client, and of the jar of our topologies.
type stormClient struct{ jar, libs, settings string }

func (r *rig) stormClient(t *testing.T) stormClient {
	t.Helper()
	return newStormClient(t, r.dir, r.nimbus[0].port)
}

// newStormClient is a client of the nimbus at a port of this host, with its settings in
// a folder.
func newStormClient(t *testing.T, dir string, port int) stormClient {
	t.Helper()
	needs := []string{"javac", "mvn"}
	c := stormClient{jar: fetch.Client(t, needs, "jar", "2.8"), libs: fetch.Client(t, needs, "classpath", "2.8")}
	c.settings = filepath.Join(dir, "client.yaml")
	// Storm's client knows one port for all seeds.
	writeYAML(t, c.settings, map[string]string{"nimbus.seeds": `["127.0.0.1"]`, "nimbus.thrift.port": strconv.Itoa(port)})
	return c
}

// run runs a class to its end, which has to be good, and returns what it prints.
func (c stormClient) run(t *testing.T, class string, args ...string) string {
	t.Helper()
	out, err := c.try(t, class, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// try runs a class to its end and returns what it prints.
func (c stormClient) try(t *testing.T, class string, args ...string) (string, error) {
	t.Helper()
	line := []string{
		"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", c.jar + ":" + c.libs,
		"-Dstorm.jar=" + c.jar, "-Dstorm.conf.file=" + c.settings, class,
	}
	out, err := exec.CommandContext(t.Context(), "java", append(line, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %q: %w: %s", class, args, err, out)
	}
	return string(out), nil
}

// seen is how often each number was written.
func (n numbers) seen(t *testing.T) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(n.folder, "task-*"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for _, line := range lines[:len(lines)-1] { // the last is empty, or half
			seen[line]++
		}
	}
	return seen
}

// all tells whether every number was written.
func (n numbers) all(t *testing.T) bool {
	seen := n.seen(t)
	for i := range n.many {
		if seen[fmt.Sprintf("%d!\n", i)] == 0 {
			return false
		}
	}
	return true
}

// jvms are the processes of the cluster's JVM workers by port.
func (r *rig) jvms() map[int]int {
	pids := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), "-Dstorm.local.dir="+r.dir+"/") {
			continue
		}
		var pid, port int
		if _, err := fmt.Sscan(filepath.Base(filepath.Dir(file)), &pid); err != nil {
			continue
		}
		for arg := range strings.SplitSeq(string(line), "\x00") {
			if text, ok := strings.CutPrefix(arg, "-Dworker.port="); ok {
				if _, err := fmt.Sscan(text, &port); err == nil {
					pids[port] = pid
				}
			}
		}
	}
	return pids
}

// agent is the process that keeps the state of a supervisor's JVMs; 0 if it has none.
func (d *daemon) agent() int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(line), "\x00agent\x00--conf\x00"+d.dir+"/") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		return pid
	}
	return 0
}

// TestJava: a jar of Java, submitted by Storm's own client, runs in Storm's own
// workers: every number comes just once while nothing fails, and at least once though
// a worker and a supervisor are killed; it is seen, silenced and ended as any other.
func TestJava(t *testing.T) {
	slow(t)
	fetch.Client(t, []string{"javac", "mvn"}, "prepare", "2.8")
	r := startCluster(t, options{nimbuses: 1, supervisors: 2, slots: 2, conf: map[string]string{
		"nimbus.monitor.freq.secs": "1", "executor.metrics.frequency.secs": "2", "stormring.jvm.libs": javaLibs(t),
	}})

	quiet := r.submitNumbers(t, "quiet", 300)
	await(t, patience, "all numbers are written", func() bool { return quiet.all(t) })
	for line, n := range quiet.seen(t) {
		if n != 1 {
			t.Errorf("%q was written %d times", line, n)
		}
	}
	await(t, patience, "nimbus knows what was done", func() bool { return r.executedBy("quiet", "write") == 300 })
	r.must("kill", "quiet", "-w", "0")
	await(t, patience, "no JVM is left", func() bool { return len(r.jvms()) == 0 })

	rough := r.submitNumbers(t, "rough", 3000)
	await(t, patience, "numbers are written by two workers", func() bool { return len(r.jvms()) == 2 && len(rough.seen(t)) > 200 })
	before := r.jvms()
	port := slices.Min(slices.Collect(maps.Keys(before)))
	sigkill(t, before[port])
	await(t, patience, "the worker is there again", func() bool {
		pid, ok := r.jvms()[port]
		return ok && pid != before[port]
	})
	r.supervisor[0].kill()
	r.supervisor[0].start()
	await(t, 2*patience, "all numbers are written after all", func() bool { return rough.all(t) })
	for p, pid := range r.jvms() {
		if p != port && pid != before[p] {
			t.Errorf("worker %d was replaced, though nothing happened to it", p)
		}
	}
	r.must("deactivate", "rough")
	r.must("activate", "rough")
	if out := r.must("list"); !strings.Contains(out, "rough") || !strings.Contains(out, "ACTIVE") {
		t.Errorf("list prints:\n%s", out)
	}
	r.must("kill", "rough", "-w", "0")
	await(t, patience, "no JVM is left", func() bool { return len(r.jvms()) == 0 })
}

// executedBy is how many tuples a component has executed, as nimbus has it.
func (r *rig) executedBy(topology, component string) (sum int64) {
	info, err := r.client.Topology(r.t.Context(), topology, cluster.NoErrors)
	if err != nil {
		return -1
	}
	for _, e := range info.ExecutorList {
		if e.Component == component && e.Stats != nil && e.Stats.Bolt != nil {
			for _, n := range e.Stats.Bolt.Executed[":all-time"] {
				sum += n
			}
		}
	}
	return sum
}
