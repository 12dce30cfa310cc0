package clienttests

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stormring/stormring/clienttests/sparse"
	nouns "github.com/stormring/stormring/internal/cluster"
	nimbus "github.com/stormring/stormring/nimbus/client"
)

// startForSparse starts a cluster whose workers find streamparse.
func startForSparse(t *testing.T) (tool string, cl *cluster, ask *nimbus.Client) {
	t.Helper()
	if isReference() {
		t.Skip("Storm's in-process workers know no streamparse")
	}
	tool = sparse.Tool(t)
	sparse.OnPath(t, tool)
	cl = startCluster(t)
	ask = nimbus.New(nimbus.Config{Seeds: []string{cl.addr}})
	t.Cleanup(ask.Close)
	return tool, cl, ask
}

// quick is the topology of `sparse quickstart` while it runs in this cluster.
type quick struct {
	t       *testing.T
	project *sparse.Project
	worker  int // the process
	ask     *nimbus.Client
	logs    string
}

// TestSparseQuickstart runs the project with which users of streamparse begin,
// as sparse has made it.
func TestSparseQuickstart(t *testing.T) {
	tool, cl, ask := startForSparse(t)
	q := &quick{t: t, worker: cl.process.Process.Pid, ask: ask, logs: t.TempDir()}
	config := sparse.WithoutSSH(cl.addr)
	config["log"] = map[string]any{"path": q.logs, "level": "info"}
	q.project = sparse.Quickstart(t, tool, config)

	q.sparse("submit", "-j", q.project.Jar(t), "-w", "2").ok(t, "Submitting wordcount topology to nimbus...done\n")
	await(t, "both bolts count", func() bool {
		logged := q.logged()
		return len(logged[0]) > 0 && len(logged[1]) > 1
	})
	if err := ask.Deactivate(t.Context(), "wordcount"); err != nil {
		t.Fatal(err)
	}
	await(t, "the statistics agree with each other and with what the bolts have logged", q.atRest)
	if err := ask.Activate(t.Context(), "wordcount"); err != nil {
		t.Fatal(err)
	}
	q.killBolt()
	q.killSpout()

	q.sparse("kill", "--wait", "0").ok(t)
	await(t, "sparse list shows nothing", func() bool {
		return strings.Contains(q.sparse("list").ok(t).out, "No topologies found.\n")
	})
	await(t, "no process of Python is left", func() bool { return len(sparse.Children("", q.worker)) == 0 })
}

func (q *quick) sparse(args ...string) result {
	q.t.Helper()
	return runCommand(q.t, q.project.Command(q.t, args...), "sparse", args)
}

// files are the logs of a component's processes, of which each has its own.
func (q *quick) files(component string, task int) []string {
	files, _ := filepath.Glob(filepath.Join(q.logs, fmt.Sprintf("pystorm_wordcount_%s_%d_*.log", component, task)))
	return files
}

// tasks are those of the bolt, in ascending order.
func (q *quick) tasks() []int {
	q.t.Helper()
	info, err := q.ask.Topology(q.t.Context(), "wordcount", nouns.NoErrors)
	if err != nil {
		q.t.Fatal(err)
	}
	var tasks []int
	for _, e := range info.ExecutorList {
		if e.Component == sparse.CountBolt {
			tasks = append(tasks, int(e.Executor.First))
		}
	}
	slices.Sort(tasks)
	if len(tasks) != 2 {
		q.t.Fatalf("the bolt's tasks are %v", tasks)
	}
	return tasks
}

// logged is what each task of the bolt has logged. It checks that every process
// has counted all that it got.
func (q *quick) logged() [2][]int {
	q.t.Helper()
	var out [2][]int
	for i, task := range q.tasks() {
		for pid, got := range sparse.Logged(q.t, q.files(sparse.CountBolt, task)...) {
			if !sparse.IsRun(i, got) {
				q.t.Fatalf("process %d of task %d has counted %v", pid, task, got)
			}
			out[i] = append(out[i], got...)
		}
	}
	return out
}

// atRest reports whether all that was emitted is executed and acked, and the
// totals logged are those of just so many words.
func (q *quick) atRest() bool {
	q.t.Helper()
	spout, err1 := sparse.Flows(q.t.Context(), q.ask, "wordcount", sparse.WordSpout)
	bolts, err2 := sparse.Flows(q.t.Context(), q.ask, "wordcount", sparse.CountBolt)
	if err1 != nil || err2 != nil || len(spout) != 1 || len(bolts) != 2 {
		return false
	}
	logged := q.logged()
	var all sparse.Flow
	for i, task := range slices.Sorted(maps.Keys(bolts)) {
		b := bolts[task]
		if b.Emitted != b.Executed || b.Acked != b.Executed || b.Failed != 0 || !slices.Equal(logged[i], sparse.LogsBefore(i, b.Executed)) {
			return false
		}
		all.Executed += b.Executed
	}
	for _, s := range spout {
		all.Emitted += s.Emitted
	}
	return all.Executed == all.Emitted && all.Executed > 1000
}

