package recovery

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/sr3/client"
	"github.com/stormring/stormring/sr3/protocol"
	sr3 "github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

const (
	// forEver is longer than any run.
	forEver     = 24 * time.Hour
	upkeepEvery = 5 * time.Second
	// A save must not fail because the machine's disk is busy.
	saveTimeout = 3 * time.Minute
	slowHolder  = 3 * time.Second
	// An entry has a key and a value of so many bytes; with what is kept of an
	// entry beside them it takes entryBytes in an image.
	keyBytes, valueBytes = 16, 100
	entryBytes           = 132
)

// worker is the goroutine of all tasks of one process.
type worker struct {
	nodes  []string
	log    *slog.Logger
	client *client.Client
	posted chan func()
	say    func(reply) error
	// saving are the tasks that were filled.
	saving map[int32]*client.Task
}

func (w *worker) dial() (*client.Client, error) {
	return client.Dial(client.Config{Nodes: func() []string { return w.nodes }, Log: w.log})
}

func serveWorker(ctx context.Context, r workerRole, requests <-chan request, say func(reply) error, log *slog.Logger) error {
	w := &worker{nodes: r.Nodes, log: log, posted: make(chan func(), 64), say: say, saving: make(map[int32]*client.Task)}
	var err error
	if w.client, err = w.dial(); err != nil {
		return err
	}
	defer w.client.Close()
	hello := reply{}
	if len(r.Nodes) > 0 {
		if _, err := w.client.View(ctx); err != nil {
			hello.Error = err.Error()
		}
	}
	if err := say(hello); err != nil {
		return err
	}
	for {
		select {
		case f := <-w.posted:
			f()
		case q, ok := <-requests:
			if !ok {
				return nil
			}
			a, err := w.do(ctx, q)
			if err != nil {
				a.Error = err.Error()
			}
			if err := say(a); err != nil {
				return err
			}
		}
	}
}

func (w *worker) do(ctx context.Context, q request) (reply, error) {
	switch {
	case q.Fill != nil:
		return w.fill(ctx, *q.Fill)
	case q.Load != nil:
		return w.load(ctx, *q.Load)
	case q.Store != nil:
		return useStore(ctx, *q.Store)
	case q.Floor != nil:
		return fetchPlain(ctx, *q.Floor)
	default:
		return reply{}, fmt.Errorf("a worker does not know what to do with %+v", q)
	}
}

