package nimbus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memBlobs are blobs in memory.
type memBlobs struct {
	mu      sync.Mutex
	blobs   map[string][]byte
	version map[string]int64
	next    int64
	jars    map[string][]byte // uploaded
	failPut string            // end of the key of which Put fails
}

func newMemBlobs() *memBlobs {
	return &memBlobs{blobs: map[string][]byte{}, version: map[string]int64{}, jars: map[string][]byte{}}
}

func (m *memBlobs) Put(_ context.Context, key, _ string, data io.Reader) (int64, error) {
	b, err := io.ReadAll(data)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failPut != "" && strings.HasSuffix(key, m.failPut) {
		return 0, fmt.Errorf("disk full")
	}
	m.next++
	m.blobs[key], m.version[key] = b, m.next
	return m.next, nil
}

func (m *memBlobs) Get(_ context.Context, key string) (io.ReadCloser, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.blobs[key]
	if !ok {
		return nil, 0, fmt.Errorf("blob %s: %w", key, ErrKeyNotFound)
	}
	return io.NopCloser(bytes.NewReader(b)), m.version[key], nil
}

func (m *memBlobs) Version(_ context.Context, key string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.version[key]
	if !ok {
		return 0, fmt.Errorf("blob %s: %w", key, ErrKeyNotFound)
	}
	return v, nil
}

func (m *memBlobs) Delete(_ context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.blobs, key)
	delete(m.version, key)
	return nil
}

func (m *memBlobs) Keys(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.blobs)), nil
}

func (m *memBlobs) Head(location string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	jar, ok := m.jars[location]
	if !ok {
		return nil, fmt.Errorf("no upload %q", location)
	}
	return jar[:min(len(jar), elfHeader)], nil
}

func (m *memBlobs) Adopt(ctx context.Context, location, key, owner string) error {
	m.mu.Lock()
	jar, ok := m.jars[location]
	m.mu.Unlock()
	if !ok {
		return fmt.Errorf("no upload %q", location)
	}
	_, err := m.Put(ctx, key, owner, bytes.NewReader(jar))
	return err
}

func (m *memBlobs) Sweep(context.Context) error { return nil }

// counted opens sessions and counts what they write.
type counted struct {
	coord.Opener
	writes atomic.Int64
	mu     sync.Mutex
	last   coord.Session
}

func (c *counted) Open(ctx context.Context, timeout time.Duration) (coord.Session, error) {
	s, err := c.Opener.Open(ctx, timeout)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = s
	return &countedSession{s, c}, nil
}

func (c *counted) session() coord.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

type countedSession struct {
	coord.Session
	c *counted
}

func (s *countedSession) Create(ctx context.Context, path string, data []byte, mode coord.Mode) (string, error) {
	s.c.writes.Add(1)
	return s.Session.Create(ctx, path, data, mode)
}

func (s *countedSession) Set(ctx context.Context, path string, data []byte, version int32) (coord.Stat, error) {
	s.c.writes.Add(1)
	return s.Session.Set(ctx, path, data, version)
}

func (s *countedSession) Delete(ctx context.Context, path string, version int32) error {
	s.c.writes.Add(1)
	return s.Session.Delete(ctx, path, version)
}

func (s *countedSession) Multi(ctx context.Context, ops ...coord.Op) ([]coord.Result, error) {
	s.c.writes.Add(1)
	return s.Session.Multi(ctx, ops...)
}

// rig is a cluster without workers: a store, blobs, and supervisors that are
// only znodes.
type rig struct {
	t      *testing.T
	server *embedded.Server
	blobs  *memBlobs
	admin  *records.Store
	log    *slog.Logger
}

// master is a nimbus that runs.
type master struct {
	*Nimbus
	opener *counted
	stop   func()
}

// inRig runs a test in a bubble, in which time is the test's.
func inRig(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := embedded.DefaultConfig()
		server, err := embedded.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		r := &rig{t: t, server: server, blobs: newMemBlobs(), log: slog.New(slog.NewTextHandler(t.Output(), nil))}
		s, err := server.Open(t.Context(), 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		r.admin = records.New(s, "/storm")
		if err := r.admin.Init(t.Context()); err != nil {
			t.Fatal(err)
		}
		f(t, r)
	})
}

