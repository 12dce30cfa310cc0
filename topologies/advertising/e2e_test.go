package advertising

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

// run runs the topology to its end and returns what it prints.
func run(t *testing.T, in *storm.Instance, workers int) (string, local.Result) {
	t.Helper()
	conf := storm.Config{}
	conf.SetNumWorkers(workers)
	top, err := local.New(local.Options{Name: "advertising", Instance: in, Conf: conf})
	must(t, err)
	res, err := top.Run(t.Context())
	must(t, err)
	var out strings.Builder
	must(t, in.Report(&out, res.Partial))
	return out.String(), res
}

func instance(t *testing.T, args ...string) *storm.Instance {
	t.Helper()
	in, err := Definition().Instance(storm.Env{Args: args})
	must(t, err)
	// So that some checkpoints fit into a short run.
	in.Conf[string(storm.ConfTopologyStateCheckpointIntervalMS)] = 100
	return in
}

// TestRun has the topology count, check itself and write its counts.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	in := instance(t, "--events", "50000", "--seed", "3", "--users", "5000", "--spouts", "2", "--rate", "100000", "--check", "--output", dir)
	out, res := run(t, in, 2)
	if !strings.HasSuffix(out, "OK: 50000 events, all counts are right\n") || res.Partial {
		t.Errorf("printed\n%s\n%+v", out, res)
	}
	if p := in.Progress(); p != 1 {
		t.Errorf("progress %v", p)
	}
	d := DefaultData(3, 50_000)
	d.Users = 5000
	got, err := ReadCounts(dir)
	must(t, err)
	if diff := got.Diff(d.Expected(), 5); diff != nil {
		t.Errorf("in the folder: %q", diff)
	}
}

// failing is a stateless bolt that ends its worker at its n-th tuple.
type failing struct {
	storm.Bolt
	n *atomic.Int64
}

var errOnPurpose = errors.New("on purpose")

func (b failing) Execute(t storm.Tuple) error {
	if b.n.Add(-1) == 0 {
		return errOnPurpose
	}
	return b.Bolt.Execute(t)
}

// TestRunWithFailure has a worker fail in the middle: what was counted since the
// last checkpoint is forgotten, and all of it comes again, once.
func TestRunWithFailure(t *testing.T) {
	in := instance(t, "--events", "50000", "--seed", "4", "--users", "500", "--spouts", "2", "--rate", "100000", "--check")
	c := in.Topology.Components["join"]
	newBolt := c.NewBolt
	var n atomic.Int64
	n.Store(8000)
	c.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		return failing{b, &n}, err
	}
	out, res := run(t, in, 2)
	if !strings.HasSuffix(out, "OK: 50000 events, all counts are right\n") || res.Partial || n.Load() > 0 {
		t.Errorf("printed\n%s\n%+v", out, res)
	}
}
