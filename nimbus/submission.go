package nimbus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/lifecycle"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/nimbus/submit"
	"github.com/stormring/stormring/nimbus/survey"
)

// cleanup is how long it may take to remove what a failed submission has left.
const cleanup = 10 * time.Second

// Submission is a topology to run.
type Submission struct {
	Name string
	// JarLocation is where the jar was uploaded to; "" if it needs none.
	JarLocation string
	// ConfJSON is the topology's own configuration.
	ConfJSON string
	Topology cluster.Topology
	// Inactive: its spouts are silent at first.
	Inactive    bool
	Credentials *cluster.Credentials
	// Who submits it; "" if nobody knows.
	Who string
}

// NameAllowed reports whether a topology of this name could be submitted: the
// name is valid and free. Errors: ErrNotLeader.
func (n *Nimbus) NameAllowed(ctx context.Context, name string) (bool, error) {
	r, err := n.leading()
	if err != nil {
		return false, err
	}
	_, taken := r.named(name)
	return !taken && submit.Name(name) == nil, ctx.Err()
}

func (r *reign) named(name string) (cluster.TopologyID, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.names[name]
	return id, ok
}

// Submit checks a topology as Storm does and in Storm's order, stores it, and
// has it placed. When it fails nothing of it is left. Errors: ErrNotLeader,
// ErrInvalidTopology, ErrAlreadyAlive.
func (n *Nimbus) Submit(ctx context.Context, s Submission) (err error) {
	r, err := n.leading()
	if err != nil {
		return err
	}
	id, ready, err := n.check(ctx, r, s)
	if err != nil {
		return err
	}
	if err := n.reserve(r, s.Name, id); err != nil {
		return err
	}
	defer n.unreserve(s.Name)
	// Once the base may have been written, only the store knows whether it was.
	tried := false
	defer func() {
		if err != nil && (!tried || !gone(err)) {
			n.undo(ctx, r, id)
		}
	}()
	if err := n.store(ctx, r, id, s, ready); err != nil {
		return err
	}
	base := cluster.Base{
		Name: s.Name, Status: cluster.StatusActive, Workers: ready.Workers, Executors: ready.Executors,
		LaunchedSecs: n.nowSecs(), Owner: n.owner(s), Principal: s.Who, Version: text(ready.Conf["topology.version"]),
	}
	if s.Inactive {
		base.Status = cluster.StatusInactive
	}
	err = r.do(ctx, func(ctx context.Context) error {
		tried = true
		return r.admit(ctx, id, base)
	})
	if err == nil {
		n.cfg.Logger.Info("topology is submitted", "topology", id, "workers", ready.Workers, "owner", base.Owner)
	}
	return err
}

// owner is to whom a topology belongs. Its blobs do not: with no name, nobody
// could prove to be their owner.
func (n *Nimbus) owner(s Submission) string { return cmp.Or(s.Who, n.cfg.User) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

// check makes all checks of a submission that leave no trace.
func (n *Nimbus) check(ctx context.Context, r *reign, s Submission) (cluster.TopologyID, *submit.Ready, error) {
	if err := submit.Name(s.Name); err != nil {
		return "", nil, as(ErrInvalidTopology, err)
	}
	if id, taken := r.named(s.Name); taken {
		return "", nil, asf(ErrAlreadyAlive, "%s is already alive, as %s", s.Name, id)
	}
	own, merged, err := submit.Settings(n.cfg.Conf, s.ConfJSON)
	if err != nil {
		return "", nil, as(ErrInvalidTopology, err)
	}
	for _, key := range submit.BlobKeys(merged, s.Topology) {
		if _, err := n.cfg.Blobs.Version(ctx, key); errors.Is(err, ErrKeyNotFound) {
			return "", nil, asf(ErrInvalidTopology, "blob %q, which the topology asks for, is not in the blob store: create it first", key)
		} else if err != nil {
			return "", nil, err
		}
	}
	goes := false
	if s.JarLocation != "" {
		head, err := n.cfg.Blobs.Head(s.JarLocation)
		if err != nil {
			return "", nil, asf(ErrInvalidTopology, "the topology's jar: %v", err)
		}
		goes = isProgram(head)
	}
	id := n.nextID(s.Name)
	ready, err := submit.Finish(n.cfg.Conf, submit.Request{
		ID: id, Name: s.Name, Own: own, Topology: s.Topology, User: n.owner(s), Principal: s.Who,
		Program: goes, JVM: func(version string) (submit.JVM, error) { return n.jvmFor(ctx, r, version) },
	})
	if err != nil {
		return "", nil, as(ErrInvalidTopology, err)
	}
	return id, ready, nil
}

func (n *Nimbus) nextID(name string) cluster.TopologyID {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.counter++
	return cluster.TopologyID(fmt.Sprintf("%s-%d-%d", name, n.counter, n.nowSecs()))
}

// reserve keeps a name for one submission among several at once.
func (n *Nimbus) reserve(r *reign, name string, id cluster.TopologyID) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, taken := n.underway[name]; taken {
		return asf(ErrAlreadyAlive, "%s is already alive: it is just being submitted by another", name)
	}
	if other, taken := r.named(name); taken {
		return asf(ErrAlreadyAlive, "%s is already alive, as %s", name, other)
	}
	n.underway[name] = id
	return nil
}

