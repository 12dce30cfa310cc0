package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/store"
	"github.com/stormring/stormring/sr3/transport"
)

// route is how one ordered part comes about: of what this node has, and of what
// comes from the nodes behind it.
type route struct {
	order recovery.Order
	own   []recovery.Part
	below []behind
	join  *join // if it is of several
}

// behind is a part that comes from the flow of this index in Flow.From.
type behind struct {
	from int
	part recovery.Part
}

// routes says how each order comes about. A leaf reads all itself.
func routes(flow *recovery.Flow, orders []recovery.Order) ([]*route, error) {
	out := make([]*route, 0, len(orders))
	seen := make(map[span]bool, len(orders))
	for _, o := range orders {
		if seen[spanOf(o.Part)] {
			return nil, fmt.Errorf("part %v is ordered twice", spanOf(o.Part))
		}
		seen[spanOf(o.Part)] = true
		r := &route{order: o}
		out = append(out, r)
		if flow == nil || len(flow.From) == 0 {
			r.own = []recovery.Part{o.Part}
			continue
		}
		if err := r.gather(flow); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// gather finds the parts that make up the order; together they must be just that.
func (r *route) gather(flow *recovery.Flow) error {
	within := func(p recovery.Part) bool {
		o := r.order.Part
		return p.Shard == o.Shard && p.First >= o.First && p.Until <= o.Until
	}
	var all []recovery.Part
	for _, p := range flow.Own {
		if within(p) {
			r.own, all = append(r.own, p), append(all, p)
		}
	}
	for i, from := range flow.From {
		for _, p := range from.Sends {
			if within(p) {
				r.below, all = append(r.below, behind{i, p}), append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b recovery.Part) int { return cmp.Compare(a.First, b.First) })
	at := r.order.Part.First
	for _, p := range all {
		if p.First != at {
			break
		}
		at = p.Until
	}
	if at != r.order.Part.Until || all[len(all)-1].Until != at {
		return fmt.Errorf("part %v is ordered, but the flow has only %v of it", spanOf(r.order.Part), all)
	}
	if len(all) > 1 {
		r.join = &join{missing: len(all), parts: make(map[int][]byte)}
	}
	return nil
}

// serving is one stream of shards that this node serves.
type serving struct {
	node   *Node
	header protocol.FetchHeader
	out    *outlet
	routes []*route
	// manifest is nil if it is not here; then the node lacks all its own parts.
	manifest *shard.Manifest
	// bases are the owner's that are here, among them those folded of chains.
	bases map[shard.ObjectID]shard.Ref

	// children are the streams from behind, by index in Flow.From; nil if nothing
	// of one is needed.
	children []*child

	group   *errgroup.Group // all that runs for the stream
	joining chan struct{}   // held by the joins that run

	mu sync.Mutex // guards the joins
}

// serveShards serves FetchShards.
func (n *Node) serveShards(ctx context.Context, s *transport.Stream, head []byte) error {
	n.recoveries.Add(1)
	defer n.recoveries.Add(-1)
	t := &serving{node: n, out: newOutlet(s)}
	if err := t.begin(ctx, s, head); err != nil {
		return err
	}
	if t.header.Urgent {
		s.Hurry()
	}
	release := n.store.Hold(t.needs()...)
	defer release()

	ctx, cancel := context.WithCancelCause(ctx)
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		t.listen(ctx, s, cancel)
	}()
	g, work := errgroup.WithContext(ctx)
	t.group, t.joining = g, make(chan struct{}, joinsAtOnce)
	g.Go(func() error { return t.sendOwn(work) })
	for _, c := range t.children {
		g.Go(func() error { return c.run(work) })
	}
	err := g.Wait()
	for _, r := range t.routes {
		t.fail(r)
	}
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	cancel(nil)
	<-listened
	return err
}

// begin reads the header and finds out what is to be done.
func (t *serving) begin(ctx context.Context, s *transport.Stream, head []byte) error {
	rest, err := protocol.HeaderRest(head)
	if err != nil {
		return invalid(err)
	}
	if rest > 0 {
		head = nil
		for len(head) < rest {
			m, err := s.Recv(ctx)
			if err != nil {
				return fmt.Errorf("the header of a fetch: %w", err)
			}
			if len(m) == 0 || len(m) > rest-len(head) {
				return invalid(errors.New("the header of a fetch is longer than announced"))
			}
			head = append(head, m...)
		}
	}
	if err := protocol.Decode(head, &t.header); err != nil {
		return invalid(err)
	}
	if err := t.header.Check(t.node.id); err != nil {
		return invalid(err)
	}
	if t.routes, err = routes(t.header.Flow, t.header.Orders); err != nil {
		return invalid(err)
	}
	t.manifest, err = t.node.manifests.get(t.header.Owner, t.header.Version)
	reads := slices.ContainsFunc(t.routes, func(r *route) bool { return len(r.own) > 0 })
	if errors.Is(err, store.ErrNotFound) && reads {
		// Objects may be here though the manifest is not.
		t.manifest, err = t.node.findManifest(ctx, t.header.Owner, t.header.Version)
	}
	if err != nil {
		t.node.log.Debug("a fetch of a version that is not here", "owner", t.header.Owner, "version", t.header.Version, "err", err)
		t.manifest = nil
	}
	t.bases = t.node.bases(t.header.Owner)
	t.children = t.makeChildren()
	return nil
}

// needs are the objects that the node reads itself.
func (t *serving) needs() []shard.Ref {
	var refs []shard.Ref
	for _, r := range t.routes {
		for _, p := range r.own {
			chain := t.chain(p)
			refs = append(refs, chain...)
			if p.First == 0 && len(chain) > 1 {
				refs = append(refs, shorten(t.bases, chain)[0])
			}
		}
	}
	return refs
}

// chain is the run of objects that a part of the node's own consists of; nil if
// there is no such part, as far as the node knows.
func (t *serving) chain(p recovery.Part) []shard.Ref {
	if t.manifest == nil || p.Shard >= len(t.manifest.Shards) || p.Until > len(t.manifest.Shards[p.Shard]) {
		return nil
	}
	return t.manifest.Shards[p.Shard][p.First:p.Until]
}

// listen heeds what the receiver says while it is sent to.
func (t *serving) listen(ctx context.Context, s *transport.Stream, cancel context.CancelCauseFunc) {
	for {
		f, _, err := recvFrame(ctx, s, nil)
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			cancel(fmt.Errorf("the receiver is gone: %w", err))
			return
		case f.Kind == protocol.FrameSkip:
			t.skip(ctx, f.Part)
		}
	}
}

// skip stops sending a part and asks those behind not to send it either.
func (t *serving) skip(ctx context.Context, p recovery.Part) {
	t.out.skip(spanOf(p))
	for _, r := range t.routes {
		if spanOf(r.order.Part) != spanOf(p) {
			continue
		}
		t.fail(r)
		for _, b := range r.below {
			t.children[b.from].skip(ctx, b.part)
		}
	}
}

// stall is how long the receiver bears silence.
func (t *serving) stall() time.Duration {
	if ms := t.header.StallMillis; ms > 0 {
		return time.Duration(min(ms, 3_600_000)) * time.Millisecond
	}
	return 3 * time.Second
}
