package clustertests

import (
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
	"github.com/stormring/stormring/internal/coord"
)

// example is a topology of clienttests/java/examples.
type example struct {
	class string
	args  []string // after its name and its folder
	// spout and sink are where numbers come from and where lines are written.
	spout, sink string
	// lines is how many lines there are at least before anything else happens.
	lines int
	// exact tells that the sink writes a line for each of its tuples, of which those
	// of checkpoints would be some, and the spout sends a tuple for each number.
	exact bool
	right judge
	quick bool // runs without STORMRING_EXAMPLES, too
}

func (x example) name() string { return strings.Join(append([]string{x.class}, x.args...), "-") }

// examples are all of them.
var examples = []example{
	{class: "Exclamation", spout: "words", sink: "exclaim2", lines: 200, exact: true, right: eachOnce("w%d!!!!!!"), quick: true},
	{class: "WordCount", spout: "sentences", sink: "count", lines: 500, exact: true, right: wordsCounted, quick: true},
	{class: "TridentWordCount", spout: "$mastercoord-bg0", lines: 500, right: wordsCounted, quick: true},
	{class: "WordCountNode", spout: "sentences", sink: "count", lines: 500, exact: true, right: wordsCounted},
	{class: "FastWordCount", spout: "sentences", sink: "count", lines: 20, right: blocksCounted},
	{class: "InOrderDelivery", spout: "source", sink: "check", lines: 200, right: inOrder},
	{class: "RollingTopWords", spout: "words", sink: "total", lines: 10, right: ranked},
	{class: "SkewedRollingTopWords", spout: "words", sink: "total", lines: 12, right: ranked},
	{class: "SlidingWindow", spout: "numbers", sink: "three", lines: 30, right: windowsSummed},
	{class: "Stateful", spout: "numbers", sink: "count", lines: 200, right: statesSummed},
	{class: "StatefulWindowing", spout: "numbers", sink: "kept", lines: 30, right: windowStates},
	{class: "Lambda", spout: "numbers", sink: "write", lines: 200, exact: true, right: multiplied},
	{class: "MultipleLogger", spout: "words", sink: "log2", lines: 200, exact: true, right: eachOnce("w%d!!!!!!")},
	{class: "Join", spout: "ages", sink: "write", lines: 200, right: joined("%d %d town%d", func(n int64) string { return fmt.Sprintf("%d %d town%d", n, n%90, n%7) })},
	{class: "BlobStore", spout: "numbers", sink: "read", lines: 200, exact: true, right: eachOnce("%d first")},
	{class: "Streams", args: []string{"count"}, spout: "spout1", lines: 500, right: wordsCounted},
	{class: "Streams", args: []string{"window"}, spout: "spout1", lines: 100, right: wordsSummed},
	{class: "Streams", args: []string{"join"}, spout: "spout1", lines: 200, right: joined("%d source%d other%d", func(n int64) string { return fmt.Sprintf("%d source%d other%d", n, n, n) })},
	{class: "Streams", args: []string{"query"}, spout: "spout1", lines: 200, right: queried},
	{class: "Streams", args: []string{"branch"}, spout: "spout1", lines: 100, right: branched},
	{class: "Streams", args: []string{"typed"}, spout: "spout1", lines: 100, right: typed},
	{class: "Streams", args: []string{"aggregate"}, spout: "spout1", lines: 20, right: aggregated},
}

// TestJavaExamples: topologies that use Storm's API as storm-starter does, submitted
// by Storm's own client, do what they do with Storm, through deaths and changes, and
// leave nothing behind. Without STORMRING_EXAMPLES=all it is three of them; another
// value names those that are run.
func TestJavaExamples(t *testing.T) {
	slow(t)
	fetch.Client(t, []string{"javac", "mvn"}, "prepare", "2.8")
	r := javaCluster(t, 120)
	want := os.Getenv("STORMRING_EXAMPLES")
	for _, x := range examples {
		named := slices.Contains(strings.Split(want, ","), x.name())
		if x.quick && want == "" || want == "all" || named {
			t.Run(x.name(), func(t *testing.T) { newRun(t, r, x).series() })
		}
	}
}

// javaCluster is one whose statistics come soon; a supervisor may be silent for some seconds.
func javaCluster(t *testing.T, silence int) *rig {
	t.Helper()
	return startCluster(t, options{nimbuses: 1, supervisors: 2, slots: 2, apart: true, conf: map[string]string{
		"nimbus.monitor.freq.secs": "1", "executor.metrics.frequency.secs": "2", "stormring.jvm.libs": javaLibs(t),
		"nimbus.topology.blobstore.deletion.delay.ms": "1000", "supervisor.localizer.cleanup.interval.ms": "1000",
		"nimbus.cleanup.inbox.freq.secs": "1", "supervisor.localizer.update.blob.interval.secs": "2",
		"task.credentials.poll.secs": "2", "worker.log.level.reset.poll.secs": "2",
		"nimbus.supervisor.timeout.secs": strconv.Itoa(silence), "supervisor.heartbeat.frequency.secs": "1",
	}})
}

