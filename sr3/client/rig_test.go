package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/sr3/node"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Of the nodes' stores: it ends up to a second after Close.
		goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

const topology = "words-1"

func owner(task int32) shard.Owner {
	return shard.Owner{Topology: topology, Component: "count", Task: task}
}

// records is a coordination store in memory.
type records struct {
	mu sync.Mutex
	of map[string]protocol.Record
}

func (r *records) Get(_ context.Context, topology string) (protocol.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[topology], nil
}

func (r *records) Swap(_ context.Context, topology string, expect, next protocol.Record) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[topology] != expect {
		return false, nil
	}
	r.of[topology] = next
	return true, nil
}

func (r *records) Topologies(context.Context) ([]string, error) { return []string{topology}, nil }

func quick() ring.Config {
	c := ring.Default()
	c.PingEvery = 50 * time.Millisecond
	c.MinTimeout, c.FirstTimeout, c.MaxTimeout = 150*time.Millisecond, 300*time.Millisecond, 500*time.Millisecond
	c.SuspectFor = 300 * time.Millisecond
	c.StabilizeEvery, c.FixEvery = 100*time.Millisecond, 100*time.Millisecond
	c.GossipEvery = 20 * time.Millisecond
	c.SyncEvery = 200 * time.Millisecond
	c.RejoinEvery = 200 * time.Millisecond
	c.Pause = 10 * time.Second
	return c
}

// rig is a ring of nodes in this process.
type rig struct {
	t       testing.TB
	dir     string
	log     *slog.Logger
	records *records
	nodes   map[string]*node.Node
	configs map[string]node.Config
	large   bool // nodes do not know the whole ring
}

// newRig starts n nodes, n0 and so on, each on a host of its own.
func newRig(tb testing.TB, n int) *rig {
	tb.Helper()
	log := slog.New(slog.DiscardHandler)
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	r := &rig{
		t: tb, dir: tb.TempDir(), log: log, records: &records{of: make(map[string]protocol.Record)},
		nodes: make(map[string]*node.Node), configs: make(map[string]node.Config),
	}
	tb.Cleanup(func() {
		for _, name := range slices.Collect(maps.Keys(r.nodes)) {
			r.kill(name)
		}
	})
	for i := range n {
		r.start(fmt.Sprintf("n%d", i), nil)
	}
	r.settle()
	return r
}

// start starts a node, again with the same folder and port if it was there before.
func (r *rig) start(name string, change func(*node.Config)) *node.Node {
	r.t.Helper()
	cfg, again := r.configs[name]
	if !again {
		cfg = node.Config{
			ID: name, Addr: "127.0.0.1:0", Host: name, Positions: 16, Dir: filepath.Join(r.dir, name),
			Ring: quick(), RepairDelay: time.Hour, UpkeepEvery: time.Second, Grace: time.Hour,
			Transport: transport.Config{PingEvery: 500 * time.Millisecond}, Records: r.records, Log: r.log,
		}
	}
	if change != nil {
		change(&cfg)
	}
	n, err := node.Start(context.WithoutCancel(r.t.Context()), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	if cfg.Advertise == "" {
		cfg.Addr = n.Addr()
	}
	r.configs[name] = cfg
	r.nodes[name] = n
	var seeds []ring.Node
	for _, other := range r.nodes {
		seeds = append(seeds, other.Self())
	}
	n.SetSeeds(seeds)
	return n
}

// kill ends a node without a goodbye.
func (r *rig) kill(name string) {
	r.t.Helper()
	n := r.nodes[name]
	delete(r.nodes, name)
	if err := n.Close(); err != nil {
		r.t.Errorf("close %s: %v", name, err)
	}
}

// settle waits until all nodes know each other, and nobody else.
func (r *rig) settle() {
	r.t.Helper()
	eventually(r.t, "all nodes know each other", func() bool {
		for _, n := range r.nodes {
			s := n.Status()
			living := map[string]bool{s.Node.ID: true}
			for _, m := range s.Members {
				if m.Status == ring.Alive.String() {
					living[m.ID] = true
				}
			}
			if !s.Joined || !s.Complete && !r.large || !r.large && len(living) != len(r.nodes) {
				return false
			}
		}
		return true
	})
}

// eventually waits until what is asked for is so.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	limit := time.NewTimer(20 * time.Second)
	defer limit.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-limit.C:
			tb.Fatalf("not in time: %s", what)
		}
	}
}