// killBolt kills a process of the bolt; the next one counts all that it gets.
func (q *quick) killBolt() {
	q.t.Helper()
	const class = "bolts.wordcount.WordCountBolt"
	task := q.tasks()[1] // which has three of the four words
	old := sparse.Logged(q.t, q.files(sparse.CountBolt, task)...)
	for pid := range old {
		kill9(q.t, pid)
	}
	await(q.t, "another process of the bolt counts", func() bool {
		now := sparse.Logged(q.t, q.files(sparse.CountBolt, task)...)
		for pid, got := range now {
			if _, ok := old[pid]; !ok && len(got) > 1 {
				return sparse.IsRun(1, got) && slices.Contains(sparse.Children(class, q.worker), pid)
			}
		}
		return false
	})
	q.logged()
}

// killSpout kills the process of the spout; the next one begins again.
func (q *quick) killSpout() {
	q.t.Helper()
	old := sparse.Children("spouts.words.WordSpout", q.worker)
	if len(old) != 1 {
		q.t.Fatalf("the spout's processes are %v", old)
	}
	kill9(q.t, old[0])
	await(q.t, "another process of the spout runs", func() bool {
		now := sparse.Children("spouts.words.WordSpout", q.worker)
		return len(now) == 1 && now[0] != old[0]
	})
	// The task with a single word logs every 1000th. The other one may log
	// nothing any more: its totals have jumped.
	single := q.files(sparse.CountBolt, q.tasks()[0])
	before := sparse.Logged(q.t, single...)
	await(q.t, "the bolts go on", func() bool {
		for pid, got := range sparse.Logged(q.t, single...) {
			if len(got) > len(before[pid])+1 {
				return true
			}
		}
		return false
	})
}

// TestSparseSample counts the words of a text with the project in
// topologies/streamparse, exactly, while its processes are killed.
func TestSparseSample(t *testing.T) {
	tool, cl, _ := startForSparse(t)
	config := sparse.WithoutSSH(cl.addr)
	config["ui.port"] = freePort(t)
	project := sparse.Sample(t, tool, config)
	text, output := sparse.Text(t, 2500), t.TempDir()
	run := func(args ...string) result {
		t.Helper()
		return runCommand(t, project.Command(t, args...), "sparse", args)
	}
	submit := append([]string{"submit", "-w", "2", "-o", "wordcount.input=" + text, "-o", "wordcount.output=" + output}, project.Built(t)...)
	run(submit...).ok(t, "Submitting wordcount topology to nimbus...done\n")

	// The spout goes first: the next one reads all again.
	for _, class := range []string{"spouts.lines.Lines", "bolts.split.Split", "bolts.count.Count", "bolts.report.Report"} {
		before, done := sparse.Report(t, output)
		if done {
			t.Fatalf("all is counted before a %s was killed: %v", class, before)
		}
		await(t, "more is counted", func() bool {
			counts, _ := sparse.Report(t, output)
			return sparse.Total(counts) > sparse.Total(before)
		})
		pids := sparse.Children(class, cl.process.Process.Pid)
		if len(pids) == 0 {
			t.Fatalf("there is no process of %s", class)
		}
		kill9(t, pids[0])
	}
	await(t, "all is counted", func() bool { _, done := sparse.Report(t, output); return done })
	if got, _ := sparse.Report(t, output); !maps.Equal(got, sparse.Truth(t, tool, text)) {
		t.Errorf("counted are %v\nnot %v", got, sparse.Truth(t, tool, text))
	}

	if len(project.Built(t)) == 0 { // stats asks Leiningen, too
		if stats := run("stats"); stats.code != 1 || !strings.Contains(stats.err, "Connection refused") {
			t.Errorf("sparse stats ends with %d, though there is no user interface:\n%s\n%s", stats.code, stats.out, stats.err)
		}
	}
	run("kill", "--wait", "0").ok(t)
	await(t, "no process of Python is left", func() bool { return len(sparse.Children("", cl.process.Process.Pid)) == 0 })
}

// kill9 ends a process as a crash would.
func kill9(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill process %d: %v", pid, err)
	}
}

// TestSparseRun runs the sample as `sparse run` does, which calls Storm's Flux,
// until Ctrl-C.
func TestSparseRun(t *testing.T) {
	if isReference() {
		t.Skip("there is no Storm whose script could be called")
	}
	tool := sparse.Tool(t)
	sparse.OnPath(t, tool)
	project := sparse.Sample(t, tool, nil)
	if len(project.Built(t)) > 0 {
		t.Skip("sparse run needs Leiningen")
	}
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(name, filepath.Join(bin, "storm")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	text, output := sparse.Text(t, 300), t.TempDir()
	cmd := project.Command(t, "run", "-o", "wordcount.input="+text, "-o", "wordcount.output="+output)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // with Python's KeyboardInterrupt
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may be gone
		<-ended
		if t.Failed() {
			t.Logf("sparse run printed:\n%s", out.String())
		}
	})
	await(t, "all is counted", func() bool {
		select {
		case <-ended:
			t.Fatal("sparse run has ended by itself")
		default:
		}
		_, done := sparse.Report(t, output)
		return done
	})
	if got, _ := sparse.Report(t, output); !maps.Equal(got, sparse.Truth(t, tool, text)) {
		t.Errorf("counted are %v\nnot %v", got, sparse.Truth(t, tool, text))
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-ended
	await(t, "no process of it is left", func() bool { return errors.Is(syscall.Kill(-cmd.Process.Pid, 0), syscall.ESRCH) })
}
