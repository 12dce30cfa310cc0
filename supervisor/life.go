package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/link"
	"github.com/stormring/stormring/supervisor/slot"
)

// sweepPatience is how long workers that no record names may take to die
// before the others are attended to.
const sweepPatience = 10 * time.Second

// Run keeps the host's slots until ctx ends, which is no error. Workers that an
// earlier supervisor has left are taken over. It may be called once.
func (s *Supervisor) Run(ctx context.Context) (err error) {
	if s.launcher == nil {
		if s.launcher, err = newProcesses(ctx, s.cfg); err != nil {
			return fmt.Errorf("supervisor: %w", err)
		}
	}
	defer func() { err = errors.Join(err, s.launcher.Close()) }()
	if s.socket, err = link.Path(s.cfg.LocalDir); err != nil {
		return err
	}
	if err := s.takeOver(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return fmt.Errorf("supervisor: %w", err)
	}
	if err := s.recall(); err != nil {
		s.log.Warn("what was known of topologies is forgotten until the coordination store tells it", "error", err)
	}
	s.publish()
	serve, err := s.listen(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The link outlives the keepers: they may have to wait for workers to end.
	below, unlink := context.WithCancel(context.WithoutCancel(ctx))
	var linked, keeping, others sync.WaitGroup
	var linkErr error
	linked.Go(func() {
		defer cancel()
		linkErr = serve(below)
	})
	for _, k := range s.keepers {
		keeping.Go(func() { k.run(ctx) })
	}
	for _, part := range []func(context.Context){s.follow, s.reporter.run, s.sorrows.run, s.beats.run, s.renew} {
		others.Go(func() { part(ctx) })
	}
	s.log.Info("the supervisor is up", "ports", s.ports, "host", s.cfg.Host)
	others.Wait()
	keeping.Wait()
	unlink()
	linked.Wait()
	return linkErr
}

// openLink lets workers connect.
func (s *Supervisor) openLink(ctx context.Context) (serve func(context.Context) error, err error) {
	ln, err := link.Listen(ctx, s.socket)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return link.Serve(ctx, ln, s.hub, s.log) }, nil
}

// takeOver reads what the supervisor before this one has left, finds its
// workers, and ends those that no record names.
func (s *Supervisor) takeOver(ctx context.Context) error {
	files, err := loadSlots(s.cfg.LocalDir)
	if files == nil {
		return err
	}
	if err != nil {
		s.log.Error("what was left cannot all be taken over", "error", err)
	}
	named := map[string]bool{}
	for _, port := range s.ports {
		s.keepers[port] = newKeeper(s, port)
	}
	for port, f := range files {
		k := s.keepers[port]
		if k == nil {
			if f.Record.Worker == nil {
				continue // a slot that was
			}
			k = newKeeper(s, port)
			k.retired = true
			s.keepers[port] = k
		}
		named[f.worker(port)] = true
		if err := k.resume(f); err != nil {
			return err
		}
		if f.Record.Want != nil && !k.retired {
			s.given[port] = f.Record.Want.Topology
		}
	}
	return s.sweep(ctx, named)
}

// resume takes hold of what a slot's record names, before the keeper runs.
func (k *keeper) resume(f slotFile) error {
	k.file = f
	w := f.Record.Worker
	if w == nil {
		return nil
	}
	k.blobs[w.Blobs] = &blobs{topology: w.Assignment.Topology, dir: f.Dir, ready: true, cancel: func() {}}
	k.s.cfg.Localizer.Hold(w.Assignment.Topology, k.holder(w.Blobs))
	h, alive, err := k.s.launcher.Find(workerID(k.port, w.Launch))
	if err != nil {
		return err // to go on could be to run it twice
	}
	if alive {
		k.handle = h
		k.s.hub.expect(k, *w)
	}
	return nil
}

// sweep ends the workers that are not named, and clears them away.
func (s *Supervisor) sweep(ctx context.Context, named map[string]bool) error {
	workers, err := s.launcher.List()
	if err != nil {
		return err
	}
	patience, cancel := context.WithTimeout(ctx, sweepPatience)
	defer cancel()
	var dying sync.WaitGroup
	for _, worker := range workers {
		if named[worker] {
			continue
		}
		dying.Go(func() {
			if err := s.end(patience, worker); err != nil {
				s.log.Warn("a worker that no record names cannot be cleared away", "worker", worker, "error", err)
			}
		})
	}
	dying.Wait()
	return ctx.Err()
}

// end kills a worker and clears it away.
func (s *Supervisor) end(ctx context.Context, worker string) error {
	h, alive, err := s.launcher.Find(worker)
	if err != nil {
		return err
	}
	if alive {
		s.log.Info("a worker that no record names is killed", "worker", worker, "pid", h.PID())
		if err := h.Kill(); err != nil {
			return err
		}
		select {
		case <-h.Done():
		case <-ctx.Done():
			return fmt.Errorf("process %d lives on though it was killed: %w", h.PID(), ctx.Err())
		}
	}
	return s.launcher.Clear(ctx, worker)
}

// renew asks for newer blobs from time to time, and has old ones removed.
func (s *Supervisor) renew(ctx context.Context) {
	failing := false
	s.tidyBlobs()
	for rest(ctx, s.cfg.Clock, s.cfg.Conf.Duration(conf.SupervisorBlobsSecs)) {
		wanted := s.wanted()
		changed, err := s.cfg.Localizer.Changed(ctx, wanted)
		if err != nil && !failing && ctx.Err() == nil {
			s.log.Warn("whether there are newer blobs cannot be found out", "error", err)
		}
		failing = err != nil
		for _, id := range changed {
			for _, port := range s.ports {
				k := s.keepers[port]
				k.tell(func(ctx context.Context) { k.renew(ctx, id) })
			}
		}
		s.tidyBlobs()
		s.sorrows.keep(s.known)
	}
}

// tidyBlobs removes the files of topologies that have no slot here.
func (s *Supervisor) tidyBlobs() {
	wanted := s.wanted()
	if err := s.cfg.Localizer.Sweep(func(id cluster.TopologyID) bool { return slices.Contains(wanted, id) }); err != nil {
		s.log.Warn("blobs that nobody uses cannot be removed", "error", err)
	}
}

// renew tells the machine of newer blobs. What is being fetched is not given up
// for that, but looked at again when it is there.
func (k *keeper) renew(ctx context.Context, id cluster.TopologyID) {
	for _, b := range k.blobs {
		if b.topology == id && !b.ready {
			k.stale = id
			return
		}
	}
	k.step(ctx, slot.BlobsChanged{Topology: id})
}

// wanted are the topologies with a slot here, each once.
func (s *Supervisor) wanted() []cluster.TopologyID {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []cluster.TopologyID
	for _, id := range s.given {
		out = append(out, id)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// known reports whether a topology may still be there.
func (s *Supervisor) known(id cluster.TopologyID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.view.listed || s.view.topologies[id] != nil
}
