package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
)

// Names of watches: one of these, and a topology's id but for the first.
const (
	watchList        = "list"
	watchAssignment  = "assignment "
	watchBase        = "base "
	watchCredentials = "credentials "
	watchLog         = "log "
)

// ofLosses names a record that is not watched.
const ofLosses = "losses "

// reader reads records of one session into the view.
type reader struct {
	s       *Supervisor
	store   *records.Store
	watches *watches
	// ill are the records that could not be understood, and why.
	ill map[string]string
}

// all reads everything of interest. An error means that the store could not be
// asked; what was read before it counts.
func (r *reader) all(ctx context.Context) error {
	if err := r.list(ctx); err != nil {
		return err
	}
	for _, id := range r.ids(false) {
		if err := r.assignment(ctx, id); err != nil {
			return err
		}
	}
	err := r.details(ctx, true)
	r.tidy()
	return err
}

// some reads what a watch has told of, and what is of interest since then.
func (r *reader) some(ctx context.Context, name string) error {
	r.watches.drop(func(set string) bool { return set != name })
	kind, id, _ := strings.Cut(name, " ")
	topology := cluster.TopologyID(id)
	if kind != watchList && kind+" " != watchAssignment && !slices.Contains(r.ids(true), topology) {
		return nil // it has moved away
	}
	var err error
	switch kind + " " {
	case watchAssignment:
		err = r.assignment(ctx, topology)
	case watchBase:
		err = r.base(ctx, topology)
	case watchCredentials:
		err = r.credentials(ctx, topology)
	case watchLog:
		err = r.log(ctx, topology)
	default:
		err = r.news(ctx)
	}
	err = errors.Join(err, r.details(ctx, false))
	r.tidy()
	return err
}

// tidy gives up the watches on topologies that are gone.
func (r *reader) tidy() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.watches.drop(func(name string) bool {
		_, id, ok := strings.Cut(name, " ")
		return !ok || r.s.view.topologies[cluster.TopologyID(id)] != nil
	})
}

