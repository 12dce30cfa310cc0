package nimbus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
)

// farewell is how long the end of a session may take.
const farewell = 2 * time.Second

// term is the time of one session.
type term struct {
	n       *Nimbus
	session coord.Session
	store   *records.Store
	latch   Latch
	copies  Replicator // nil: there is but one nimbus
	reign   *reign     // guarded by n.mu; nil while it does not lead
}

// serve is one term, from the session's beginning to its end.
func (n *Nimbus) serve(ctx context.Context) (err error) {
	session, err := n.cfg.Coord.Open(ctx, n.cfg.Conf.Duration(conf.ZookeeperSessionTimeout))
	if err != nil {
		return fmt.Errorf("no session: %w", err)
	}
	t := &term{n: n, session: session, store: records.New(session, n.root)}
	defer func() {
		n.setTerm(nil)
		// Each has its own time: a session that is not closed, because the latch
		// has used it up, would live on, and its znode would be in the way of
		// this nimbus's next one.
		if t.latch != nil {
			err = errors.Join(err, bye(ctx, t.latch.Close))
		}
		err = errors.Join(err, bye(ctx, session.Close))
	}()
	if n.cfg.Replicator != nil {
		t.copies = n.cfg.Replicator(t.store)
	}
	if err := t.store.Init(ctx); err != nil {
		return err
	}
	if err := t.announce(ctx, false); err != nil {
		return err
	}
	if t.latch, err = n.cfg.Elect(session, n.root, n.ID()); err != nil {
		return err
	}
	n.setTerm(t)
	var work sync.WaitGroup
	defer work.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work.Go(func() { t.replicate(ctx) })
	return t.follow(ctx)
}

// bye ends something within the time that a farewell may take, also after ctx.
func bye(ctx context.Context, end func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	return unlessGone(end(ctx))
}

// unlessGone is err unless it only says that the session is over.
func unlessGone(err error) error {
	if gone(err) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, coord.ErrNoNode) {
		return nil
	}
	return err
}

func (n *Nimbus) setTerm(t *term) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.term = t
}

// announce writes this nimbus's record.
func (t *term) announce(ctx context.Context, leader bool) error {
	return t.store.PutNimbus(ctx, t.n.ID(), cluster.NimbusRecord{
		Host: t.n.cfg.Host, Port: t.n.cfg.Port, TLSPort: t.n.cfg.TLSPort,
		StartedSecs: t.n.started.Unix(), Leader: leader, Version: Version,
	})
}

// follow stands by, and reigns whenever it is elected. A session whose
// connection is lost is kept until a new one could be had: if the store comes
// back before the session is over this nimbus leads again at once, while a new
// one would have to wait for the end of the old.
func (t *term) follow(ctx context.Context) error {
	patience := t.n.cfg.Clock.NewTimer(t.session.Timeout())
	defer patience.Stop()
	patience.Stop()
	for {
		if fence, leads := t.latch.Term(); leads {
			err := t.lead(ctx, fence)
			if errors.Is(err, coord.ErrConnectionLoss) {
				t.n.cfg.Logger.Warn("nimbus leads no more: the coordination store cannot be reached", "error", err)
				patience.Reset(t.session.Timeout())
				err = t.n.wait(ctx, leastPause)
			}
			if err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.session.Done():
			return t.session.Err()
		case <-t.latch.Changes():
		case <-patience.C():
			if _, _, err := t.session.Exists(ctx, t.n.root); err == nil {
				continue
			} else if t.n.reachable(ctx) {
				return err
			}
			patience.Reset(t.session.Timeout())
		}
	}
}

// reachable reports whether a new session can be had.
func (n *Nimbus) reachable(ctx context.Context) bool {
	timeout := n.cfg.Conf.Duration(conf.ZookeeperSessionTimeout)
	soon, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	session, err := n.cfg.Coord.Open(soon, timeout)
	if err != nil {
		return false
	}
	if err := bye(ctx, session.Close); err != nil {
		n.cfg.Logger.Debug("a session that was opened to see whether one can be", "error", err)
	}
	return true
}

// lead is one reign. It returns nil if that is over and the session is not.
func (t *term) lead(ctx context.Context, fence coord.CheckOp) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := newReign(t, fence)
	t.n.cfg.Logger.Info("nimbus leads", "id", t.n.ID())
	t.n.replicateSoon()
	err := r.begin(ctx)
	if err == nil {
		t.setReign(r)
		err = r.run(ctx)
	}
	t.setReign(nil)
	r.end()
	if ctx.Err() != nil {
		return err
	}
	t.latch.Resign(fence)
	if errors.Is(err, ErrNotLeader) || errors.Is(err, errFenced) {
		t.n.cfg.Logger.Info("nimbus leads no more", "id", t.n.ID(), "reason", err)
		return t.announce(ctx, false)
	}
	return err
}

func (t *term) setReign(r *reign) {
	t.n.mu.Lock()
	defer t.n.mu.Unlock()
	t.reign = r
}

// again is how soon blobs are copied again after that has failed.
const again = 10 * time.Second

// replicate keeps blobs in line with other nimbuses, on its own since it may
// take long: now and then, and as soon as there are others.
func (t *term) replicate(ctx context.Context) {
	if t.copies == nil {
		return
	}
	var news <-chan coord.Event
	for ctx.Err() == nil {
		if news == nil {
			// Without a watch it is done now and then all the same.
			_, _, news, _ = t.session.ChildrenW(ctx, t.n.root+"/blobstore")
		}
		pause := t.n.cfg.Conf.Duration(conf.NimbusCodeSyncSecs)
		_, err := t.copies.Sync(ctx)
		switch {
		case err == nil:
			t.wakeReign()
		case !gone(err):
			pause = min(pause, again)
			t.n.cfg.Logger.Warn("blobs of other nimbuses could not be copied; it is tried again", "error", err, "after", pause)
		}
		timer := t.n.cfg.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C():
		case <-t.n.sync:
		case <-news:
			news = nil
		}
		timer.Stop()
	}
}

// wakeReign lets the leader look again, if this nimbus leads: blobs that were
// missing may be there.
func (t *term) wakeReign() {
	t.n.mu.Lock()
	r := t.reign
	t.n.mu.Unlock()
	if r != nil {
		r.wakeUp()
	}
}

// replicateSoon lets blobs be copied without waiting for the next time.
func (n *Nimbus) replicateSoon() {
	select {
	case n.sync <- struct{}{}:
	default:
	}
}
