package local

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
)

// clusterConf is a configuration with a free port for nimbus.
func clusterConf(t *testing.T) *conf.Conf {
	t.Helper()
	c, err := conf.Load(conf.Options{Overrides: []string{"nimbus.thrift.port=0"}, Dir: t.TempDir(), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func startCluster(t *testing.T, opts ClusterOptions) *Cluster {
	t.Helper()
	opts.Conf = clusterConf(t)
	opts.Logger = slog.New(slog.DiscardHandler)
	opts.Workers = opts.Logger
	c, err := StartCluster(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func closeCluster(t *testing.T, c *Cluster) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// dialCluster is a client of c, as another process would be one.
func dialCluster(t *testing.T, c *Cluster) *client.Client {
	t.Helper()
	cfg := client.ConfigOf(c.opts.Conf, slog.New(slog.DiscardHandler))
	cfg.Seeds = []string{c.Addr().String()}
	n, err := client.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestHostedRun(t *testing.T) {
	t.Parallel()
	const n = 5000
	var acks, seen tally
	c := startCluster(t, ClusterOptions{Slots: 3})
	defer closeCluster(t, c)
	top, err := c.Host(Options{
		Name: "counted", Instance: &storm.Instance{Topology: build(t, n, &acks, &seen)},
		Conf: storm.Config{"topology.workers": 3, "topology.max.spout.pending": 500},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(t.Context())
	if err != nil || res.Partial || res.Restarts != 0 {
		t.Errorf("result %+v, %v", res, err)
	}
	for i := range int64(n) {
		if seen.n[i] != 1 || acks.n[i] != 1 {
			t.Fatalf("number %d was seen %d times and acked %d times", i, seen.n[i], acks.n[i])
		}
	}
	if p := top.Progress(); p.Acked != n {
		t.Errorf("progress %+v", p)
	}
}

// What runs here is seen by clients, and ends when one of them kills it.
func TestHostedRunIsSeenAndKilled(t *testing.T) {
	t.Parallel()
	var acks, seen tally
	c := startCluster(t, ClusterOptions{Slots: 2})
	defer closeCluster(t, c)
	top, err := c.Host(Options{
		Name: "endless", Instance: &storm.Instance{Topology: build(t, 1<<62, &acks, &seen)},
		Conf: storm.Config{"topology.workers": 2, "topology.max.spout.pending": 10},
	})
	if err != nil {
		t.Fatal(err)
	}
	var res Result
	done := make(chan error, 1)
	go func() {
		var err error
		res, err = top.Run(t.Context())
		done <- err
	}()
	n := dialCluster(t, c)
	defer n.Close()
	var info cluster.TopologyInfo
	eventually(t, "two workers with statistics", func() bool {
		info, err = n.Topology(t.Context(), "endless", cluster.AllErrors)
		return err == nil && info.Workers == 2 && len(info.ExecutorList) == 8 && executed(info, "sink") > 0
	})
	zero := 0
	if err := n.Kill(t.Context(), "endless", cluster.KillOptions{WaitSecs: &zero}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil || !res.Partial || res.Interrupted {
		t.Errorf("result %+v, %v", res, err)
	}
}

// executed is how many tuples a bolt's executors have executed.
func executed(info cluster.TopologyInfo, component string) int64 {
	var sum int64
	for _, e := range info.ExecutorList {
		if e.Component == component && e.Stats != nil && e.Stats.Bolt != nil {
			for _, n := range e.Stats.Bolt.Executed[":all-time"] {
				sum += n
			}
		}
	}
	return sum
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for !is() {
		select {
		case <-late:
			t.Fatalf("%s: never", what)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// ended fails at once, always.
type ended struct{ storm.BaseBasicBolt }

func (ended) Prepare(*storm.TopologyContext) error { return errors.New("this bolt cannot be prepared") }

func (ended) Execute(storm.Tuple, *storm.BasicOutputCollector) error { return nil }

// A topology that cannot start is given up, and its last error is the reason.
func TestHostedRunIsGivenUp(t *testing.T) {
	t.Parallel()
	var acks tally
	b := storm.NewTopologyBuilder()
	b.SetSpout("numbers", func() storm.Spout { return &numbers{n: 10, acks: &acks} }, 1)
	b.SetBasicBolt("ended", func() storm.BasicBolt { return ended{} }, 1).ShuffleGrouping("numbers")
	broken, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	c := startCluster(t, ClusterOptions{Slots: 1})
	defer closeCluster(t, c)
	top, err := c.Host(Options{Name: "broken", Instance: &storm.Instance{Topology: broken}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = top.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "this bolt cannot be prepared") {
		t.Errorf("run: %v", err)
	}
}

// A cluster with a folder knows after a restart what was submitted before it.
func TestDataOutlastsTheCluster(t *testing.T) {
	t.Parallel()
	var acks, seen tally
	top := build(t, 1<<62, &acks, &seen)
	program := storm.Program{Topologies: []storm.Definition{definition("kept", top)}}
	d, err := layout.Describe(top, "kept")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := startCluster(t, ClusterOptions{Dir: dir, Slots: 1, Program: program})
	n := dialCluster(t, c)
	if err := n.Submit(t.Context(), client.Submission{Name: "kept", Conf: `{"topology.max.spout.pending":10}`, Topology: d}); err != nil {
		t.Fatal(err)
	}
	works := func() bool {
		info, err := n.Topology(t.Context(), "kept", cluster.NoErrors)
		return err == nil && executed(info, "sink") > 0
	}
	eventually(t, "it works", works)
	n.Close()
	closeCluster(t, c)
	c = startCluster(t, ClusterOptions{Dir: dir, Slots: 1, Program: program})
	defer closeCluster(t, c)
	n = dialCluster(t, c)
	defer n.Close()
	eventually(t, "it works again", works)
}

// definition offers a topology that is made already.
func definition(name string, t *storm.Topology) storm.Definition {
	return storm.Definition{Name: name, Setup: makes(t)}
}

// A temporary cluster leaves nothing behind.
func TestTemporaryClusterIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	c := startCluster(t, ClusterOptions{})
	if left, err := filepath.Glob(filepath.Join(tmp, "stormring-local-*")); err != nil || len(left) != 1 {
		t.Errorf("folders %v, %v", left, err)
	}
	closeCluster(t, c)
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A port that was asked for and is taken is an error; one that was not is not.
func TestPortTaken(t *testing.T) {
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	c, err := conf.Load(conf.Options{Overrides: []string{"nimbus.thrift.port=" + port}})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	_, err = StartCluster(context.Background(), ClusterOptions{Conf: c, Logger: log, Workers: log})
	if err == nil || !strings.Contains(err.Error(), "nimbus.thrift.port says which, 0 is a free one") {
		t.Errorf("start: %v", err)
	}
}
