//go:build unix

package supervisor

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/internal/link"
	"github.com/stormring/stormring/storm"
)

// beWorker is a worker that does nothing but what it is told on the link. The
// test binary becomes one when it is started with the arguments of a worker.
func beWorker(args []string) int {
	f := flag.NewFlagSet("worker", flag.ContinueOnError)
	values := map[string]*string{}
	for _, name := range []string{"topology", "supervisor", "worker-id", "code", "link", "conf", "log"} {
		values[name] = f.String(name, "", "")
	}
	port := f.Int("port", 0, "")
	if err := f.Parse(args); err != nil {
		return 2
	}
	here, err := os.Getwd()
	if err != nil {
		return 2
	}
	about, err := json.Marshal(map[string]any{"args": args, "env": os.Environ(), "dir": here})
	if err != nil || os.WriteFile(*values["log"], about, 0o600) != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var mu sync.Mutex
	var last cluster.Orders
	err = link.Run(ctx, link.Worker{
		Socket: *values["link"], Every: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		Hello: cluster.Hello{
			Topology: cluster.TopologyID(*values["topology"]), Port: cluster.Port(*port), Worker: *values["worker-id"], PID: os.Getpid(),
		},
		Pulse: func() cluster.Pulse {
			mu.Lock()
			defer mu.Unlock()
			p := cluster.Pulse{TimeMS: time.Now().UnixMilli(), UptimeSecs: os.Getpid()}
			for _, pl := range last.Placement {
				p.Executors = append(p.Executors, cluster.ExecutorReport{Executor: pl.Executor, Component: last.Status.String()})
			}
			return p
		},
		Orders: func(o cluster.Orders) {
			mu.Lock()
			defer mu.Unlock()
			last = o
		},
	})
	if err != nil {
		return 4
	}
	return 0
}

// machine is a supervisor with processes of this host.
type machine struct {
	t     *testing.T
	dir   string
	store *embedded.Server
	blobs *disk
	sup   *Supervisor
	down  func()
}

func (r *machine) up() {
	r.t.Helper()
	s, err := New(Config{
		Conf: conf.Defaults(), Host: "here", Ports: []cluster.Port{6700}, LocalDir: r.dir, LogDir: filepath.Join(r.dir, "logs"), Coord: r.store,
		Nimbus: &boss{}, Localizer: r.blobs, Clock: clock.Real{}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	r.sup = s
	r.down = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Error(err)
		}
	}
}

