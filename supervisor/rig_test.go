package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor/localizer"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		os.Exit(beWorker(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// host is a machine with its disk, its processes, and one supervisor at a time;
// and the rest of the cluster.
type host struct {
	t     *testing.T
	store *embedded.Server
	opens *gate
	rec   *records.Store
	dir   string
	ports []cluster.Port
	conf  *conf.Conf
	procs *procs
	blobs *disk
	boss  *boss
	stop  bool // Config.StopWorkers

	sup  *Supervisor
	end  func()
	done chan error
}

// inside runs a test in a bubble, with a host in it.
func inside(t *testing.T, f func(t *testing.T, h *host)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cfg := embedded.DefaultConfig()
		store, err := embedded.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		own, err := store.Open(t.Context(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		h := &host{
			t: t, store: store, opens: &gate{Server: store}, rec: records.New(own, "/storm"), dir: dir,
			ports: []cluster.Port{6700, 6701}, conf: conf.Defaults(), boss: &boss{}, blobs: newDisk(t, filepath.Join(dir, "dist")),
		}
		h.procs = &procs{h: h, live: map[string]*proc{}}
		if err := h.rec.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t, h)
		h.down()
		for _, p := range h.procs.live {
			p.unplug()
		}
		if err := own.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (h *host) config() Config {
	return Config{
		Conf: h.conf, Host: "here", Ports: h.ports, LocalDir: h.dir, LogDir: filepath.Join(h.dir, "logs"), Coord: h.opens,
		Nimbus: h.boss, Localizer: h.blobs, Launcher: h.procs, Clock: clock.Real{}, Logger: slog.New(slog.DiscardHandler),
		Version: "test", StopWorkers: h.stop,
	}
}

// up starts a supervisor and lets it come to rest.
func (h *host) up() {
	h.t.Helper()
	s, err := New(h.config())
	if err != nil {
		h.t.Fatal(err)
	}
	s.listen = func(context.Context) (func(context.Context) error, error) {
		return func(ctx context.Context) error { <-ctx.Done(); return nil }, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	h.sup, h.end, h.done = s, cancel, make(chan error, 1)
	h.procs.connect(s)
	go func() { h.done <- s.Run(ctx) }()
	h.settle()
}

// down ends the supervisor, if there is one.
func (h *host) down() {
	h.t.Helper()
	if h.sup == nil {
		return
	}
	h.procs.connect(nil)
	h.end()
	if err := <-h.done; err != nil {
		h.t.Errorf("the supervisor ended with %v", err)
	}
	h.sup = nil
}

// settle waits until nothing happens any more at this time.
func (h *host) settle() { synctest.Wait() }

// after lets time pass.
func (h *host) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// place writes an assignment: an executor with each number to a port.
func (h *host) place(id cluster.TopologyID, at map[int]cluster.Port) {
	h.t.Helper()
	a := cluster.AssignmentRecord{Hosts: map[cluster.SupervisorID]string{h.sup.ID(): "here", "there": "there.example"}}
	for task, port := range at {
		on := h.sup.ID()
		if port == 0 {
			on, port = "there", 6700
		}
		a.Assignment = append(a.Assignment, cluster.Placement{
			Executor: cluster.Executor{First: storm.TaskID(task), Last: storm.TaskID(task)},
			Slot:     cluster.Slot{Supervisor: on, Port: port}, StartSecs: time.Now().Unix(),
		})
	}
	a.Assignment.Sort()
	if _, err := h.rec.PutAssignment(h.t.Context(), id, a, coord.AnyVersion); err != nil {
		h.t.Fatal(err)
	}
	h.settle()
}

// status writes a topology's base.
func (h *host) status(id cluster.TopologyID, s cluster.TopologyStatus) {
	h.t.Helper()
	b := cluster.Base{Name: id.Name(), Status: s, Workers: 1, Executors: map[string]int{"words": 1}, Owner: "me"}
	err := h.rec.CreateBase(h.t.Context(), id, b)
	if errors.Is(err, coord.ErrNodeExists) {
		_, err = h.rec.SetBase(h.t.Context(), id, b, coord.AnyVersion)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.settle()
}

// topology submits one to this host's first slot.
func (h *host) topology(id cluster.TopologyID, at map[int]cluster.Port) {
	h.t.Helper()
	h.blobs.put(id, storm.Config{})
	h.status(id, cluster.StatusActive)
	h.place(id, at)
}

// workers are the living ones.
func (h *host) workers() []string {
	h.procs.mu.Lock()
	defer h.procs.mu.Unlock()
	return slices.Sorted(maps.Keys(h.procs.live))
}

func (h *host) expect(want ...string) {
	h.t.Helper()
	if got := h.workers(); !slices.Equal(got, want) {
		h.t.Fatalf("workers are %v, want %v", got, want)
	}
}

func (h *host) worker(id string) *proc {
	h.t.Helper()
	h.procs.mu.Lock()
	defer h.procs.mu.Unlock()
	p := h.procs.live[id]
	if p == nil {
		h.t.Fatalf("there is no worker %s", id)
	}
	return p
}

// gate opens sessions that can be cut off.
type gate struct {
	*embedded.Server
	mu     sync.Mutex
	closed bool
	last   coord.Session
}

func (g *gate) Open(ctx context.Context, timeout time.Duration) (coord.Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, coord.Failed("open", "", coord.ErrConnectionLoss)
	}
	s, err := g.Server.Open(ctx, timeout)
	g.last = s
	return s, err
}

// session is the supervisor's last.
func (g *gate) session() coord.Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last
}

// shut keeps new sessions from being opened.
func (g *gate) shut(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
}

// cut takes the supervisor off the store; heal takes that back.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.Cut(g.last.ID())
}

func (g *gate) heal() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = false
	g.Heal(g.last.ID())
}

