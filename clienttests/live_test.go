package clienttests

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestLive28 watches topologies of ours, which the program itself submits, with
// Storm's commands: their statistics are those of running workers.
func TestLive28(t *testing.T) {
	if isReference() {
		t.Skip("Storm runs no Go topologies")
	}
	cl := startCluster(t)
	c := newClient(t, "2.8", cl)
	d := c.driver(t)
	ask := func(args ...string) string { return d.run(t, program+"Ask", args...).ok(t).out }
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte(strings.Repeat("the cow jumped over the moon\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	cl.submit(t, "wordcount", "--name", "counted", "--input", text)
	cl.submit(t, "filewordcount", "--name", "endless", "-c", "topology.max.spout.pending=1")

	id := awaitRow(t, d, listTopologies, row{name: "counted", status: "ACTIVE", tasks: "5", workers: "1"}).id
	awaitRow(t, d, listTopologies, row{name: "endless", status: "ACTIVE", tasks: "4", workers: "1"})
	const emits = `component_id:split,[^(]*stats:ExecutorStats\(emitted:\{[^(]*default=`
	for name, count := range map[string]string{"counted": "3000", "endless": "[1-9]"} {
		reported := regexp.MustCompile(emits + count)
		await(t, name+" reports what it has emitted", func() bool {
			return reported.MatchString(ask("getTopologyInfoByName", name))
		})
	}

	// What Monitor prints first is the sum, and later what has come since.
	c.runUntil(t, `^counted\tsplit\t1\tdefault\t0\t3000\t0\.0$`, storm+"Monitor", "-m", "split", "-i", "1", "counted")
	c.runUntil(t, `^endless\tsplit\t1\tdefault\t[1-9]\d+\t[1-9]\d*\t\d`, storm+"Monitor", "-m", "split", "-i", "1", "endless")
	d.run(t, storm+"Monitor", "-m", "nope", "endless").fails(t, "java.lang.IllegalArgumentException: component: nope not found")

	for _, window := range []string{":all-time", "600"} {
		page := ask("getTopologyPageInfo", id, window, "true")
		for _, want := range []string{
			"num_tasks:5", "topology_stats:TopologyStats(", "id_to_spout_agg_stats:{read=ComponentAggregateStats(",
			"split=ComponentAggregateStats(", `"topology.message.timeout.secs":30`, "workers:[WorkerSummary(",
		} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of the topology has no %s:\n%s", want, page)
			}
		}
	}
	component := ask("getComponentPageInfo", id, "count", ":all-time", "true")
	if !regexp.MustCompile(`executed:3000\b`).MatchString(component) || !strings.Contains(component, "exec_stats:[ExecutorAggregateStats(exec_summary:") {
		t.Errorf("the page of the component does not show 3000 executed tuples and executors:\n%s", component)
	}
	d.run(t, storm+"KillTopology", "-w", "0", "counted", "endless").ok(t)
	awaitNothing(t, d)
}

// submit sends the program's own topology to the cluster.
func (c *cluster) submit(t *testing.T, args ...string) {
	t.Helper()
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"submit"}, args...)
	args = append(args, "-c", `nimbus.seeds=["127.0.0.1"]`, "-c", "nimbus.thrift.port="+c.port)
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = t.TempDir()
	runCommand(t, cmd, "stormring", args).ok(t)
}

// runUntil runs a command that does not end by itself, until a line that it
// prints matches the pattern.
func (c *client) runUntil(t *testing.T, pattern, class string, args ...string) {
	t.Helper()
	want := regexp.MustCompile(pattern)
	cmd := c.java(t, class, args...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	var printed []string
	found := false
	for lines := bufio.NewScanner(out); !found && lines.Scan(); {
		printed = append(printed, lines.Text())
		found = want.MatchString(lines.Text())
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // with the signal that it has got
	if !found {
		t.Errorf("%s %s: no line matches %s:\n%s\n%s", class, strings.Join(args, " "), pattern, strings.Join(printed, "\n"), errs.String())
	}
}
