package clustertests

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/clienttests/sparse"
	"github.com/stormring/stormring/internal/cluster"
)

// TestStreamparse runs topologies of streamparse with a worker for each few
// tasks, while processes of Python and workers are killed.
func TestStreamparse(t *testing.T) {
	slow(t)
	tool := sparse.Tool(t)
	sparse.OnPath(t, tool)
	r := startCluster(t, options{nimbuses: 1, supervisors: 2, slots: 2, conf: map[string]string{"nimbus.monitor.freq.secs": "1"}})
	t.Run("quickstart", func(t *testing.T) { testQuickstart(t, r, tool) })
	t.Run("sample", func(t *testing.T) { testSample(t, r, tool) })
}

// sparse runs a command of streamparse's in a project.
func (r *rig) sparse(t *testing.T, p *sparse.Project, args ...string) string {
	t.Helper()
	out, err := p.Command(t, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("sparse %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// logged is what quickstart's bolts have logged, by process. Without log.path in
// config.json, Python's log is in the workers'.
func (r *rig) logged(t *testing.T) map[int][]int {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(r.dir, "supervisor*", "logs", "workers-artifacts", "wordcount-*", "*", "worker.log"))
	return sparse.Logged(t, files...)
}

// gone waits until the topology has neither workers nor processes of Python.
func (r *rig) gone(t *testing.T, workers map[int]int) {
	t.Helper()
	all := slices.Collect(maps.Values(workers))
	await(t, patience, "no worker and no process of Python is left", func() bool {
		// A process that outlives its worker has another parent.
		return len(r.workerPIDs()) == 0 && len(sparse.Children("", append(all, 1)...)) == 0
	})
}

// testQuickstart checks that each word reaches its bolt, which may be in another
// worker, just once and in order, until something dies.
func testQuickstart(t *testing.T, r *rig, tool string) {
	const class = "bolts.wordcount.WordCountBolt"
	project := sparse.Quickstart(t, tool, sparse.WithoutSSH(r.nimbus[0].addr()))
	r.sparse(t, project, "submit", "-j", project.Jar(t), "-w", "2")
	await(t, patience, "both bolts count", func() bool {
		logged := r.logged(t)
		all := slices.Concat(slices.Collect(maps.Values(logged))...)
		return len(logged) == 2 && len(all) > 10
	})
	tasks := map[int]bool{} // that a process may be of
	for pid, got := range r.logged(t) {
		for task := range 2 {
			tasks[task] = tasks[task] || sparse.IsRun(task, got)
		}
		if !sparse.IsRun(0, got) && !sparse.IsRun(1, got) {
			t.Errorf("process %d has counted %v", pid, got)
		}
	}
	if !tasks[0] || !tasks[1] {
		t.Errorf("of the bolt's two tasks, these have counted: %v", tasks)
	}

	workers := r.workerPIDs()
	children := sparse.Children(class, slices.Collect(maps.Values(workers))...)
	if len(workers) != 2 || len(children) != 2 {
		t.Fatalf("there are the workers %v and the bolt's processes %v", workers, children)
	}
	old := r.logged(t)
	for _, pid := range children {
		sigkill(t, pid)
	}
	r.othersCount(t, old)
	if now := r.workerPIDs(); !maps.Equal(now, workers) {
		t.Errorf("the workers %v are now %v, though none was killed", workers, now)
	}

	port := slices.Collect(maps.Values(r.placement("wordcount", sparse.CountBolt)))[0]
	old = r.logged(t)
	sigkill(t, workers[port])
	await(t, patience, "the worker is there again", func() bool {
		pid, ok := r.workerPIDs()[port]
		return ok && pid != workers[port]
	})
	r.othersCount(t, old)

	if out := r.sparse(t, project, "list"); !strings.Contains(out, "# Topology-specific values") {
		t.Errorf("sparse list prints:\n%s", out)
	}
	workers = r.workerPIDs()
	r.sparse(t, project, "kill", "--wait", "0")
	r.gone(t, workers)
}

// othersCount waits until a process counts that has not been there before.
func (r *rig) othersCount(t *testing.T, before map[int][]int) {
	t.Helper()
	await(t, patience, "another process of Python counts", func() bool {
		for pid, got := range r.logged(t) {
			if _, old := before[pid]; !old && len(got) > 2 {
				return true
			}
		}
		return false
	})
}

// testSample counts a text exactly, through deaths.
func testSample(t *testing.T, r *rig, tool string) {
	project := sparse.Sample(t, tool, sparse.WithoutSSH(r.nimbus[0].addr()))
	text, output := sparse.Text(t, 2000), t.TempDir()
	r.sparse(t, project, "submit", "-j", project.Jar(t), "-N", "sample", "-w", "3",
		"-o", "wordcount.input="+text, "-o", "wordcount.output="+output,
		// What is lost with a worker comes again after two of these at most.
		"-o", "topology.message.timeout.secs=4")
	counts := func() {
		t.Helper()
		before, done := sparse.Report(t, output)
		if done {
			t.Fatal("all is counted already")
		}
		await(t, patience, "more is counted", func() bool {
			now, _ := sparse.Report(t, output)
			return sparse.Total(now) > sparse.Total(before)
		})
	}
	counts()
	workers := r.workerPIDs()
	if len(workers) != 3 {
		t.Fatalf("the workers are %v", workers)
	}
	children := sparse.Children("bolts.count.Count", slices.Collect(maps.Values(workers))...)
	if len(children) != 2 {
		t.Fatalf("the counters are %v", children)
	}
	sigkill(t, children[0])
	counts()
	// The spout stays: all that is lost has to come again by time-out.
	reads := slices.Collect(maps.Values(r.placement("sample", "lines")))
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(workers)), func(port int) bool { return slices.Contains(reads, port) })
	port := others[0]
	for _, counter := range r.placement("sample", "count") {
		if slices.Contains(others, counter) {
			port = counter
		}
	}
	sigkill(t, workers[port])
	await(t, patience, "the worker is there again", func() bool {
		pid, ok := r.workerPIDs()[port]
		return ok && pid != workers[port]
	})
	await(t, patience, "all is counted", func() bool { _, done := sparse.Report(t, output); return done })
	if got, _ := sparse.Report(t, output); !maps.Equal(got, sparse.Truth(t, tool, text)) {
		t.Errorf("counted are %v\nnot %v", got, sparse.Truth(t, tool, text))
	}
	info, err := r.client.Topology(t.Context(), "sample", cluster.AllErrors)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Errors["count"]) == 0 {
		t.Errorf("no error tells of the process that was killed: %v", info.Errors)
	}
	now := r.workerPIDs()
	r.sparse(t, project, "kill", "-n", "sample", "--wait", "0")
	r.gone(t, now)
}
