package worker

import (
	"context"
	"errors"
	"sync"

	"github.com/stormring/stormring/worker/transport"
)

// Unplaced is the worker of an executor that runs nowhere at present. Whoever
// sends to it waits until it does.
const Unplaced = -1

// route is the way to an executor of another worker. Which worker that is may
// change while this one runs: Worker.Replace.
type route struct {
	mu      sync.Mutex
	peer    *transport.Peer // nil while the executor is unplaced
	changed chan struct{}   // closed at the next change
}

func newRoute(peer *transport.Peer) *route {
	return &route{peer: peer, changed: make(chan struct{})}
}

// lead makes the route lead to peer.
func (r *route) lead(peer *transport.Peer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.peer = peer
	close(r.changed)
	r.changed = make(chan struct{})
}

// now is the present peer; nil if there is none.
func (r *route) now() *transport.Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.peer
}

// get is the present peer, for which it waits.
func (r *route) get(ctx context.Context) (*transport.Peer, error) {
	for {
		r.mu.Lock()
		peer, changed := r.peer, r.changed
		r.mu.Unlock()
		if peer != nil {
			return peer, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// send calls do with the present peer, and again if that was replaced
// meanwhile.
func (r *route) send(ctx context.Context, do func(*transport.Peer) error) error {
	for {
		peer, err := r.get(ctx)
		if err != nil {
			return err
		}
		err = do(peer)
		if !errors.Is(err, transport.ErrClosed) || r.now() == peer {
			return err
		}
	}
}

// Replace tells where the executors of other workers run from now on; the index
// is that of the layout. What is under way to a worker that nothing is sent to
// any more is lost, and its trees fail. This worker's own executors stay: Replace
// reports false, and does nothing, if placement wants others here.
func (w *Worker) Replace(placement []int) bool {
	for x, there := range placement {
		if (there == w.spec.Index) != (w.spec.Placement[x] == w.spec.Index) {
			return false
		}
	}
	if w.links != nil {
		w.links.replace(placement)
	}
	return true
}

func (l *links) replace(placement []int) {
	l.mu.Lock()
	used := map[*transport.Peer]bool{}
	for x, r := range l.routes {
		peer, err := l.peerLocked(placement[x])
		if err != nil {
			l.w.log.Error("no way to another worker", "worker", placement[x], "error", err)
			continue
		}
		used[peer] = true
		if r.now() != peer {
			r.lead(peer)
		}
	}
	var unused []*transport.Peer
	for worker, p := range l.peers {
		if !used[p] {
			unused = append(unused, p)
			delete(l.peers, worker)
		}
	}
	l.mu.Unlock()
	for _, p := range unused {
		p.Close()
	}
	if len(unused) > 0 {
		l.w.suspect()
	}
}

// route is the way to the executor at index x of the layout.
func (l *links) route(x int) (*route, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.routes[x]; r != nil {
		return r, nil
	}
	peer, err := l.peerLocked(l.w.spec.Placement[x])
	if err != nil {
		return nil, err
	}
	l.routes[x] = newRoute(peer)
	return l.routes[x], nil
}

// peerLocked is the connection to a worker, begun when it is first asked for;
// nil for Unplaced.
func (l *links) peerLocked(worker int) (*transport.Peer, error) {
	if worker == Unplaced {
		return nil, nil //nolint:nilnil // that is what unplaced means
	}
	if p := l.peers[worker]; p != nil {
		return p, nil
	}
	p, err := transport.NewPeer(l.config, l.network.id(worker), l.network.dialer(worker))
	if err != nil {
		return nil, err
	}
	l.peers[worker] = p
	return p, nil
}
