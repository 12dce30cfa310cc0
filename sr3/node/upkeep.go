package node

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/upkeep"
)

// maxJobs is how many actions of upkeep are under way at once.
const maxJobs = 32

// upkeeper is the goroutine that has package upkeep decide, and what others may
// tell it meanwhile.
type upkeeper struct {
	node  *Node
	woken chan struct{}
	pace  *pace

	mu      sync.Mutex // guards the rest
	keeper  *upkeep.Keeper
	noted   time.Duration // when something that failed was last logged
	greeted map[shard.NodeID]bool
	// partial is since when this node has not known the whole ring, -1 if it does;
	// warned, that this was said.
	partial time.Duration
	warned  bool
}

func (u *upkeeper) init(n *Node) error {
	u.node, u.woken, u.pace = n, make(chan struct{}, 1), newPace(n.cfg.RepairRate)
	u.greeted, u.partial = make(map[shard.NodeID]bool), -1
	c := upkeep.Default()
	every := n.cfg.UpkeepEvery
	c.Grace, c.RepairDelay = n.cfg.Grace, n.cfg.RepairDelay
	c.Believe = min(c.Believe, c.Grace/2)
	c.Promise = min(c.Promise, c.Grace)
	c.Retry, c.RetryMax, c.OfferEvery, c.Step = every*5/2, 60*every, 300*every, 5*every
	var err error
	u.keeper, err = upkeep.New(c)
	return err
}

// wake has it look soon.
func (u *upkeeper) wake() {
	select {
	case u.woken <- struct{}{}:
	default:
	}
}

// run is the goroutine.
func (u *upkeeper) run(ctx context.Context) {
	var jobs errgroup.Group
	jobs.SetLimit(maxJobs)
	defer func() { _ = jobs.Wait() }() // jobs end with ctx; they return no errors
	ticker := time.NewTicker(u.node.cfg.UpkeepEvery)
	defer ticker.Stop()
	// What wakes it often must not keep it busy.
	rest := time.NewTicker(max(u.node.cfg.UpkeepEvery/8, time.Millisecond))
	defer rest.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-u.woken:
		case <-u.node.circle.turned:
		}
		u.greet(ctx, &jobs)
		for _, a := range u.decide() {
			u.do(ctx, &jobs, a)
		}
	}
}

// greet says once to every node that this one has started: the ring does not tell
// others of a node that was away for a moment only, but its disk may be another.
func (u *upkeeper) greet(ctx context.Context, jobs *errgroup.Group) {
	if !u.node.circle.now.Load().joined {
		return
	}
	for id := range u.node.circle.now.Load().addrs {
		u.mu.Lock()
		known := u.greeted[id]
		u.greeted[id] = true
		u.mu.Unlock()
		if known || id == u.node.id {
			continue
		}
		jobs.Go(func() error {
			var done nothing
			err := u.node.call(ctx, id, protocol.Hello, protocol.HelloRequest{From: u.node.id}, &done)
			if err != nil {
				u.mu.Lock()
				delete(u.greeted, id) // once more with the next look
				u.mu.Unlock()
			}
			u.note(ctx, err)
			return nil
		})
	}
}

// hello serves Hello.
func (n *Node) hello(_ context.Context, q protocol.HelloRequest) (nothing, error) {
	n.upkeep.joined(q.From)
	return nothing{}, nil
}

// decide takes stock and asks what to do.
func (u *upkeeper) decide() []upkeep.Action {
	inv := u.node.inventory()
	p := u.node.circle.now.Load()
	now := u.node.circle.clock().Milliseconds()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.warn(p)
	return u.keeper.Decide(now, inv, upkeep.Ring{View: p.view, Complete: p.complete}, u.node.commits.committed)
}

// partialFor is how many looks a node may not know the whole ring before that is said.
const partialFor = 60

// warn says once that copies are not made anew, since nobody can tell where they
// belong. mu is held.
func (u *upkeeper) warn(p *picture) {
	now := u.node.circle.clock()
	switch {
	case p.complete || !p.joined:
		u.partial = -1
	case u.partial < 0:
		u.partial = now
	case now-u.partial > partialFor*u.node.cfg.UpkeepEvery && !u.warned:
		u.warned = true
		u.node.cfg.Log.Error("this node does not know the whole ring, so that lost copies of state are not made anew; make several clusters if there are more nodes than the limit",
			"known", p.view.Len(), "limit", u.node.cfg.Ring.FullView)
	}
}

// inventory is what the disk has.
func (n *Node) inventory() upkeep.Inventory {
	inv := upkeep.Inventory{Self: n.id}
	there := make(map[manifestKey]bool)
	for _, o := range n.store.Owners() {
		s := upkeep.Stock{Owner: o, Fence: n.store.Fenced(o), Objects: n.store.Objects(o)}
		for _, v := range n.store.Versions(o) {
			m, err := n.manifests.get(o, v)
			if err != nil {
				continue // it is damaged, or went meanwhile
			}
			s.Manifests = append(s.Manifests, m)
			there[manifestKey{o, v}] = true
		}
		inv.Owners = append(inv.Owners, s)
	}
	n.manifests.keep(there)
	return inv
}

