package supervisor

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/supervisor/slot"
)

// hub is the supervisor's end of the link: it knows which workers there should
// be, gives them orders and hears their pulses. It implements link.Supervisor.
type hub struct {
	clock  clock.Clock
	news   func() // a report is worth sending
	errors func(cluster.TopologyID, cluster.Port, []cluster.TaskError)

	mu     sync.Mutex
	seats  map[cluster.Port]*seat
	orders map[cluster.TopologyID]cluster.Orders
	// reasons tell why a slot's worker is not running.
	reasons map[cluster.Port]string
}

// seat is the worker that a slot has launched.
type seat struct {
	worker   string
	topology cluster.TopologyID
	execs    []cluster.Executor // sorted
	// keep is told of pulses.
	keep   *keeper
	serial slot.Serial
	// told is the newest connection's; nil without one.
	told  chan cluster.Orders
	heard bool
	last  cluster.WorkerReport
	stats map[cluster.Executor]*cluster.ExecutorStats
}

func newHub(c clock.Clock, news func(), errors func(cluster.TopologyID, cluster.Port, []cluster.TaskError)) *hub {
	return &hub{
		clock: c, news: news, errors: errors, seats: map[cluster.Port]*seat{},
		orders: map[cluster.TopologyID]cluster.Orders{}, reasons: map[cluster.Port]string{},
	}
}

// expect tells that w may connect, from now on.
func (h *hub) expect(k *keeper, w slot.Worker) {
	execs := slices.Clone(w.Assignment.Executors)
	slices.SortFunc(execs, cluster.Executor.Compare)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seats[k.port] = &seat{
		worker: workerID(k.port, w.Launch), topology: w.Assignment.Topology, execs: execs, keep: k, serial: w.Launch,
		stats: map[cluster.Executor]*cluster.ExecutorStats{},
	}
}

// forget takes expect back: the worker is gone.
func (h *hub) forget(port cluster.Port, launch slot.Serial) {
	h.mu.Lock()
	s := h.seats[port]
	if s == nil || s.serial != launch {
		h.mu.Unlock()
		return
	}
	if s.told != nil {
		close(s.told)
	}
	delete(h.seats, port)
	h.mu.Unlock()
	h.news() // until nimbus knows, it places nothing there
}

// Hello implements link.Supervisor: only a worker that a slot has launched is
// welcome.
func (h *hub) Hello(hello cluster.Hello) (<-chan cluster.Orders, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.seat(hello)
	if s == nil {
		return nil, fmt.Errorf("slot %d has not launched worker %q of topology %q", hello.Port, hello.Worker, hello.Topology)
	}
	if s.told != nil {
		close(s.told) // the worker has given that connection up
	}
	s.told = make(chan cluster.Orders, 1)
	if o, ok := h.orders[s.topology]; ok {
		s.order(o)
	}
	return s.told, nil
}

// seat is that of the worker that says hello; nil if there is none. mu is held.
func (h *hub) seat(hello cluster.Hello) *seat {
	s := h.seats[hello.Port]
	if s == nil || s.worker != hello.Worker || s.topology != hello.Topology {
		return nil
	}
	return s
}

// order gives orders to a worker in place of those that it has not read yet.
// Those for other executors than it has are not for it: it will be killed in
// order, and not be told meanwhile that it is wrong.
func (s *seat) order(o cluster.Orders) {
	if s.told == nil || !slices.Equal(s.execs, executorsAt(o.Placement, s.keep.slot)) {
		return
	}
	select {
	case <-s.told:
	default:
	}
	s.told <- o // nobody else sends: mu is held
}

// executorsAt are the executors placed in a slot, sorted.
func executorsAt(places []cluster.Place, at cluster.Slot) []cluster.Executor {
	var out []cluster.Executor
	for _, p := range places {
		if p.Slot == at {
			out = append(out, p.Executor)
		}
	}
	slices.SortFunc(out, cluster.Executor.Compare)
	return out
}

