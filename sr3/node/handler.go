package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/store"
	"github.com/stormring/stormring/sr3/transport"
)

// What requests can be besides wrong in ways that package store knows.
var (
	errInvalid     = errors.New("the request makes no sense")
	errUnavailable = errors.New("not possible now")
)

func invalid(err error) error { return fmt.Errorf("%w: %w", errInvalid, err) }

// server is the node as the transport calls it.
type server struct {
	node  *Node
	ready chan struct{} // closed when the node can be asked
}

// Call answers a call.
func (s *server) Call(ctx context.Context, method byte, request []byte) ([]byte, error) {
	if err := s.wait(ctx); err != nil {
		return nil, remote(err)
	}
	reply, err := s.node.answer(ctx, method, request)
	return reply, remote(err)
}

// Stream serves a stream.
func (s *server) Stream(ctx context.Context, st *transport.Stream, method byte, header []byte) error {
	if err := s.wait(ctx); err != nil {
		return remote(err)
	}
	switch method {
	case protocol.PutObjects:
		return remote(s.node.takeObjects(ctx, st, header))
	case protocol.FetchShards:
		return remote(s.node.serveShards(ctx, st, header))
	case protocol.FetchObject:
		return remote(s.node.serveObject(ctx, st, header))
	default:
		return remote(fmt.Errorf("%w: stream of method %d, which is unknown: is the caller of another release?", errInvalid, method))
	}
}

// Message takes a message of the ring.
func (s *server) Message(payload []byte) {
	select {
	case <-s.ready:
		s.node.circle.receive(payload)
	default: // it comes again
	}
}