// worker waits until one is heard of that ok likes.
func (r *machine) worker(what string, ok func(cluster.WorkerReport) bool) cluster.WorkerReport {
	r.t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		for _, w := range r.sup.hub.report("").Workers {
			if ok(w) {
				return w
			}
		}
		select {
		case <-deadline:
			r.t.Fatalf("no worker %s; there is %+v", what, r.sup.hub.report(""))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestProcesses is a life with real processes and a real socket. The numbers of
// processes travel as uptimes, statuses as components.
func TestProcesses(t *testing.T) {
	store, err := embedded.New(embedded.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	own, err := store.Open(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	rec := records.New(own, "/storm")
	r := &machine{t: t, dir: t.TempDir(), store: store}
	r.blobs = newDisk(t, filepath.Join(r.dir, "dist"))
	r.blobs.put(words, storm.Config{"topology.environment": map[string]any{"COLOUR": "blue"}})
	resources := filepath.Join(r.dir, "dist", string(words), "resources")
	if err := os.MkdirAll(resources, 0o750); err != nil {
		t.Fatal(err)
	}
	r.up()
	place := cluster.AssignmentRecord{Assignment: cluster.Assignment{{Executor: cluster.Executor{First: 1, Last: 1}, Slot: cluster.Slot{Supervisor: r.sup.ID(), Port: 6700}}}}
	base := cluster.Base{Name: "words", Status: cluster.StatusActive}
	if err := rec.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := rec.CreateBase(t.Context(), words, base); err != nil {
		t.Fatal(err)
	}
	if _, err := rec.PutAssignment(t.Context(), words, place, coord.AnyVersion); err != nil {
		t.Fatal(err)
	}
	has := func(status cluster.TopologyStatus) func(w cluster.WorkerReport) bool {
		return func(w cluster.WorkerReport) bool {
			return len(w.Executors) == 1 && w.Executors[0].Component == status.String()
		}
	}
	first := r.worker("is active", has(cluster.StatusActive))
	checkWorker(t, r, resources)

	// kill -9: another is there in no time.
	began := time.Now()
	if err := syscall.Kill(first.UptimeSecs, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := r.worker("is another", func(w cluster.WorkerReport) bool {
		return w.UptimeSecs != first.UptimeSecs && has(cluster.StatusActive)(w)
	})
	// Far less than any time-out; clustertests measures it with the machine for itself.
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("from kill -9 to a worker that is at work: %v", d)
	} else {
		t.Logf("from kill -9 to a worker that is at work: %v", d)
	}

	r.takenOver(t, rec, base, second.UptimeSecs)
	if err := own.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// has likes a worker with one executor that was told a status.
func has(status cluster.TopologyStatus) func(w cluster.WorkerReport) bool {
	return func(w cluster.WorkerReport) bool {
		return len(w.Executors) == 1 && w.Executors[0].Component == status.String()
	}
}

// takenOver lets the supervisor go and another come: the worker stays and obeys
// that.
func (r *machine) takenOver(t *testing.T, rec *records.Store, base cluster.Base, pid int) {
	t.Helper()
	r.down()
	base.Status = cluster.StatusInactive
	if _, err := rec.SetBase(t.Context(), words, base, coord.AnyVersion); err != nil {
		t.Fatal(err)
	}
	r.up()
	third := r.worker("obeys", has(cluster.StatusInactive))
	if third.UptimeSecs != pid {
		t.Errorf("process %d was not taken over but replaced by %d", pid, third.UptimeSecs)
	}
	if err := rec.RemoveAssignment(t.Context(), words); err != nil {
		t.Fatal(err)
	}
	waitGone(t, filepath.Join(r.dir, "workers", "6700-3"))
	if err := syscall.Kill(third.UptimeSecs, 0); err == nil {
		t.Errorf("process %d is still there", third.UptimeSecs)
	}
	r.down()
}

// checkWorker looks at how the first worker was started.
func checkWorker(t *testing.T, r *machine, resources string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, "logs", "workers-artifacts", string(words), "6700", "worker.log"))
	if err != nil {
		t.Fatal(err)
	}
	var about struct {
		Args, Env []string
		Dir       string
	}
	if err := json.Unmarshal(text, &about); err != nil {
		t.Fatal(err)
	}
	if about.Dir != resources {
		t.Errorf("it runs in %s, want %s", about.Dir, resources)
	}
	for _, v := range []string{"COLOUR=blue", "STORM_WORKER_ID=6700-2", "STORM_WORKER_PORT=6700", "STORM_TOPOLOGY_ID=words-1-1"} {
		if !slices.Contains(about.Env, v) {
			t.Errorf("%s is not in %q", v, about.Env)
		}
	}
	i := slices.Index(about.Args, "--conf")
	text, err = os.ReadFile(about.Args[i+1])
	if err != nil {
		t.Fatal(err)
	}
	settings, err := conf.ParseJSON(string(text))
	if err != nil || settings["nimbus.thrift.port"] != int64(6627) {
		t.Errorf("its configuration: port %v, %v", settings["nimbus.thrift.port"], err)
	}
}

func waitGone(t *testing.T, path string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s is still there", path)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestProgramOfTopology(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		head string
		want bool
	}{
		"elf": {"\x7fELF....", true}, "mac": {"\xcf\xfa\xed\xfe", true}, "zip": {"PK\x03\x04", false}, "short": {"\x7fE", false}, "empty": {"", false},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.head), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := isProgram(path); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := isProgram(filepath.Join(dir, "none")); got || err != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
}

func TestEnviron(t *testing.T) {
	got := environ([]string{"PATH=/bin", "HOME=/h", "SECRET=x", "LANG=C", "STORM_CONF_DIR=/etc/storm", "ODD", "TMPDIR=/t=1"}, map[string]string{"LANG": "de", "A": "b"})
	if want := "[A=b HOME=/h LANG=de PATH=/bin STORM_CONF_DIR=/etc/storm TMPDIR=/t=1]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
	if strings.Contains(fmt.Sprint(got), "SECRET") {
		t.Error("it has the supervisor's secrets")
	}
}
