package supervisor

import (
	"github.com/stormring/stormring/internal/cluster"
)

// publish tells keepers and workers what the view has come to, and keeps it.
// Only the watcher's goroutine calls it, and Run before there is one.
func (s *Supervisor) publish() {
	s.mu.Lock()
	claims := s.view.claims(s.id)
	orders := map[cluster.TopologyID]cluster.Orders{}
	for id, t := range s.view.topologies {
		if o, ok := t.orders(); ok && t.here(s.id) {
			if s.cfg.Ring != nil {
				o.Ring = s.cfg.Ring()
			}
			orders[id] = o
		}
	}
	tell := map[cluster.Port]wish{}
	for _, port := range s.ports {
		c, ok := claims[port]
		switch {
		case !s.view.listed:
		case ok && s.view.topologies[c.assignment.Topology].recalled:
			// Its slot knows as much, and is not to take it for news.
		case ok:
			s.given[port] = c.assignment.Topology
			tell[port] = wish{&c.assignment, c.loss}
		case s.given[port] != "" && s.view.unclear(s.given[port]):
			// It may be meant to stay.
		default:
			delete(s.given, port)
			tell[port] = wish{}
		}
	}
	s.mu.Unlock()
	// First the slots: a worker that has to go is not worth orders.
	for port, w := range tell {
		s.keepers[port].assign(w)
	}
	s.hub.command(orders)
	s.remember()
}

// Assignment is where a topology runs, as far as it is known here.
func (s *Supervisor) Assignment(id cluster.TopologyID) (cluster.AssignmentRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.view.topologies[id]
	if t == nil || !t.placed {
		return cluster.AssignmentRecord{}, false
	}
	return t.assignment, true
}

// Refresh has the coordination store read again soon.
func (s *Supervisor) Refresh() {
	select {
	case s.refresh <- struct{}{}:
	default:
	}
}

// Heard takes a sign of life that a worker gave otherwise than over the link. It
// reports whether there is such a worker.
func (s *Supervisor) Heard(id cluster.TopologyID, executors []cluster.Executor) bool {
	return s.hub.heardOf(id, executors)
}
