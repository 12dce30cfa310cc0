package clustertests

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/zk"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
)

// shellTopology is a spout of a program that nobody has to run.
func shellTopology(extra ...any) cluster.Topology {
	return cluster.Topology{Components: map[string]cluster.Component{
		"spout": {
			Kind: cluster.Spout, Object: cluster.Object{Class: &cluster.Class{Name: "go:none", Args: extra}}, Parallelism: 1,
			Streams: map[string]storm.StreamSpec{"default": {Fields: []string{"word"}}},
		},
	}}
}

// inside opens a session with the rig's ZooKeeper.
func (r *rig) inside() coord.Session {
	r.t.Helper()
	store, err := zk.New(zk.DefaultConfig(slog.New(slog.DiscardHandler), r.zk.addr))
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := store.Open(r.t.Context(), 10*time.Second)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close(context.WithoutCancel(r.t.Context())) })
	return s
}

// names are the records in a folder of ZooKeeper.
func (r *rig) names(s coord.Session, dir string) []string {
	r.t.Helper()
	names, _, err := s.Children(r.t.Context(), "/storm/"+dir)
	if err != nil && !errors.Is(err, coord.ErrNoNode) {
		r.t.Fatal(err)
	}
	return names
}

// files are what lies in a folder of a nimbus's blob store.
func (d *daemon) files(dir string) []string {
	d.rig.t.Helper()
	entries, err := os.ReadDir(filepath.Join(d.dir, "blobs", dir))
	if err != nil {
		d.rig.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// recordDirs are where ZooKeeper has something of each topology.
var recordDirs = []string{
	"storms", "assignments", "blobstore", "blobstoremaxkeysequencenumber", "credentials", "errors", "logconfigs", "stormring/lifecycle",
}

var sweepsSoon = map[string]string{
	"nimbus.inbox.jar.expiration.secs": "2", "nimbus.cleanup.inbox.freq.secs": "1", "nimbus.monitor.freq.secs": "1",
}

// TestConcurrentSubmits: of twenty that submit one name at once, one wins; of
// the others nothing stays anywhere.
func TestConcurrentSubmits(t *testing.T) {
	r := startCluster(t, options{nimbuses: 2, conf: sweepsSoon})
	s := r.inside()
	const submitters = 20
	results := make([]error, submitters)
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range submitters {
		all.Go(func() {
			c := r.newClient(r.nimbus...)
			defer c.Close()
			<-begin
			results[i] = c.Submit(t.Context(), client.Submission{
				Name: "one", Conf: "{}", Topology: shellTopology(), Jar: strings.NewReader(strings.Repeat("jar", 100_000)),
			})
		})
	}
	close(begin)
	all.Wait()
	won := 0
	for _, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, client.ErrAlreadyAlive):
			t.Errorf("a submission that lost ended with: %v", err)
		}
	}
	topologies, err := r.client.Topologies(t.Context())
	if err != nil || won != 1 || len(topologies) != 1 {
		t.Fatalf("%d won, %d topologies run: %v", won, len(topologies), err)
	}
	id := string(topologies[0].ID)
	keys := []string{id + "-stormcode.ser", id + "-stormconf.ser", id + "-stormjar.jar"}
	blobs, err := r.client.Blobs(t.Context())
	if err != nil || !slices.Equal(blobs, keys) {
		t.Errorf("the blobs are %v (%v), not %v", blobs, err, keys)
	}
	if got := r.names(s, "storms"); !slices.Equal(got, []string{id}) {
		t.Errorf("in ZooKeeper are the topologies %v, not %s", got, id)
	}
	for _, dir := range recordDirs {
		for _, name := range r.names(s, dir) {
			if name != id && !slices.Contains(keys, name) {
				t.Errorf("in ZooKeeper's %s is %s, which is not the winner's", dir, name)
			}
		}
	}
	for _, n := range r.nimbus {
		await(t, patience, "uploads are swept away at "+n.name, func() bool { return len(n.files("inbox")) == 0 })
		await(t, patience, n.name+" has no file but the winner's", func() bool {
			return !slices.ContainsFunc(n.files("blobs"), func(file string) bool { return !strings.HasPrefix(file, id) })
		})
	}
}

// cutReader gives zeros, and has its connection cut half-way.
type cutReader struct {
	left int
	cut  func()
}

// Read implements io.Reader.
func (c *cutReader) Read(b []byte) (int, error) {
	if c.left <= 0 {
		c.cut()
		return 0, errors.New("cut off")
	}
	n := min(len(b), c.left)
	c.left -= n
	clear(b[:n])
	return n, nil
}