func (s *server) wait(ctx context.Context) error {
	select {
	case <-s.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// remote gives an error the code by which the caller knows what to do.
func remote(err error) error {
	if err == nil {
		return nil
	}
	code := uint16(0)
	for _, c := range []struct {
		err  error
		code uint16
	}{
		{store.ErrFenced, protocol.CodeFenced},
		{store.ErrNotFound, protocol.CodeNotFound},
		{store.ErrDamaged, protocol.CodeNotFound},
		{store.ErrConflict, protocol.CodeConflict},
		{store.ErrFull, protocol.CodeFull},
		{errInvalid, protocol.CodeInvalid},
		{shard.ErrDamaged, protocol.CodeInvalid},
		{errUnavailable, protocol.CodeUnavailable},
		{errClosed, protocol.CodeUnavailable},
		{context.Canceled, protocol.CodeUnavailable},
		{context.DeadlineExceeded, protocol.CodeUnavailable},
	} {
		if errors.Is(err, c.err) {
			code = c.code
			break
		}
	}
	return &transport.RemoteError{Code: code, Text: err.Error()}
}

// ask decodes a request, has it answered, and encodes the answer.
func ask[Q, A any](ctx context.Context, request []byte, answer func(context.Context, Q) (A, error)) ([]byte, error) {
	var q Q
	if len(request) > 0 {
		if err := protocol.Decode(request, &q); err != nil {
			return nil, invalid(err)
		}
	}
	a, err := answer(ctx, q)
	if err != nil {
		return nil, err
	}
	return protocol.Encode(a), nil
}

// nothing is an empty request or answer.
type nothing struct{}

func (n *Node) answer(ctx context.Context, method byte, request []byte) ([]byte, error) {
	switch method {
	case protocol.GetView:
		return ask(ctx, request, n.getView)
	case protocol.Fence:
		return ask(ctx, request, n.fence)
	case protocol.ListManifests:
		return ask(ctx, request, n.listManifests)
	case protocol.GetManifest:
		return n.getManifest(ctx, request)
	case protocol.PutManifest:
		return nil, n.putManifest(ctx, request)
	case protocol.Have:
		return ask(ctx, request, n.have)
	case protocol.HaveObjects:
		return ask(ctx, request, n.haveObjects)
	case protocol.Fold:
		return ask(ctx, request, n.fold)
	case protocol.Offer:
		return ask(ctx, request, n.offered)
	case protocol.Vouch:
		return ask(ctx, request, n.vouch)
	case protocol.Hello:
		return ask(ctx, request, n.hello)
	case protocol.GetRecord:
		return ask(ctx, request, n.getRecord)
	case protocol.SwapRecord:
		return ask(ctx, request, n.swapRecord)
	case protocol.PutReport:
		return ask(ctx, request, n.reports.put)
	case protocol.GetStatus:
		return ask(ctx, request, func(context.Context, nothing) (protocol.NodeStatus, error) { return n.Status(), nil })
	case protocol.LookupKey:
		return ask(ctx, request, n.lookup)
	case protocol.GetReports:
		return ask(ctx, request, n.reports.get)
	default:
		return nil, fmt.Errorf("%w: method %d is unknown: is the caller of another release?", errInvalid, method)
	}
}

func (n *Node) getView(context.Context, nothing) (protocol.View, error) {
	p := n.circle.now.Load()
	if !p.joined { // or a state would be saved here alone
		return protocol.View{Self: n.Self()}, nil
	}
	return protocol.View{Self: n.Self(), Nodes: p.view.Nodes(), Complete: p.complete}, nil
}

func (n *Node) lookup(ctx context.Context, q protocol.LookupRequest) (protocol.LookupAnswer, error) {
	key := q.Key
	if q.Name != "" {
		key = ring.Key([]byte(q.Name))
	}
	if !n.circle.now.Load().finds {
		return protocol.LookupAnswer{}, fmt.Errorf("%w: this node has yet to meet the others; ask one of them", errUnavailable)
	}
	e, err := n.circle.lookup(ctx, key)
	if err != nil {
		return protocol.LookupAnswer{}, err
	}
	if e.Kind != ring.Found {
		return protocol.LookupAnswer{}, fmt.Errorf("%w: the lookup of %016x came to no end; %d nodes answered", errUnavailable, key, len(e.Path))
	}
	return protocol.LookupAnswer{Key: key, Path: e.Path, Nodes: e.Successors}, nil
}

func (n *Node) fence(ctx context.Context, q protocol.FenceRequest) (nothing, error) {
	if q.Epoch == n.store.Fenced(q.Owner) {
		return nothing{}, nil
	}
	return nothing{}, n.store.Fence(ctx, q.Owner, q.Epoch)
}

func (n *Node) listManifests(_ context.Context, q protocol.OwnerRequest) (protocol.ManifestList, error) {
	return protocol.ManifestList{Versions: n.store.Versions(q.Owner)}, nil
}

func (n *Node) getManifest(ctx context.Context, request []byte) ([]byte, error) {
	var q protocol.VersionRequest
	if err := protocol.Decode(request, &q); err != nil {
		return nil, invalid(err)
	}
	m, err := n.stored(ctx, q)
	if err != nil {
		return nil, err
	}
	return m.Encode()
}

// stored is the manifest of a version that is here; version 0 is the committed one.
func (n *Node) stored(ctx context.Context, q protocol.VersionRequest) (*shard.Manifest, error) {
	if q.Version == 0 {
		r, err := n.getRecord(ctx, protocol.TopologyRequest{Topology: q.Owner.Topology})
		if err != nil {
			return nil, err
		}
		q.Version = r.Committed
	}
	return n.manifests.get(q.Owner, q.Version)
}

func (n *Node) putManifest(ctx context.Context, request []byte) error {
	m, err := shard.DecodeManifest(request)
	if err != nil {
		return invalid(err)
	}
	return n.store.PutManifest(ctx, m)
}

// have serves Have. A node that died between objects and manifest has what a recovery
// needs, and is asked in vain if it does not look for the manifest elsewhere.
func (n *Node) have(ctx context.Context, q protocol.VersionRequest) (protocol.HaveAnswer, error) {
	m, err := n.stored(ctx, q)
	if errors.Is(err, store.ErrNotFound) && q.Version != 0 && len(n.store.Objects(q.Owner)) > 0 {
		if found, elsewhere := n.findManifest(ctx, q.Owner, q.Version); elsewhere == nil {
			m, err = found, nil
		}
	}
	if err != nil {
		return protocol.HaveAnswer{}, err
	}
	var folded map[shard.ObjectID]shard.Ref
	a := protocol.HaveAnswer{Spans: []protocol.Span{}, Streams: int(n.recoveries.Load()), Link: n.word()}
	for i, chain := range m.Shards {
		whole := true
		for first := 0; first < len(chain); {
			until := first
			for until < len(chain) && n.store.Has(chain[until]) {
				until++
			}
			if until > first {
				a.Spans = append(a.Spans, protocol.Span{Shard: i, First: first, Until: until})
			}
			whole = whole && until == len(chain)
			first = until + 1
		}
		if whole {
			continue
		}
		if folded == nil {
			folded = n.bases(q.Owner)
		}
		// A base that was folded of the chain's beginning stands for it.
		if short := shorten(folded, chain); len(short) < len(chain) {
			a.Spans = append(a.Spans, protocol.Span{Shard: i, First: 0, Until: len(chain) - len(short) + 1})
		}
	}
	return a, nil
}

func (n *Node) haveObjects(_ context.Context, q protocol.Refs) (protocol.HaveObjectsAnswer, error) {
	a := protocol.HaveObjectsAnswer{Have: make([]bool, len(q.Refs))}
	for i, r := range q.Refs {
		a.Have[i] = n.store.Has(r)
	}
	return a, nil
}

func (n *Node) getRecord(ctx context.Context, q protocol.TopologyRequest) (protocol.Record, error) {
	r, err := n.cfg.Records.Get(ctx, q.Topology)
	if err != nil {
		return protocol.Record{}, fmt.Errorf("%w: the commit record of %s: %w", errUnavailable, q.Topology, err)
	}
	n.commits.heard(q.Topology, r.Committed)
	return r, nil
}

func (n *Node) swapRecord(ctx context.Context, q protocol.SwapRequest) (protocol.SwapAnswer, error) {
	written, err := n.cfg.Records.Swap(ctx, q.Topology, q.Expect, q.Next)
	if err != nil {
		return protocol.SwapAnswer{}, fmt.Errorf("%w: writing the commit record of %s: %w", errUnavailable, q.Topology, err)
	}
	if written {
		n.commits.heard(q.Topology, q.Next.Committed)
	}
	return protocol.SwapAnswer{Written: written}, nil
}