// client makes the client of a worker on the host of a node.
func (r *rig) client(host string) *Client {
	r.t.Helper()
	addrs := []string{r.nodes[host].Addr()}
	for name, n := range r.nodes {
		if name != host {
			addrs = append(addrs, n.Addr())
		}
	}
	c, err := Dial(Config{
		Nodes: func() []string { return addrs }, Log: r.log, ViewEvery: 100 * time.Millisecond, ReportEvery: 50 * time.Millisecond,
		Transport: transport.Config{PingEvery: 500 * time.Millisecond},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// worker is a task on this test's goroutine, with the content that it should have.
type worker struct {
	*Task
	t      testing.TB
	posted chan func()
	model  map[string]string
	saved  map[shard.Version]map[string]string
	epoch  shard.Epoch
	last   shard.Version // newest version committed
}

func (r *rig) worker(c *Client, change func(*TaskOptions)) *worker {
	r.t.Helper()
	w := &worker{t: r.t, posted: make(chan func(), 1), model: make(map[string]string), saved: make(map[shard.Version]map[string]string), epoch: 1}
	o := TaskOptions{
		Owner: owner(1), Replicas: 3, ShardBytes: 16 << 10, SaveTimeout: 15 * time.Second, HolderTimeout: time.Second,
		Params: recovery.Params{Stall: 300 * time.Millisecond},
		Post:   func(f func()) { w.posted <- f },
	}
	if change != nil {
		change(&o)
	}
	task, err := c.Task(o)
	if err != nil {
		r.t.Fatal(err)
	}
	w.Task = task
	r.t.Cleanup(task.Close)
	return w
}

// until runs what is posted until done gives something.
func (w *worker) until(done <-chan error) error {
	w.t.Helper()
	limit := time.NewTimer(60 * time.Second)
	defer limit.Stop()
	for {
		select {
		case f := <-w.posted:
			f()
		case err := <-done:
			return err
		case <-limit.C:
			w.t.Fatal("it does not come to an end")
		}
	}
}

func (w *worker) load(v shard.Version) error {
	w.t.Helper()
	done := make(chan error, 1)
	w.epoch++
	w.Load(v, w.epoch, func(err error) { done <- err })
	err := w.until(done)
	if err == nil {
		w.model = make(map[string]string)
		maps.Copy(w.model, w.saved[v])
		w.last = v
	}
	return err
}

func (w *worker) mustLoad(v shard.Version) {
	w.t.Helper()
	if err := w.load(v); err != nil {
		w.t.Fatal(err)
	}
}

func (w *worker) save(v shard.Version) error {
	w.t.Helper()
	done := make(chan error, 1)
	w.saved[v] = clone(w.model)
	w.Save(v, w.last, w.epoch, func(err error) { done <- err })
	return w.until(done)
}

func (w *worker) commit(v shard.Version) {
	w.t.Helper()
	if err := w.Committed(v); err != nil {
		w.t.Fatal(err)
	}
	w.last = v
}

func (w *worker) checkpoint(v shard.Version) {
	w.t.Helper()
	if err := w.save(v); err != nil {
		w.t.Fatal(err)
	}
	w.commit(v)
}

func (w *worker) put(key, value string) {
	w.t.Helper()
	if err := w.Put([]byte(key), []byte(value)); err != nil {
		w.t.Fatal(err)
	}
	w.model[key] = value
}

func (w *worker) del(key string) {
	w.t.Helper()
	if err := w.Delete([]byte(key)); err != nil {
		w.t.Fatal(err)
	}
	delete(w.model, key)
}

// fill writes n keys with values of size bytes that do not compress well.
func (w *worker) fill(seed uint64, n, size int) {
	w.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	value := make([]byte, size)
	for range n {
		for at := 0; at+8 <= size/2; at += 8 {
			binary.LittleEndian.PutUint64(value[at:], rng.Uint64())
		}
		w.put(fmt.Sprintf("key-%07d", rng.IntN(4*n)), string(value))
	}
}

// churn changes some of the keys.
func (w *worker) churn(seed uint64, n int) {
	w.t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	keys := slices.Sorted(maps.Keys(w.model))
	for range n {
		k := keys[rng.IntN(len(keys))]
		if _, there := w.model[k]; there && rng.IntN(4) == 0 {
			w.del(k)
		} else {
			w.put(k, fmt.Sprintf("%d-%d", seed, rng.Uint64()))
		}
	}
}

// check compares the state with the model.
func (w *worker) check() {
	w.t.Helper()
	if n := w.Len(); n != len(w.model) {
		w.t.Fatalf("%d keys, want %d", n, len(w.model))
	}
	n := 0
	for k, v := range w.All(nil) {
		n++
		if want, ok := w.model[string(k)]; !ok || want != string(v) {
			w.t.Fatalf("key %q has %.40q, want %.40q, %v", k, v, want, ok)
		}
	}
	if n != len(w.model) {
		w.t.Fatalf("%d keys came by, want %d", n, len(w.model))
	}
}

// heir is the same task started anew elsewhere: it knows the content of the
// versions, and nothing else.
func (r *rig) heir(w *worker, c *Client, change func(*TaskOptions)) *worker {
	r.t.Helper()
	h := r.worker(c, func(o *TaskOptions) {
		post := o.Post
		*o = w.o
		o.Post = post
		if change != nil {
			change(o)
		}
	})
	h.saved, h.epoch = w.saved, w.epoch
	return h
}

func isErr(tb testing.TB, what string, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Fatalf("%s: %v, want %v", what, err, want)
	}
}

func clone(m map[string]string) map[string]string {
	c := make(map[string]string, len(m))
	maps.Copy(c, m)
	return c
}