func (n *Nimbus) unreserve(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.underway, name)
}

func (n *Nimbus) isUnderway(id cluster.TopologyID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, other := range n.underway {
		if other == id {
			return true
		}
	}
	return false
}

// store writes all of a submission but its base.
func (n *Nimbus) store(ctx context.Context, r *reign, id cluster.TopologyID, s Submission, ready *submit.Ready) error {
	if c := s.Credentials; c != nil && len(c.Values) > 0 {
		if err := r.store.PutCredentials(ctx, id, cluster.Credentials{Values: c.Values, Owner: n.owner(s)}); err != nil {
			return err
		}
	}
	if err := n.catalog.write(ctx, id, s.Who, &ready.Topology, ready.Conf); err != nil {
		return err
	}
	if s.JarLocation != "" {
		if err := n.cfg.Blobs.Adopt(ctx, s.JarLocation, string(id)+jarEnd, s.Who); err != nil {
			return asf(ErrInvalidTopology, "the topology's jar: %v", err)
		}
		if err := n.checkProgram(ctx, string(id)+jarEnd); err != nil {
			return err
		}
	}
	return n.copies(ctx, r, id, ready, s.JarLocation != "")
}

// undo removes what a failed submission has left: the blobs last, by which a
// sweep finds what could not be removed now.
func (n *Nimbus) undo(ctx context.Context, r *reign, id cluster.TopologyID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	if err := r.erase(ctx, id); err != nil {
		n.cfg.Logger.Warn("not all of a failed submission could be removed; a sweep will do it", "topology", id, "error", err)
	}
}

// erase removes all that a submission writes before its base.
func (r *reign) erase(ctx context.Context, id cluster.TopologyID) error {
	if err := r.store.RemoveTopologyExtras(ctx, id); err != nil {
		return err
	}
	return r.deleteBlobs(ctx, id)
}

// admit makes a stored submission a topology.
func (r *reign) admit(ctx context.Context, id cluster.TopologyID, base cluster.Base) error {
	if other, taken := r.named(base.Name); taken {
		return asf(ErrAlreadyAlive, "%s is already alive, as %s", base.Name, other)
	}
	if err := r.checkFence(r.store.CreateBase(ctx, id, base, r.fence)); err != nil {
		return err
	}
	r.track(id, base.Name, lifecycle.New(id, base.Status == cluster.StatusInactive))
	r.wakeUp()
	return nil
}

// PlanSubmit tells where a topology's executors would go if it was submitted
// now. Nothing is changed. Errors are those of Submit.
func (n *Nimbus) PlanSubmit(ctx context.Context, s Submission) (string, error) {
	r, err := n.leading()
	if err != nil {
		return "", err
	}
	id, ready, err := n.check(ctx, r, s)
	if err != nil {
		return "", err
	}
	return r.foresee(ctx, id, func(w survey.World) (survey.Topology, error) {
		return survey.Topology{
			ID: id, Base: cluster.Base{
				Name: s.Name, Status: cluster.StatusActive, Workers: ready.Workers, Executors: ready.Executors, LaunchedSecs: n.nowSecs(), Owner: n.owner(s),
			},
			Code: &survey.Code{User: ready.Topology, Conf: ready.Conf, Layout: ready.Layout, Needs: ready.Needs},
		}, nil
	})
}

// foresee plans with one topology as change makes it, and explains what
// becomes of it and of others that move.
func (r *reign) foresee(ctx context.Context, id cluster.TopologyID, change func(survey.World) (survey.Topology, error)) (string, error) {
	var out strings.Builder
	err := r.do(ctx, func(ctx context.Context) error {
		w, err := r.look(ctx)
		if err != nil {
			return err
		}
		t, err := change(w)
		if err != nil {
			return err
		}
		w.Topologies[id] = t
		r.mu.Lock()
		snapshot := w.Snapshot(r.n.rules, r.ears, map[cluster.TopologyID]bool{id: true})
		r.mu.Unlock()
		plan := scheduler.Schedule(snapshot)
		kept := plan
		kept.Topologies = nil
		for _, p := range plan.Topologies {
			if p.ID == id || len(p.Moves) > 0 {
				kept.Topologies = append(kept.Topologies, p)
			}
		}
		return kept.Explain(&out)
	})
	return out.String(), err
}
