package client

import (
	"context"
	"fmt"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

const (
	// hedge is how long the first to be asked may take before others are asked too.
	hedge = 50 * time.Millisecond
	// Between attempts to find a manifest: doubled each time.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 2 * time.Second
	// sayEvery is how often people are told what is waited for.
	sayEvery = 10 * time.Second
)

// find brings the manifest of the version, whatever time it takes; nil if the load
// has ended.
func (l *loading) find() *shard.Manifest {
	t := l.t
	wait, patience := firstRetry, t.o.HolderTimeout
	var said time.Time
	for {
		m, err := l.lookFor(patience)
		patience = longer(patience)
		if m != nil || l.ctx.Err() != nil {
			return m
		}
		if now := time.Now(); said.IsZero() || now.Sub(said) >= sayEvery {
			said = now
			l.entry.waitFor(fmt.Sprintf("the manifest of version %d: %v", l.version, err))
			t.c.cfg.Log.Warn("no node has the manifest of the committed version; waiting for one that does",
				"owner", t.o.Owner.String(), "version", int64(l.version), "error", err)
		}
		t.c.views.kick()
		select {
		case <-l.ctx.Done():
			return nil
		case <-time.After(wait):
			wait = min(2*wait, lastRetry)
		}
	}
}

// mostPatience is for how long a node is waited for at most that was too slow before:
// it may be the only one that has what is wanted.
const mostPatience = time.Minute

// longer is the patience after one that was too short.
func longer(patience time.Duration) time.Duration {
	return max(patience, min(2*patience, mostPatience))
}

// lookFor asks the nodes where manifests belong, and then all, and waits for so long.
func (l *loading) lookFor(patience time.Duration) (*shard.Manifest, error) {
	t := l.t
	p, err := t.c.views.get(l.ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(l.ctx, patience)
	defer cancel()
	likely, err := t.c.holders(ctx, p, t.o.Owner.Hash(), t.o.Replicas)
	if err != nil {
		return nil, err
	}
	type answer struct {
		m   *shard.Manifest
		err error
	}
	answers := make(chan answer)
	ask := func(nodes []ring.Node) {
		each(nodes, func(n ring.Node) {
			m, err := l.manifestFrom(ctx, n)
			select {
			case answers <- answer{m, err}:
			case <-ctx.Done():
			}
		})
	}
	rest := p.others(likely)
	t.wg.Go(func() { ask(likely) })
	open, later := len(likely), time.After(hedge)
	err = fmt.Errorf("no node is on the ring")
	for {
		if open == 0 && rest != nil {
			later = nil
			open += len(rest)
			nodes := rest
			rest = nil
			t.wg.Go(func() { ask(nodes) })
		}
		if open == 0 {
			return nil, err
		}
		select {
		case a := <-answers:
			if a.err == nil {
				return a.m, nil
			}
			err = a.err
			open--
		case <-later:
			later = nil
			open += len(rest)
			nodes := rest
			rest = nil
			t.wg.Go(func() { ask(nodes) })
		case <-ctx.Done():
			return nil, fmt.Errorf("nodes did not answer for %v, others said: %w", patience, err)
		}
	}
}

// manifestFrom asks one node.
func (l *loading) manifestFrom(ctx context.Context, n ring.Node) (*shard.Manifest, error) {
	t := l.t
	body, err := t.c.raw(ctx, n.Addr, protocol.GetManifest, protocol.Encode(protocol.VersionRequest{Owner: t.o.Owner, Version: l.version}))
	if err != nil {
		return nil, err
	}
	m, err := shard.DecodeManifest(body)
	if err != nil {
		return nil, fmt.Errorf("manifest from %s: %w", n.ID, err)
	}
	if m.Owner != t.o.Owner || m.Version != l.version {
		return nil, fmt.Errorf("manifest from %s: it is of %v version %d", n.ID, m.Owner, m.Version)
	}
	return m, nil
}