// do performs one action; what takes time goes on by itself.
func (u *upkeeper) do(ctx context.Context, jobs *errgroup.Group, a upkeep.Action) {
	n := u.node
	job := func(run func() error) {
		jobs.Go(func() error {
			err := run()
			u.mu.Lock()
			u.keeper.Ended(a, err == nil)
			u.mu.Unlock()
			u.note(ctx, err)
			u.wake()
			return nil
		})
	}
	switch a := a.(type) {
	case upkeep.FetchManifest:
		job(func() error { return n.bringManifest(ctx, a) })
	case upkeep.FetchObject:
		job(func() error { return n.bringObject(ctx, a) })
	case upkeep.Fold:
		job(func() error {
			_, err := n.foldChain(ctx, a.Chain)
			return err
		})
	case upkeep.Offer:
		job(func() error { return n.offer(ctx, a) })
	case upkeep.AskHave:
		for _, id := range a.Of {
			jobs.Go(func() error {
				u.note(ctx, u.askHave(ctx, a, id))
				return nil
			})
		}
	case upkeep.DeleteObjects:
		u.note(ctx, n.store.Delete(ctx, a.Refs...))
	case upkeep.DeleteManifest:
		u.note(ctx, n.store.DeleteManifest(ctx, a.Owner, a.Version))
	case upkeep.DropOwner:
		u.note(ctx, n.store.DropOwner(ctx, a.Owner))
		n.log.Info("dropped the state of a task whose topology is gone", "owner", a.Owner)
	}
}

// noteEvery is how often at most it is logged that something was not possible: a
// node that is away is so for many things.
const noteEvery = 10 * time.Second

// note logs what failed. It is tried again, and the status counts what is missing.
func (u *upkeeper) note(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	now := u.node.circle.clock()
	u.mu.Lock()
	loud := u.noted == 0 || now-u.noted >= noteEvery
	if loud {
		u.noted = now
	}
	u.mu.Unlock()
	level := slog.LevelDebug
	if loud {
		level = slog.LevelInfo
	}
	u.node.log.Log(ctx, level, "upkeep: not done yet, tried again later", "err", err)
}

func (u *upkeeper) joined(id shard.NodeID) {
	u.mu.Lock()
	u.keeper.Joined(id)
	u.mu.Unlock()
	u.wake()
}

func (u *upkeeper) health() upkeep.Health {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.keeper.Health()
}

// offered serves Offer.
func (n *Node) offered(_ context.Context, q protocol.OfferRequest) (nothing, error) {
	n.upkeep.mu.Lock()
	n.upkeep.keeper.Offered(q.From, q.Owner, q.Version)
	n.upkeep.mu.Unlock()
	n.upkeep.wake()
	return nothing{}, nil
}

// vouch serves Vouch.
func (n *Node) vouch(_ context.Context, q protocol.VouchRequest) (protocol.VouchAnswer, error) {
	n.upkeep.mu.Lock()
	manifest, have := n.upkeep.keeper.Vouch(q.From, q.Owner, q.Version, q.Refs)
	n.upkeep.mu.Unlock()
	vouched := make(map[shard.ObjectID]bool, len(have))
	for i := range have {
		vouched[have[i].ObjectID] = true
	}
	a := protocol.VouchAnswer{Manifest: manifest, Have: make([]bool, len(q.Refs))}
	for i, r := range q.Refs {
		// What was here at the last look may be damaged by now.
		a.Have[i] = vouched[r.ObjectID] && n.store.Has(r)
	}
	return a, nil
}

// askHave asks another node to vouch.
func (u *upkeeper) askHave(ctx context.Context, a upkeep.AskHave, id shard.NodeID) error {
	var answer protocol.VouchAnswer
	q := protocol.VouchRequest{From: u.node.id, Owner: a.Owner, Version: a.Version, Refs: a.Refs}
	if err := u.node.call(ctx, id, protocol.Vouch, q, &answer); err != nil {
		return err
	}
	if len(answer.Have) != len(a.Refs) {
		return fmt.Errorf("node %s answers for %d objects where %d were asked for", id, len(answer.Have), len(a.Refs))
	}
	var have []shard.Ref
	for i, yes := range answer.Have {
		if yes {
			have = append(have, a.Refs[i])
		}
	}
	u.mu.Lock()
	u.keeper.Had(a, id, answer.Manifest, have)
	u.mu.Unlock()
	return nil
}

// offer tells another node of a version.
func (n *Node) offer(ctx context.Context, a upkeep.Offer) error {
	var done nothing
	return n.call(ctx, a.To, protocol.Offer, protocol.OfferRequest{Owner: a.Owner, Version: a.Version, From: n.id}, &done)
}
