package inquiry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

// Config is whom to ask, and how.
type Config struct {
	// Nodes are addresses of nodes to begin with, at least one.
	Nodes []string
	// Transport is handed on.
	Transport transport.Config
	// Timeout is how long a node may take for one answer; default 3 s.
	Timeout time.Duration
	// Parallel is how many are asked at a time; default 64.
	Parallel int
	// Now is the clock that ages are counted on; default time.Now.
	Now func() time.Time
}

// hedge is how long a node may take before another is asked too.
const hedge = 250 * time.Millisecond

// ErrSilent is wrapped by the errors of those who got no answer at all.
var ErrSilent = errors.New("no node of the ring answered")

// Inquiry asks. Its methods may be called by several goroutines.
type Inquiry struct {
	cfg Config
	end *transport.Endpoint
}

// Open makes an Inquiry, without asking anybody. Close must be called in the end.
func Open(cfg Config) (*Inquiry, error) {
	if len(cfg.Nodes) == 0 {
		return nil, errors.New("ask the ring: no address of a node to begin with")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, 3*time.Second)
	cfg.Parallel = max(cmp.Or(cfg.Parallel, 64), 1)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Transport.DialTimeout = min(cmp.Or(cfg.Transport.DialTimeout, cfg.Timeout), cfg.Timeout)
	end, err := transport.Listen(cfg.Transport, "", nil)
	if err != nil {
		return nil, fmt.Errorf("ask the ring: %w", err)
	}
	return &Inquiry{cfg: cfg, end: end}, nil
}

// Close ends all connections.
func (q *Inquiry) Close() { q.end.Close() }

// Ring asks all nodes for their status. The error is that nobody answered (ErrSilent),
// or the context's.
func (q *Inquiry) Ring(ctx context.Context) (overview.Ring, error) {
	return q.crawl(ctx, func(context.Context, string, *protocol.NodeStatus) error { return nil })
}

// Topology asks all nodes what they were told of a topology's state, by its id.
func (q *Inquiry) Topology(ctx context.Context, id string) (overview.Topology, error) {
	_, t, err := q.topology(ctx, id)
	return t, err
}

func (q *Inquiry) topology(ctx context.Context, id string) (overview.Ring, overview.Topology, error) {
	var mu sync.Mutex
	var heard []overview.Heard
	r, err := q.crawl(ctx, func(ctx context.Context, addr string, s *protocol.NodeStatus) error {
		var a protocol.Reports
		if err := q.ask(ctx, addr, protocol.GetReports, protocol.TopologyRequest{Topology: id}, &a); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, overview.Heard{Node: shard.NodeID(s.Node.ID), Reports: a.Reports})
		return nil
	})
	if err != nil {
		return r, overview.Topology{}, err
	}
	return r, overview.MakeTopology(id, &r, heard, q.cfg.Now().UnixMilli()), nil
}

// Lookup has the ring searched for a position; of says to people whose that is.
func (q *Inquiry) Lookup(ctx context.Context, key uint64, of string) (overview.Lookup, error) {
	a, err := first[protocol.LookupAnswer](ctx, q, q.cfg.Nodes, protocol.LookupKey, protocol.LookupRequest{Key: key})
	if err != nil {
		return overview.Lookup{}, fmt.Errorf("look up %s: %w", of, err)
	}
	return overview.MakeLookup(a, of), nil
}

// LookupState has the ring searched for where a key of a task's state lies.
func (q *Inquiry) LookupState(ctx context.Context, o shard.Owner, key string) (overview.Lookup, error) {
	r, err := q.Ring(ctx)
	if err != nil {
		return overview.Lookup{}, err
	}
	v, err := q.committed(ctx, &r, o.Topology)
	if err != nil {
		return overview.Lookup{}, err
	}
	f := q.find(ctx, heardOf(&r), o, v)
	if f.Manifest == nil {
		if v == 0 {
			return overview.Lookup{}, fmt.Errorf("nothing of %v is committed yet", o)
		}
		return overview.Lookup{}, fmt.Errorf("no node that answered has the manifest of %v, version %v: is there such a task?", o, v)
	}
	at, s, ok := overview.FindKey(f.Manifest, []byte(key))
	if !ok {
		return overview.Lookup{}, fmt.Errorf("key %q of %v falls into slot %d, of which version %v has nothing", key, o, s.Slot, v)
	}
	s.Place(ring.NewView(r.Living()), at, f.Manifest.Replicas)
	l, err := q.Lookup(ctx, at, fmt.Sprintf("shard of slots %s of %v", s.Slots, o))
	l.State = &s
	return l, err
}

// Plans makes the plans of recoveries that the request asks for.
func (q *Inquiry) Plans(ctx context.Context, p overview.PlanRequest) (overview.Plans, error) {
	r, t, err := q.topology(ctx, p.Topology)
	if err != nil {
		return overview.Plans{}, err
	}
	v, err := q.committed(ctx, &r, p.Topology)
	if err != nil {
		return overview.Plans{}, err
	}
	nodes := heardOf(&r)
	var found []overview.Found
	for _, c := range t.Components {
		for _, k := range c.Tasks {
			o := shard.Owner{Topology: p.Topology, Component: c.Name, Task: k.Task}
			if !p.Takes(o) {
				continue
			}
			if v == 0 {
				found = append(found, overview.Found{Owner: o})
				continue
			}
			found = append(found, q.find(ctx, nodes, o, v))
		}
	}
	if err := ctx.Err(); err != nil {
		return overview.Plans{}, context.Cause(ctx)
	}
	return overview.MakePlans(p, &r, &t, found)
}