func (r *rig) conf(pairs ...string) *conf.Conf {
	r.t.Helper()
	values, err := conf.ParseOverrides(pairs)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := conf.Defaults().With("test", values)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// start runs a nimbus until the test ends or stop is called.
func (r *rig) start(host string, pairs ...string) *master {
	r.t.Helper()
	return r.startWith(host, r.blobs, nil, pairs...)
}

func (r *rig) startWith(host string, blobs Blobs, copies func(*records.Store) Replicator, pairs ...string) *master {
	r.t.Helper()
	m := &master{opener: &counted{Opener: r.server}}
	var err error
	m.Nimbus, err = New(Config{
		Conf: r.conf(pairs...), Host: host, Port: 6627, Coord: m.opener, Blobs: blobs, Replicator: copies, Clock: clock.Real{}, Logger: r.log.With("nimbus", host),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := m.Run(ctx); !errors.Is(err, context.Canceled) {
			r.t.Errorf("nimbus %s ended: %v", host, err)
		}
	}()
	m.stop = sync.OnceFunc(func() { cancel(); <-done })
	r.t.Cleanup(m.stop)
	synctest.Wait()
	return m
}

// helper is a supervisor that is only a znode.
type helper struct {
	r       *rig
	id      cluster.SupervisorID
	session coord.Session
	store   *records.Store
	record  cluster.SupervisorRecord
}

func (r *rig) supervisor(id string, ports ...cluster.Port) *helper {
	r.t.Helper()
	h := &helper{r: r, id: cluster.SupervisorID(id), record: cluster.SupervisorRecord{
		Host: "host-" + id, Ports: ports, Version: Version, Resources: map[string]float64{cluster.MemoryName: 4096, cluster.CPUName: 400},
	}}
	h.open()
	return h
}

func (h *helper) open() {
	s, err := h.r.server.Open(h.r.t.Context(), 20*time.Second)
	if err != nil {
		h.r.t.Fatal(err)
	}
	h.session, h.store = s, records.New(s, "/storm")
	h.beat()
}

// beat writes its sign of life.
func (h *helper) beat() {
	h.record.TimeSecs = time.Now().Unix()
	if err := h.store.PutSupervisor(h.r.t.Context(), h.id, h.record); err != nil {
		h.r.t.Fatal(err)
	}
	synctest.Wait()
}

func (h *helper) close() {
	if err := h.session.Close(h.r.t.Context()); err != nil {
		h.r.t.Fatal(err)
	}
	synctest.Wait()
}

// report tells nimbus that all that is assigned to it runs, but what skip says.
func (h *helper) report(m *master, skip ...cluster.Executor) {
	h.r.t.Helper()
	out := cluster.SupervisorReport{Supervisor: h.id}
	ids, err := h.r.admin.Assignments(h.r.t.Context())
	if err != nil {
		h.r.t.Fatal(err)
	}
	for _, id := range ids {
		workers := map[cluster.Port]*cluster.WorkerReport{}
		for _, p := range h.r.assignment(id) {
			if p.Slot.Supervisor != h.id || slices.Contains(skip, p.Executor) {
				continue
			}
			w := workers[p.Slot.Port]
			if w == nil {
				w = &cluster.WorkerReport{Topology: id, Port: p.Slot.Port, TimeSecs: time.Now().Unix(), UptimeSecs: 7}
				workers[p.Slot.Port] = w
			}
			w.Executors = append(w.Executors, cluster.ExecutorReport{Executor: p.Executor})
		}
		for _, port := range slices.Sorted(maps.Keys(workers)) {
			out.Workers = append(out.Workers, *workers[port])
		}
	}
	if err := m.Report(h.r.t.Context(), out); err != nil {
		h.r.t.Fatal(err)
	}
	synctest.Wait()
}

// assignment is where a topology runs; nil if nowhere.
func (r *rig) assignment(id cluster.TopologyID) cluster.Assignment {
	r.t.Helper()
	rec, _, err := r.admin.Assignment(r.t.Context(), id)
	if err != nil {
		return nil
	}
	return rec.Assignment
}

// pass lets time go by, in which supervisors show life.
func (r *rig) pass(d time.Duration, alive ...func()) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		<-time.After(min(5*time.Second, time.Until(end)))
		synctest.Wait()
		for _, f := range alive {
			f()
		}
	}
	synctest.Wait()
}

// words is a topology of one spout and one bolt.
func words(bolts int) cluster.Topology {
	return cluster.Topology{Components: map[string]cluster.Component{
		"spout": {
			Kind: cluster.Spout, Object: cluster.Object{Shell: &cluster.Shell{Command: "python3", Script: "s.py"}}, Parallelism: 1,
			Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word"}}},
		},
		"count": {
			Kind: cluster.Bolt, Object: cluster.Object{Shell: &cluster.Shell{Command: "python3", Script: "c.py"}}, Parallelism: bolts,
			Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word", "count"}}},
			Inputs:  []cluster.Input{{Component: "spout", Stream: "default", Grouping: cluster.Grouping{Kind: cluster.GroupFields, Fields: []string{"word"}}}},
		},
	}}
}

// submit submits words and returns its id.
func (r *rig) submit(m *master, name string, workers, bolts int) cluster.TopologyID {
	r.t.Helper()
	err := m.Submit(r.t.Context(), Submission{Name: name, ConfJSON: fmt.Sprintf(`{"topology.workers":%d}`, workers), Topology: words(bolts), Who: "ann"})
	if err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
	s, err := m.TopologySummaryByName(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return s.ID
}

// show is an assignment as "slot:executors …".
func show(a cluster.Assignment) string {
	var parts []string
	for _, s := range a.Slots() {
		n := 0
		for _, p := range a {
			if p.Slot == s {
				n++
			}
		}
		parts = append(parts, fmt.Sprintf("%s=%d", s, n))
	}
	return strings.Join(parts, " ")
}

// dump is every path below a znode, for looking for what is left.
func (r *rig) dump(path string) []string {
	names, _, err := r.admin.Session().Children(r.t.Context(), path)
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range names {
		child := strings.TrimSuffix(path, "/") + "/" + n
		out = append(out, child)
		out = append(out, r.dump(child)...)
	}
	return out
}

// traces are the znodes that name a topology.
func (r *rig) traces(name string) []string {
	return slices.DeleteFunc(r.dump("/storm"), func(p string) bool { return !strings.Contains(p, "/"+name+"-") })
}