// news reads the list and the assignments that are new in it.
func (r *reader) news(ctx context.Context) error {
	if err := r.list(ctx); err != nil {
		return err
	}
	for _, id := range r.ids(false) {
		if r.watches.has(watchAssignment + string(id)) {
			continue
		}
		if err := r.assignment(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// details reads what is known of topologies beside their assignment, if they
// have a slot here: again, or only where that is new.
func (r *reader) details(ctx context.Context, again bool) error {
	for _, id := range r.ids(true) {
		for _, d := range []struct {
			name string
			read func(context.Context, cluster.TopologyID) error
		}{{watchBase, r.base}, {watchCredentials, r.credentials}, {watchLog, r.log}} {
			if !again && r.watches.has(d.name+string(id)) {
				continue
			}
			if err := d.read(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// ids are the topologies of the view: all, or those with a slot here.
func (r *reader) ids(here bool) []cluster.TopologyID {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	out := make([]cluster.TopologyID, 0, len(r.s.view.topologies))
	for id, t := range r.s.view.topologies {
		if !here || t.here(r.s.id) {
			out = append(out, id)
		}
	}
	return out
}

// update changes what is known of a topology, if it is still there.
func (r *reader) update(id cluster.TopologyID, f func(*topology)) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if t := r.s.view.topologies[id]; t != nil {
		f(t)
	}
}

func (r *reader) list(ctx context.Context) error {
	ids, err := look(ctx, r.watches, watchList, r.store.Assignments, r.store.AssignmentsW)
	if err != nil {
		return fmt.Errorf("the list of assignments: %w", err)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.view.list(ids)
	return nil
}

// versioned is a record with its version.
type versioned[T any] struct {
	record  T
	version records.Version
}

func (r *reader) assignment(ctx context.Context, id cluster.TopologyID) error {
	got, err := look(ctx, r.watches, watchAssignment+string(id),
		func(ctx context.Context) (v versioned[cluster.AssignmentRecord], err error) {
			v.record, v.version, err = r.store.Assignment(ctx, id)
			return v, err
		},
		func(ctx context.Context) (v versioned[cluster.AssignmentRecord], ch <-chan coord.Event, err error) {
			v.record, v.version, ch, err = r.store.AssignmentW(ctx, id)
			return v, ch, err
		})
	if errors.Is(err, coord.ErrNoNode) {
		r.s.mu.Lock()
		defer r.s.mu.Unlock()
		delete(r.s.view.topologies, id) // it has gone since it was listed
		return nil
	}
	if ok, err := r.understood(watchAssignment, id, err); !ok {
		return err
	}
	news := false
	r.update(id, func(t *topology) {
		news = !t.placed || t.version != got.version
		t.placed, t.recalled, t.assignment, t.version = true, false, got.record, got.version
		news = news && t.here(r.s.id)
	})
	if !news {
		return nil
	}
	return r.losses(ctx, id)
}

// losses reads what an assignment makes good; they were written before it.
func (r *reader) losses(ctx context.Context, id cluster.TopologyID) error {
	losses, err := r.store.Losses(ctx, id)
	if ok, err := r.understood(ofLosses, id, err); !ok {
		return err
	}
	r.update(id, func(t *topology) { t.losses = losses })
	return nil
}

func (r *reader) base(ctx context.Context, id cluster.TopologyID) error {
	base, err := look(ctx, r.watches, watchBase+string(id),
		func(ctx context.Context) (cluster.Base, error) {
			b, _, err := r.store.Base(ctx, id)
			return b, err
		},
		func(ctx context.Context) (cluster.Base, <-chan coord.Event, error) {
			b, _, ch, err := r.store.BaseW(ctx, id)
			return b, ch, err
		})
	if errors.Is(err, coord.ErrNoNode) {
		return nil // its assignment decides
	}
	if ok, err := r.understood(watchBase, id, err); !ok {
		return err
	}
	r.update(id, func(t *topology) { t.based, t.base = true, base })
	return nil
}

func (r *reader) credentials(ctx context.Context, id cluster.TopologyID) error {
	got, err := look(ctx, r.watches, watchCredentials+string(id),
		func(ctx context.Context) (cluster.Credentials, error) { return r.store.Credentials(ctx, id) },
		func(ctx context.Context) (cluster.Credentials, <-chan coord.Event, error) {
			return r.store.CredentialsW(ctx, id)
		})
	if errors.Is(err, coord.ErrNoNode) {
		r.update(id, func(t *topology) { t.credentials = nil })
		return nil
	}
	if ok, err := r.understood(watchCredentials, id, err); !ok {
		return err
	}
	r.update(id, func(t *topology) { t.credentials = &got })
	return nil
}

func (r *reader) log(ctx context.Context, id cluster.TopologyID) error {
	got, err := look(ctx, r.watches, watchLog+string(id),
		func(ctx context.Context) (cluster.LogConfig, error) { return r.store.LogConfig(ctx, id) },
		func(ctx context.Context) (cluster.LogConfig, <-chan coord.Event, error) {
			return r.store.LogConfigW(ctx, id)
		})
	if errors.Is(err, coord.ErrNoNode) {
		r.update(id, func(t *topology) { t.log = nil })
		return nil
	}
	if ok, err := r.understood(watchLog, id, err); !ok {
		return err
	}
	r.update(id, func(t *topology) { t.log = got })
	return nil
}

// understood sorts out what came of reading a record. One that makes no sense
// is as good as not read: what was known of it before holds on.
func (r *reader) understood(kind string, id cluster.TopologyID, err error) (bool, error) {
	name := kind + string(id)
	if _, corrupt := errors.AsType[*records.CorruptError](err); corrupt {
		if r.ill[name] != err.Error() {
			r.ill[name] = err.Error()
			r.s.log.Error("a record of a topology makes no sense; what was known before holds", "topology", id, "error", err)
		}
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("topology %s: its %s: %w", id, strings.TrimSpace(kind), err)
	}
	delete(r.ill, name)
	return true, nil
}
