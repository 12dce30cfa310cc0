package election

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stormring/stormring/internal/coord"
)

// Fractions of the time for which a leader may be unheard: how often it makes
// itself heard, and how long a nimbus waits before it tries again to reach the
// store.
const (
	pulses  = 4
	retries = 10
)

// errGone is that the own znode is deleted, or never was.
var errGone = errors.New("its znode is gone")

// run takes part until ctx or the session is over.
func (l *Latch) run(ctx context.Context) {
	defer close(l.done)
	defer l.end()
	told := ""
	for tried := false; ; { // whether this candidature may have a znode
		path, err := l.enter(ctx, &tried)
		if err == nil {
			err = l.stand(ctx, path)
			tried = false // what it had is over
		}
		if !l.goOn(ctx, err) {
			return
		}
		if path != "" {
			told = ""
		} else if what := err.Error(); what != told {
			l.cfg.Logger.Warn("cannot enter the leader election; trying again", "id", l.cfg.ID, "error", err)
			told = what
		}
	}
}

// goOn waits for the next try after an error; false if there is none.
func (l *Latch) goOn(ctx context.Context, err error) bool {
	session := l.cfg.Session
	pause := time.Duration(0)
	if err != nil && !errors.Is(err, errGone) && !errors.Is(err, errResigned) {
		pause = l.timeout / retries
	}
	t := l.cfg.Clock.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-session.Done():
	case <-t.C():
	}
	switch {
	case ctx.Err() != nil:
		return false
	case session.Err() != nil:
		l.mu.Lock()
		l.err = session.Err()
		l.mu.Unlock()
		return false
	default:
		return true
	}
}

// look is the queue, and what is our own in it.
func (l *Latch) look(ctx context.Context) (all, own []place, err error) {
	names, _, err := l.cfg.Session.Children(ctx, l.lock)
	if err != nil {
		return nil, nil, err
	}
	all = queue(names)
	for _, p := range all {
		if strings.HasPrefix(p.name, l.prefix) {
			own = append(own, p)
		}
	}
	return all, own, nil
}

// enter queues up and returns the path of our znode; with an error it is empty.
// If a former try may have succeeded its znode is kept; what else is there of
// ours is deleted first.
func (l *Latch) enter(ctx context.Context, tried *bool) (string, error) {
	_, own, err := l.look(ctx)
	if errors.Is(err, coord.ErrNoNode) {
		err = l.makeLock(ctx)
	}
	if err != nil {
		return "", err
	}
	path := ""
	if *tried && len(own) > 0 {
		path, own = l.lock+"/"+own[0].name, own[1:]
	}
	if err := l.remove(ctx, own); err != nil {
		return "", err
	}
	if path != "" {
		return path, nil
	}
	*tried = true
	return l.cfg.Session.Create(ctx, l.lock+"/"+l.prefix+latchName, []byte(l.cfg.ID), coord.EphemeralSequential)
}

// makeLock creates the queue and what is above it.
func (l *Latch) makeLock(ctx context.Context) error {
	for i := 1; i <= len(l.lock); i++ {
		if i < len(l.lock) && l.lock[i] != '/' {
			continue
		}
		_, err := l.cfg.Session.Create(ctx, l.lock[:i], nil, coord.Persistent)
		if err != nil && !errors.Is(err, coord.ErrNodeExists) {
			return err
		}
	}
	return nil
}

// remove deletes places of ours.
func (l *Latch) remove(ctx context.Context, own []place) error {
	for _, p := range own {
		err := l.cfg.Session.Delete(ctx, l.lock+"/"+p.name, coord.AnyVersion)
		if err != nil && !errors.Is(err, coord.ErrNoNode) {
			return err
		}
	}
	return nil
}

// withdraw deletes all that is ours.
func (l *Latch) withdraw(ctx context.Context) error {
	_, own, err := l.look(ctx)
	if errors.Is(err, coord.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	return l.remove(ctx, own)
}

// stand waits in the queue and leads when it is our turn. It returns when the
// znode is gone or is to go, and why.
func (l *Latch) stand(ctx context.Context, path string) error {
	for {
		ahead, err := l.ahead(ctx, path)
		var gone <-chan coord.Event
		switch {
		case err != nil:
		case ahead == "":
			return l.lead(ctx, path)
		default:
			_, _, gone, err = l.cfg.Session.GetW(ctx, ahead)
		}
		switch {
		case errors.Is(err, errGone):
			return err
		case errors.Is(err, coord.ErrNoNode):
			continue // the one ahead left, or all did and with it the queue
		case err != nil:
			// Who does not lead keeps its place while the store is away.
			if !l.goOn(ctx, err) {
				return err
			}
			continue
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// ahead is the path of the znode before ours; empty if ours is the first. What
// else is ours is deleted: it came of a creation that was thought lost.
func (l *Latch) ahead(ctx context.Context, path string) (string, error) {
	all, own, err := l.look(ctx)
	if errors.Is(err, coord.ErrNoNode) {
		return "", errGone
	}
	if err != nil {
		return "", err
	}
	var others []place
	found := false
	for _, p := range own {
		if l.lock+"/"+p.name == path {
			found = true
		} else {
			others = append(others, p)
		}
	}
	if !found {
		return "", errGone
	}
	if err := l.remove(ctx, others); err != nil {
		return "", err
	}
	ahead := ""
	for _, p := range all {
		switch {
		case l.lock+"/"+p.name == path:
			return ahead, nil
		case !strings.HasPrefix(p.name, l.prefix):
			ahead = l.lock + "/" + p.name
		}
	}
	return "", errGone
}