// Gone implements link.Supervisor.
func (h *hub) Gone(cluster.Hello) {}

// Pulse implements link.Supervisor.
func (h *hub) Pulse(hello cluster.Hello, p cluster.Pulse) {
	h.mu.Lock()
	s := h.seat(hello)
	if s == nil {
		h.mu.Unlock()
		return
	}
	changed := s.hear(h.clock.Now().Unix(), hello.Port, p)
	h.mu.Unlock()
	if len(p.Errors) > 0 {
		h.errors(hello.Topology, hello.Port, p.Errors)
	}
	s.keep.heard(s.serial, p.Failure)
	if changed {
		h.news()
	}
}

// hear keeps what a pulse tells and reports whether the executors are others
// than before. mu is held.
func (s *seat) hear(now int64, port cluster.Port, p cluster.Pulse) bool {
	r := cluster.WorkerReport{
		Topology: s.topology, Port: port, TimeSecs: now, UptimeSecs: p.UptimeSecs, Executors: slices.Clone(p.Executors),
	}
	for i, e := range r.Executors {
		if e.Stats != nil {
			s.stats[e.Executor] = e.Stats
		}
		r.Executors[i].Stats = s.stats[e.Executor]
	}
	changed := !s.heard || !slices.EqualFunc(s.last.Executors, r.Executors, func(a, b cluster.ExecutorReport) bool { return a.Executor == b.Executor })
	s.last, s.heard = r, true
	return changed
}

// heardOf is a sign of life that came on another way than the link.
func (h *hub) heardOf(topology cluster.TopologyID, executors []cluster.Executor) bool {
	// Workers of Storm's name an executor of the system too, which each of them has.
	execs := slices.DeleteFunc(slices.Clone(executors), func(e cluster.Executor) bool { return e.First < 1 })
	slices.SortFunc(execs, cluster.Executor.Compare)
	h.mu.Lock()
	var found *seat
	for _, s := range h.seats {
		if s.topology == topology && slices.Equal(s.execs, execs) {
			found = s
			p := cluster.Pulse{UptimeSecs: s.last.UptimeSecs}
			for _, e := range execs {
				p.Executors = append(p.Executors, cluster.ExecutorReport{Executor: e})
			}
			s.hear(h.clock.Now().Unix(), s.keep.port, p)
			break
		}
	}
	h.mu.Unlock()
	if found != nil {
		found.keep.heard(found.serial, "")
	}
	return found != nil
}

// command gives orders to the workers of topologies, and forgets those of all
// other ones.
func (h *hub) command(all map[cluster.TopologyID]cluster.Orders) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, o := range all {
		if old, ok := h.orders[id]; ok && reflect.DeepEqual(old, o) {
			continue
		}
		for _, s := range h.seats {
			if s.topology == id {
				s.order(o)
			}
		}
	}
	h.orders = maps.Clone(all)
}

// explain says why a slot's worker is not running; "" if it is.
func (h *hub) explain(port cluster.Port, why string) {
	h.mu.Lock()
	changed := h.reasons[port] != why
	if why == "" {
		delete(h.reasons, port)
	} else {
		h.reasons[port] = why
	}
	h.mu.Unlock()
	if changed {
		h.news()
	}
}

// report is what there is to tell of all workers.
func (h *hub) report(id cluster.SupervisorID) cluster.SupervisorReport {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := cluster.SupervisorReport{Supervisor: id, Waiting: maps.Clone(h.reasons)}
	for _, s := range h.seats {
		if s.heard {
			r.Workers = append(r.Workers, s.last)
		}
	}
	slices.SortFunc(r.Workers, func(a, b cluster.WorkerReport) int { return cmp.Compare(a.Port, b.Port) })
	return r
}

// used are the slots that have a worker, sorted.
func (h *hub) used() []cluster.Port {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.seats))
}
