package election

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// Why a term ends.
var (
	errResigned = errors.New("it has resigned")
	errUnheard  = errors.New("the store has not confirmed its znode in time")
)

// lead is a term: it lasts until the znode is gone, the store is unreachable,
// the owner resigns, ctx or the session is over. It returns which.
func (l *Latch) lead(ctx context.Context, path string) error {
	asked := l.cfg.Clock.Now()
	_, _, own, err := l.cfg.Session.GetW(ctx, path)
	if errors.Is(err, coord.ErrNoNode) {
		return errGone
	}
	if err != nil {
		return err
	}
	// The store has heard of us no earlier than when we asked: until its
	// time-out from then on nobody else is first.
	until := asked.Add(l.timeout)
	if !l.cfg.Clock.Now().Before(until) {
		return errUnheard
	}
	resigned := l.begin(path, until)
	l.cfg.Logger.Info("this nimbus is the leader", "id", l.cfg.ID, "znode", path)
	err = l.reign(ctx, path, until, own, resigned)
	l.cfg.Logger.Info("this nimbus is the leader no more", "id", l.cfg.ID, "znode", path, "reason", err)
	return err
}

// reign keeps a term that has begun alive, ends it and returns why.
func (l *Latch) reign(ctx context.Context, path string, until time.Time, own <-chan coord.Event, resigned <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	pulse := l.cfg.Clock.NewTimer(l.timeout / pulses)
	defer pulse.Stop()
	unheard := l.cfg.Clock.NewTimer(until.Sub(l.cfg.Clock.Now()))
	defer unheard.Stop()
	var asked time.Time
	answers := make(chan error, 1)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	defer l.end() // before the pulse is awaited
	for {
		select {
		case <-pulse.C():
			asked = l.cfg.Clock.Now()
			asking.Go(func() { answers <- l.confirmed(ctx, path) })
		case err := <-answers:
			if err != nil {
				return err
			}
			until := asked.Add(l.timeout)
			l.confirm(until)
			unheard.Reset(until.Sub(l.cfg.Clock.Now()))
			pulse.Reset(l.timeout / pulses)
		case <-unheard.C():
			return errUnheard
		case e := <-own:
			switch e.Type {
			case coord.EventNodeDeleted:
				return errGone
			case coord.EventNotWatching:
				return e.Err
			default: // somebody wrote to it; the pulse will see to it from now on
				own = nil
			}
		case <-resigned:
			return errResigned
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// confirmed asks whether the znode is there.
func (l *Latch) confirmed(ctx context.Context, path string) error {
	there, _, err := l.cfg.Session.Exists(ctx, path)
	if err == nil && !there {
		return errGone
	}
	return err
}