// TestSubmitsCutOff: what a client has sent that went away half-way is gone
// after a sweep.
func TestSubmitsCutOff(t *testing.T) {
	r := startCluster(t, options{nimbuses: 1, conf: sweepsSoon})
	s := r.inside()
	for what, send := range map[string]func(c *client.Client, jar io.Reader) error{
		"a jar": func(c *client.Client, jar io.Reader) error {
			return c.Submit(t.Context(), client.Submission{Name: "torn", Conf: "{}", Topology: shellTopology(), Jar: jar})
		},
		"a jar of a topology that is refused": func(c *client.Client, _ io.Reader) error {
			return c.Submit(t.Context(), client.Submission{Name: "a/b", Conf: "{}", Topology: shellTopology(), Jar: bytes.NewReader(make([]byte, 1<<20))})
		},
	} {
		c := r.newClient(r.nimbus...)
		if err := send(c, &cutReader{left: 10 << 20, cut: c.Close}); err == nil {
			t.Errorf("%s: it was accepted", what)
		}
		c.Close()
	}
	n := r.nimbus[0]
	await(t, patience, "uploads are swept away", func() bool { return len(n.files("inbox")) == 0 })
	if left := n.files("blobs"); len(left) > 0 {
		t.Errorf("blobs stay: %v", left)
	}
	for _, dir := range recordDirs {
		if left := r.names(s, dir); len(left) > 0 {
			t.Errorf("in ZooKeeper's %s stay %v", dir, left)
		}
	}
	// The name is not taken.
	if err := r.client.Submit(t.Context(), client.Submission{Name: "torn", Conf: "{}", Topology: shellTopology()}); err != nil {
		t.Errorf("submit again: %v", err)
	}
}

// TestLargeTopology: the limit of a message is a matter of configuration.
func TestLargeTopology(t *testing.T) {
	const size = 17 << 20
	r := startCluster(t, options{nimbuses: 1, conf: map[string]string{"nimbus.thrift.max_buffer_size": fmt.Sprint(size + 1<<20)}})
	payload := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	if err := r.client.Submit(t.Context(), client.Submission{Name: "large", Conf: "{}", Topology: shellTopology(payload)}); err != nil {
		t.Fatal(err)
	}
	all, err := r.client.Topologies(t.Context())
	if err != nil || len(all) != 1 {
		t.Fatalf("topologies: %v, %v", all, err)
	}
	back, err := r.client.UserTopology(t.Context(), all[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if args := back.Components["spout"].Object.Class.Args; len(args) != 1 || !bytes.Equal(args[0].([]byte), payload) {
		t.Error("the topology has come back as another")
	}
	err = r.client.Submit(t.Context(), client.Submission{Name: "larger", Conf: "{}", Topology: shellTopology(payload, payload)})
	if err == nil || !strings.Contains(err.Error(), "nimbus.thrift.max_buffer_size") {
		t.Errorf("a topology of twice that size: %v; the key of the limit is to be named", err)
	}
}

// TestLargeJar: a program of 300 MB, which is the sample with zeros behind it,
// submits itself and runs, while nobody holds it in memory.
func TestLargeJar(t *testing.T) {
	const size, limitMB = 300 << 20, 150
	r := startCluster(t, options{nimbuses: 2, supervisors: 1, slots: 1, conf: map[string]string{"topology.min.replication.count": "2", "topology.max.replication.wait.time.sec": "60"}})
	big := filepath.Join(r.dir, "big")
	code, err := os.ReadFile(program)
	if err == nil {
		err = os.WriteFile(big, code, 0o700) //nolint:gosec // it is a program
	}
	if err == nil {
		err = os.Truncate(big, size)
	}
	if err != nil {
		t.Fatal(err)
	}
	x := newText(t, 4)
	c := &count{rig: r, name: "big", text: x, ledger: filepath.Join(r.dir, "ledger")}
	cmd := exec.CommandContext(t.Context(), big, "submit", "wordcount", "--name", "big", "--ledger", c.ledger, "--input", x.dir, "--counters", "4", "--config", r.conf)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	client := peakUntil(cmd.Process.Pid, ended, func(err error) {
		if err != nil {
			t.Fatalf("submit: %v\n%s", err, out.String())
		}
	})
	c.check()
	await(t, patience, "both nimbuses have the jar", func() bool {
		for _, n := range r.nimbus {
			if !slices.ContainsFunc(n.files("blobs"), func(f string) bool { return strings.Contains(f, "stormjar.jar") && strings.HasSuffix(f, ".blob") }) {
				return false
			}
		}
		return true
	})
	for _, d := range r.all() {
		if mb := peakMB(t, d.pid()); mb >= limitMB {
			t.Errorf("%s has had %d MiB of memory, for a jar of %d", d.name, mb, size>>20)
		} else {
			t.Logf("%s has had %d MiB of memory at most", d.name, mb)
		}
	}
	if client >= limitMB {
		t.Errorf("the client has had %d MiB of memory", client)
	}
}
