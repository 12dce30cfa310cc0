package localizer

import (
	"errors"
	"fmt"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// Hold keeps a topology's files: the current ones, those that come while it
// lasts, and, before the first Sweep, all that are there, since a worker that
// outlived the last supervisor may run on old ones. A second Hold under the
// same name does nothing. Holds are not on disk.
func (l *Localizer) Hold(id cluster.TopologyID, holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.topology(id)
	if _, ok := t.holds[holder]; !ok {
		l.clock++
		t.holds[holder] = l.clock
	}
}

// Release gives a hold back. Without one it does nothing. The files go with a
// later Sweep.
func (l *Localizer) Release(id cluster.TopologyID, holder string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tops[id]
	if t == nil {
		return
	}
	if _, ok := t.holds[holder]; !ok {
		return
	}
	delete(t.holds, holder)
	if len(t.holds) == 0 {
		t.idle = l.cfg.Clock.Now()
	}
	l.forget(id)
}

// Sweep removes the topologies that nobody holds, and has held for the time of
// grace, and that keep does not want; and of the others the generations that
// all holders came after. What is being fetched stays. It goes on after errors
// and returns them joined.
func (l *Localizer) Sweep(keep func(cluster.TopologyID) bool) error {
	l.mu.Lock()
	first := !l.swept
	l.swept = true
	ids := make([]cluster.TopologyID, 0, len(l.tops))
	for id, t := range l.tops {
		ids = append(ids, id)
		for _, g := range t.gens {
			if first && g.outdated == never {
				g.outdated = l.clock
			}
		}
	}
	l.mu.Unlock()
	slices.Sort(ids)
	var errs []error
	for _, id := range ids {
		if err := l.sweep(id, keep(id)); err != nil {
			errs = append(errs, fmt.Errorf("old files of topology %s: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

func (l *Localizer) sweep(id cluster.TopologyID, wanted bool) error {
	l.mu.Lock()
	t := l.tops[id]
	if t == nil || t.users > 0 {
		l.mu.Unlock()
		return nil
	}
	all := !wanted && len(t.holds) == 0 && l.cfg.Clock.Now().Sub(t.idle) >= l.cfg.Grace
	var drop, stay []*generation
	for _, g := range t.gens {
		if all || g.outdated != 0 && !t.heldSince(g.outdated) {
			drop = append(drop, g)
		} else {
			stay = append(stay, g)
		}
	}
	if len(drop) == 0 {
		l.forget(id)
		l.mu.Unlock()
		return nil
	}
	t.users++
	t.busy <- struct{}{} // it is free, since there was no user
	t.gens = stay
	l.mu.Unlock()

	failed, err := l.disk.drop(id, drop, len(stay) == 0)

	l.mu.Lock()
	defer l.mu.Unlock()
	t.gens = append(failed, stay...)
	t.users--
	<-t.busy
	l.forget(id)
	return err
}

// heldSince reports whether somebody holds the topology who did at that time.
func (t *topology) heldSince(at uint64) bool {
	for _, since := range t.holds {
		if since <= at {
			return true
		}
	}
	return false
}