// boss is a nimbus that hears reports.
type boss struct {
	mu    sync.Mutex
	away  bool
	got   []cluster.SupervisorReport
	times []time.Time
}

func (b *boss) Report(_ context.Context, r cluster.SupervisorReport) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return errors.New("connection refused")
	}
	b.got, b.times = append(b.got, r), append(b.times, time.Now())
	return nil
}

func (b *boss) last() cluster.SupervisorReport {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.got) == 0 {
		return cluster.SupervisorReport{}
	}
	return b.got[len(b.got)-1]
}

func (b *boss) setAway(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

func (b *boss) reports() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.got)
}

// disk is a localizer.
type disk struct {
	t    *testing.T
	root string

	mu      sync.Mutex
	blobs   map[cluster.TopologyID][]byte // stormconf.ser
	holders map[string]bool
	changed []cluster.TopologyID
	updates int
	fail    error
}

func newDisk(t *testing.T, root string) *disk {
	return &disk{t: t, root: root, blobs: map[cluster.TopologyID][]byte{}, holders: map[string]bool{}}
}

func (d *disk) put(id cluster.TopologyID, c storm.Config) {
	text, err := wire.EncodeConf(c)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.blobs[id] = text
}

func (d *disk) Localise(_ context.Context, id cluster.TopologyID, update bool) (localizer.Local, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if update {
		d.updates++
	}
	if d.fail != nil {
		return localizer.Local{}, d.fail
	}
	text, ok := d.blobs[id]
	if !ok {
		return localizer.Local{}, fmt.Errorf("no blobs of %s", id)
	}
	dir := filepath.Join(d.root, string(id))
	if err := writeFile(filepath.Join(dir, confFile), text); err != nil {
		return localizer.Local{}, err
	}
	return localizer.Local{Dir: dir}, nil
}

func (d *disk) Hold(id cluster.TopologyID, holder string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holders[string(id)+" "+holder] = true
}

func (d *disk) Release(id cluster.TopologyID, holder string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.holders[string(id)+" "+holder] {
		d.t.Errorf("%s lets go of %s, which it does not hold", holder, id)
	}
	delete(d.holders, string(id)+" "+holder)
}

func (d *disk) Changed(context.Context, []cluster.TopologyID) ([]cluster.TopologyID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.changed
	d.changed = nil
	return out, nil
}

func (d *disk) Sweep(func(cluster.TopologyID) bool) error { return nil }

func (d *disk) held() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.holders))
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func contains(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