// run is an example that runs.
type run struct {
	*rig
	whole *rig // outlives the test
	example
	t      *testing.T
	all    bool // the whole series
	folder string
	storm  stormClient
	// session is with ZooKeeper.
	session coord.Session
}

// newRun takes an example, which is not submitted yet.
func newRun(t *testing.T, r *rig, x example) *run {
	t.Helper()
	own := *r
	own.t = t
	return &run{
		rig: &own, whole: r, t: t, example: x, all: os.Getenv("STORMRING_EXAMPLES") != "",
		folder: t.TempDir(), storm: r.stormClient(t), session: own.inside(),
	}
}

// series is what happens to each example.
func (x *run) series() {
	x.submit()
	x.calm()
	x.must("activate", x.name())
	x.flows("it is active again")
	x.killWorker()
	if x.all {
		x.killSupervisor()
		x.rebalance()
	}
	// What fails is sent again only while it is active.
	until := x.taken()
	x.await("what was taken is there after all", func() bool {
		return len(x.right(sight{lines: x.lines(), taken: until})) == 0
	})
	x.stop()
	x.kill()
}

func (x *run) await(what string, ask func() bool) {
	x.t.Helper()
	if _, ok := watch(x.t, 2*patience, ask); !ok {
		x.t.Fatalf("%s: still waiting after %s for this: %s; %d numbers were taken, %d lines written; wrong: %q\n%s",
			x.name(), 2*patience, what, x.taken(), len(x.lines()), x.wrong(false), x.complaints())
	}
}

func (x *run) submit() {
	x.storm.run(x.t, "stormring.examples."+x.class, append([]string{x.name(), x.folder}, x.args...)...)
	x.t.Cleanup(x.whole.clear(x.name()))
	begin := time.Now()
	x.await("it runs", func() bool { return len(x.lines()) >= x.example.lines })
	x.t.Logf("%d lines after %s", x.example.lines, time.Since(begin).Round(100*time.Millisecond))
}

// calm looks at results and statistics while nothing has failed yet.
func (x *run) calm() {
	x.stop()
	if _, ok := watch(x.t, patience, func() bool { return len(x.wrong(true)) == 0 }); !ok {
		x.t.Errorf("%d numbers were taken, %d lines written; wrong: %q", x.taken(), len(x.lines()), x.wrong(true))
	}
	if _, ok := watch(x.t, patience, func() bool { return len(x.unknown()) == 0 }); !ok {
		x.t.Errorf("nimbus does not know: %q", x.unknown())
	}
	if out := x.must("get-errors", x.name()); !strings.Contains(out, `"Comp-Errors":{}`) {
		x.t.Errorf("errors: %s", out)
	}
	if out := x.must("list"); !strings.Contains(out, x.name()) || !strings.Contains(out, "INACTIVE") {
		x.t.Errorf("list prints:\n%s", out)
	}
}

// unknown is what nimbus should know of the topology, and does not.
func (x *run) unknown() (out []string) {
	page, err := x.page()
	if err != nil {
		return []string{err.Error()}
	}
	for name, spout := range page.Spouts {
		if spout.Emitted == 0 || spout.Executors == 0 {
			out = append(out, fmt.Sprintf("spout %s: %+v", name, spout))
		}
	}
	for name, bolt := range page.Bolts {
		if bolt.Executed == 0 || bolt.Executors == 0 {
			out = append(out, fmt.Sprintf("bolt %s: %+v", name, bolt))
		}
	}
	if len(page.Workers) != 2 || page.Spouts[x.spout].Executors == 0 {
		out = append(out, fmt.Sprintf("%d workers, spouts %v", len(page.Workers), slices.Collect(maps.Keys(page.Spouts))))
	}
	if taken, lines := x.taken(), int64(len(x.lines())); x.exact {
		spout, sink := page.Spouts[x.spout], page.Bolts[x.sink]
		component, err := x.client.ComponentPage(x.t.Context(), page.ID, x.sink, ":all-time", false)
		if err != nil || spout.Emitted != taken || sink.Executed != lines || component.Windows[":all-time"].Executed != lines {
			out = append(out, fmt.Sprintf("error %v; %d numbers, %d emitted; %d lines, %d executed, on its own page %d",
				err, taken, spout.Emitted, lines, sink.Executed, component.Windows[":all-time"].Executed))
		}
	}
	return out
}

func (x *run) page() (cluster.TopologyPage, error) {
	summary, err := x.client.TopologySummary(x.t.Context(), x.name())
	if err != nil {
		return cluster.TopologyPage{}, err
	}
	return x.client.TopologyPage(x.t.Context(), summary.ID, ":all-time", false)
}

// stop deactivates, and sees that nothing is emitted any more.
func (x *run) stop() {
	x.must("deactivate", x.name())
	x.await("nothing is emitted any more", func() bool {
		before := x.taken()
		<-time.After(1500 * time.Millisecond)
		return x.taken() == before
	})
}