// await runs what is posted until done tells something.
func (w *worker) await(ctx context.Context, done <-chan error, look func() error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case f := <-w.posted:
			f()
		case err := <-done:
			return err
		case <-tick.C:
			if err := look(); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func nothing() error { return nil }

// owner names the state. Each is of a topology of its own, so that they are
// committed one by one.
func (s state) owner() shard.Owner {
	return shard.Owner{Topology: fmt.Sprintf("lab-%d", s.Task), Component: "count", Task: s.Task}
}

// keys is the number of keys.
func (s state) keys() int { return max(int(s.Bytes/entryBytes), 1) }

// write gives put the entries of a version: all keys, or a share of them, the
// same ones each time, with new values.
func (s state) write(version int64, share float64, put func(k, v []byte) error) error {
	key, value := make([]byte, keyBytes), make([]byte, valueBytes)
	bytes := rand.NewChaCha8([32]byte{byte(s.Seed), byte(version), byte(s.Task)})
	for i := range int(share * float64(s.keys())) {
		binary.BigEndian.PutUint64(key, uint64(i)*0x9e3779b97f4a7c15)
		binary.BigEndian.PutUint64(key[8:], uint64(i))
		if _, err := bytes.Read(value); err != nil {
			return err
		}
		if err := put(key, value); err != nil {
			return err
		}
	}
	return nil
}

// digest is one number for all entries in their order.
func digest(all iter.Seq2[[]byte, []byte]) string {
	h := xxhash.New()
	var lengths [8]byte
	n := 0
	for k, v := range all {
		binary.BigEndian.PutUint32(lengths[:4], uint32(len(k)))
		binary.BigEndian.PutUint32(lengths[4:], uint32(len(v)))
		_, _ = h.Write(lengths[:]) // a hash takes everything
		_, _ = h.Write(k)
		_, _ = h.Write(v)
		n++
	}
	return fmt.Sprintf("%d entries, %016x", n, h.Sum64())
}

func (w *worker) options(s state, replicas int) client.TaskOptions {
	return client.TaskOptions{
		Owner: s.owner(), Replicas: replicas, SaveTimeout: saveTimeout, HolderTimeout: slowHolder,
		Post: func(f func()) { w.posted <- f },
	}
}

// fill writes a version of a state and commits it.
func (w *worker) fill(ctx context.Context, q fillRequest) (reply, error) {
	t := w.saving[q.Task]
	done := make(chan error, 1)
	tell := func(err error) { done <- err }
	if t == nil {
		o := w.options(q.state, q.Replicas)
		o.HolderTimeout, o.ShardBytes = time.Minute, int64(q.ShardKiB)<<10
		var err error
		if t, err = w.client.Task(o); err != nil {
			return reply{}, err
		}
		w.saving[q.Task] = t
		t.Load(0, 1, tell)
		if err := w.await(ctx, done, nothing); err != nil {
			return reply{}, err
		}
	}
	if err := q.write(q.Version, q.Share, t.Put); err != nil {
		return reply{}, err
	}
	began := time.Now()
	t.Save(shard.Version(q.Version), shard.Version(q.Version-1), 1, tell)
	if err := w.await(ctx, done, nothing); err != nil {
		return reply{}, err
	}
	took := time.Since(began).Seconds()
	topology := q.owner().Topology
	was, err := w.client.Record(ctx, topology)
	if err != nil {
		return reply{}, err
	}
	next := protocol.Record{Committed: shard.Version(q.Version), Last: 1, Claimant: was.Claimant}
	written, err := w.client.Swap(ctx, topology, was, next)
	if err != nil || !written {
		return reply{}, fmt.Errorf("the commit record was not written: %w", err)
	}
	if err := t.Committed(shard.Version(q.Version)); err != nil {
		return reply{}, err
	}
	return reply{Digest: digest(t.All(nil)), Stored: t.Report().Checkpoint.Stored, Took: took}, nil
}

// load brings a state back, measures that, and tells what came.
func (w *worker) load(ctx context.Context, q loadRequest) (reply, error) {
	began, c := time.Now(), w.client
	if q.First {
		var err error
		if c, err = w.dial(); err != nil {
			return reply{}, err
		}
		defer c.Close()
	}
	o := w.options(q.state, q.Replicas)
	o.Mode, o.Params, o.OnDemand = q.Mode, q.Params, q.First
	t, err := c.Task(o)
	if err != nil {
		return reply{}, err
	}
	defer t.Close()
	done := make(chan error, 1)
	t.Load(shard.Version(q.Version), shard.Epoch(q.Epoch), func(err error) { done <- err })
	marked := q.Mark == 0
	err = w.await(ctx, done, func() error {
		if r := t.Report().Recoveries; !marked && len(r) > 0 && float64(r[0].Installed) >= q.Mark*float64(max(r[0].Shards, 1)) {
			marked = true
			return w.say(reply{Mark: true, Sent: senders(r[0])})
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	a := reply{}
	if q.First {
		key := make([]byte, keyBytes) // that of entry 0
		if _, ok := t.Get(key); !ok {
			return reply{}, fmt.Errorf("the key that every state has did not come back")
		}
	}
	a.Took = time.Since(began).Seconds()
	a.Digest = digest(t.All(nil))
	entries := t.Report().Recoveries
	if len(entries) == 0 {
		return reply{}, fmt.Errorf("there is no report of the recovery")
	}
	a.Entry = &entries[len(entries)-1]
	return a, nil
}

// senders are those who sent something, most first.
func senders(r protocol.Recovery) []string {
	slices.SortFunc(r.Sources, func(a, b sr3.Source) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Node, b.Node))
	})
	var ids []string
	for _, s := range r.Sources {
		ids = append(ids, string(s.Node))
	}
	return ids
}

// fetchPlain fetches bytes into memory over plain connections.
func fetchPlain(ctx context.Context, q floorRequest) (reply, error) {
	began := time.Now()
	g, ctx := errgroup.WithContext(ctx)
	var dialer net.Dialer
	for i := range q.Connections {
		g.Go(func() error {
			share := q.Bytes*int64(i+1)/int64(q.Connections) - q.Bytes*int64(i)/int64(q.Connections)
			c, err := dialer.DialContext(ctx, "tcp", q.Addr)
			if err != nil {
				return err
			}
			defer c.Close()
			if err := json.NewEncoder(c).Encode(map[string]int64{"Bytes": share}); err != nil {
				return err
			}
			_, err = io.ReadFull(c, make([]byte, share))
			return err
		})
	}
	err := g.Wait()
	return reply{Took: time.Since(began).Seconds()}, err
}