// committed is the version that the commit record of a topology names; if nobody can
// read that now, the newest that a node has heard of.
func (q *Inquiry) committed(ctx context.Context, r *overview.Ring, topology string) (shard.Version, error) {
	var addrs []string
	for _, n := range heardOf(r) {
		addrs = append(addrs, n.Addr)
	}
	rec, err := first[protocol.Record](ctx, q, addrs, protocol.GetRecord, protocol.TopologyRequest{Topology: topology})
	if err == nil {
		return rec.Committed, nil
	}
	v := shard.Version(0)
	for i := range r.Owners {
		if r.Owners[i].Topology == topology {
			v = max(v, r.Owners[i].Committed)
		}
	}
	if v == 0 || ctx.Err() != nil {
		return 0, fmt.Errorf("the commit record of %s: %w", topology, err)
	}
	return v, nil
}

// heardOf are the nodes that live and answered: others would only cost time.
func heardOf(r *overview.Ring) []ring.Node {
	answered := map[string]bool{}
	for i := range r.Nodes {
		answered[r.Nodes[i].ID] = r.Nodes[i].Answered
	}
	return slices.DeleteFunc(r.Living(), func(n ring.Node) bool { return !answered[n.ID] })
}

// find asks the nodes what they have of a version, and one of those that have its
// manifest for that.
func (q *Inquiry) find(ctx context.Context, nodes []ring.Node, o shard.Owner, v shard.Version) overview.Found {
	f := overview.Found{Owner: o, Version: v, Have: map[shard.NodeID]protocol.HaveAnswer{}, Lack: map[shard.NodeID]bool{}}
	if v == 0 {
		return f
	}
	request := protocol.VersionRequest{Owner: o, Version: v}
	addrs := map[shard.NodeID]string{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, q.cfg.Parallel)
	for _, n := range nodes {
		id := shard.NodeID(n.ID)
		addrs[id] = n.Addr
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			var a protocol.HaveAnswer
			err := q.ask(ctx, n.Addr, protocol.Have, request, &a)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				f.Have[id] = a
			} else if remote, ok := errors.AsType[*transport.RemoteError](err); ok && remote.Code == protocol.CodeNotFound {
				f.Lack[id] = true
			}
		})
	}
	wg.Wait()
	for _, id := range slices.Sorted(maps.Keys(f.Have)) {
		if m, err := q.manifest(ctx, addrs[id], request); err == nil {
			f.Manifest = m
			break
		}
	}
	return f
}

func (q *Inquiry) manifest(ctx context.Context, addr string, v protocol.VersionRequest) (*shard.Manifest, error) {
	b, err := q.raw(ctx, addr, protocol.GetManifest, v)
	if err != nil {
		return nil, err
	}
	m, err := shard.DecodeManifest(b)
	if err == nil && (m.Owner != v.Owner || m.Version != v.Version) {
		err = fmt.Errorf("the manifest from %s is of %v, version %v", addr, m.Owner, m.Version)
	}
	return m, err
}

// first gives the first good answer: the next node is asked when the one before failed,
// or is slow.
func first[A any](ctx context.Context, q *Inquiry, addrs []string, method byte, request any) (A, error) {
	type result struct {
		answer A
		err    error
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan result, len(addrs))
	ask := func(addr string) {
		var r result
		if r.err = q.ask(ctx, addr, method, request, &r.answer); r.err != nil {
			r.err = fmt.Errorf("%s: %w", addr, r.err)
		}
		results <- r
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var none A
	var causes []string
	for asked := 0; len(causes) < len(addrs); {
		var late <-chan time.Time
		if asked < len(addrs) {
			addr := addrs[asked]
			wg.Go(func() { ask(addr) })
			asked++
			late = time.After(hedge)
		}
		select {
		case r := <-results:
			if r.err == nil {
				return r.answer, nil
			}
			causes = append(causes, r.err.Error())
		case <-late:
		case <-ctx.Done():
			return none, context.Cause(ctx)
		}
	}
	return none, silence(causes)
}

// silence says that nobody answered, and why.
func silence(causes []string) error {
	const most = 3
	more := ""
	if n := len(causes) - most; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
		causes = causes[:most]
	}
	return fmt.Errorf("%w: %s%s", ErrSilent, strings.Join(causes, "; "), more)
}

// ask asks one node.
func (q *Inquiry) ask(ctx context.Context, addr string, method byte, request, answer any) error {
	b, err := q.raw(ctx, addr, method, request)
	if err != nil {
		return err
	}
	return protocol.Decode(b, answer)
}

func (q *Inquiry) raw(ctx context.Context, addr string, method byte, request any) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, q.cfg.Timeout, fmt.Errorf("no answer within %v", q.cfg.Timeout))
	defer cancel()
	var body []byte
	if request != nil {
		body = protocol.Encode(request)
	}
	b, err := q.end.Call(ctx, addr, method, body)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return b, err
}