// flows waits until more numbers are taken and more lines written.
func (x *run) flows(why string) {
	x.t.Helper()
	taken, lines, begin := x.taken(), len(x.lines()), time.Now()
	x.await("it flows, since "+why, func() bool {
		return x.taken() > taken+20 && len(x.lines()) > lines+min(20, x.example.lines/4)
	})
	x.t.Logf("%s: it flows after %s", why, time.Since(begin).Round(100*time.Millisecond))
}

func (x *run) killWorker() {
	before := x.jvms()
	port := slices.Min(slices.Collect(maps.Keys(before)))
	sigkill(x.t, before[port])
	x.await("the worker is there again", func() bool {
		pid, ok := x.jvms()[port]
		return ok && pid != before[port]
	})
	x.flows("a worker was killed")
}

func (x *run) killSupervisor() {
	before := x.jvms()
	s := x.supervisor[0]
	s.kill()
	x.flows("a supervisor was killed")
	s.start()
	x.awaitSupervisors(len(x.supervisor))
	x.flows("a supervisor is back")
	if now := x.jvms(); !maps.Equal(now, before) {
		x.t.Errorf("the workers are %v now, and were %v before the supervisor was killed", now, before)
	}
}

// rebalance goes to one worker, and back to two with Storm's client.
func (x *run) rebalance() {
	args := []string{"rebalance", x.name(), "-w", "0", "-n", "1"}
	if x.sink != "" {
		args = append(args, "-e", x.sink+"=1") // of one or two
	}
	x.must(args...)
	x.await("there is one worker", func() bool { return len(x.jvms()) == 1 })
	x.flows("it has one worker")
	if x.sink != "" && len(x.placement(x.name(), x.sink)) != 1 {
		x.t.Errorf("%s runs as %v", x.sink, x.placement(x.name(), x.sink))
	}
	x.storm.run(x.t, "org.apache.storm.command.Rebalance", x.name(), "-w", "0", "-n", "2")
	x.await("there are two workers", func() bool { return len(x.jvms()) == 2 })
	x.flows("it has two workers")
}

// kill ends the topology, and sees that nothing is left of it.
func (x *run) kill() {
	x.must("kill", x.name(), "-w", "0")
	if x.class == "BlobStore" {
		x.storm.run(x.t, "stormring.examples.BlobStore", x.name(), x.folder, "-")
	}
	if _, ok := watch(x.t, patience, func() bool { return len(x.left()) == 0 }); !ok {
		x.t.Errorf("this is left: %q", x.left())
	}
}

// clear leaves the cluster to the next example, however this one ends.
func (r *rig) clear(name string) func() {
	return func() {
		if _, err := r.run("kill", name, "-w", "0"); err == nil {
			watch(r.t, patience, func() bool { return len(r.jvms()) == 0 })
		}
	}
}

// left is what is left of an ended topology.
func (x *run) left() (out []string) {
	for port, pid := range x.jvms() {
		out = append(out, fmt.Sprintf("the JVM %d at %d", pid, port))
	}
	for _, dir := range append([]string{"workerbeats"}, recordDirs...) {
		for _, name := range x.names(x.session, dir) {
			if strings.HasPrefix(name, x.name()) {
				out = append(out, "in ZooKeeper "+dir+"/"+name)
			}
		}
	}
	blobs, err := x.client.Blobs(x.t.Context())
	if err != nil {
		out = append(out, err.Error())
	}
	for _, key := range blobs {
		out = append(out, "the blob "+key)
	}
	for _, d := range x.supervisor {
		for _, pattern := range []string{"supervisor/stormdist/*", "supervisor/topologies/*", "workers/[^.]*"} {
			files, _ := filepath.Glob(filepath.Join(d.dir, pattern))
			out = append(out, files...)
		}
	}
	return out
}

// taken is how many numbers the spout has taken from its source.
func (x *run) taken() int64 { return x.takenFrom("source") }

// takenFrom is how many numbers a spout has taken; examples with two have "other".
func (x *run) takenFrom(source string) int64 {
	text, err := os.ReadFile(filepath.Join(x.folder, source))
	if err != nil || len(text) == 0 {
		return 0 // it has not begun
	}
	first, _, _ := strings.Cut(string(text), " ")
	next, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		x.t.Fatalf("the source is at %q", text)
	}
	return next
}

// lines are what was written.
func (x *run) lines() (out []string) {
	files, _ := filepath.Glob(filepath.Join(x.folder, "seen-*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			x.t.Fatal(err)
		}
		all := strings.Split(string(text), "\n")
		out = append(out, all[:len(all)-1]...) // the last is empty, or half
	}
	return out
}

// wrong is what is wrong about the lines.
func (x *run) wrong(calm bool) []string {
	w := x.right(sight{lines: x.lines(), taken: x.taken(), other: x.takenFrom("other"), calm: calm})
	return w[:min(5, len(w))]
}

// complaints are the ends of the workers' logs.
func (x *run) complaints() string {
	var out strings.Builder
	for _, d := range x.supervisor {
		logs, _ := filepath.Glob(filepath.Join(d.dir, "logs", "workers-artifacts", x.name()+"-*", "*", "worker.log"))
		for _, log := range logs {
			fmt.Fprintf(&out, "%s ends:\n%s", log, tail(log))
		}
	}
	return out.String()
}
