package supervisor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

// procs are the processes of a host. They outlive supervisors.
type procs struct {
	h *host

	mu      sync.Mutex
	live    map[string]*proc
	left    []string // folders of those that have ended
	started []string
	sup     *Supervisor // to whom workers connect
	refuse  error
	mute    bool // new workers never connect
	doomed  bool // new workers end at once
	nextPID int
}

// proc is a worker.
type proc struct {
	ps     *procs
	launch Launch
	pid    int
	done   chan struct{}
	code   int
	unseen time.Duration // how long ago it had ended when it is seen
	ended  time.Time
	silent atomic.Bool
	stub   atomic.Bool // it does not end when it is asked to
	stop   chan struct{}
	gone   sync.WaitGroup

	mu     sync.Mutex
	orders []cluster.Orders
	errors []cluster.TaskError
	last   string // failure to tell
}

func (ps *procs) connect(s *Supervisor) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.sup = s
}

func (ps *procs) Start(_ context.Context, l Launch) (Handle, error) {
	ps.mu.Lock()
	if ps.refuse != nil {
		defer ps.mu.Unlock()
		return nil, ps.refuse
	}
	for _, other := range ps.live {
		if other.launch.Port == l.Port {
			ps.h.t.Errorf("%s is started beside %s", l.Worker, other.launch.Worker)
		}
	}
	if slices.Contains(ps.started, l.Worker) {
		ps.h.t.Errorf("%s is started twice", l.Worker)
	}
	ps.nextPID++
	p := &proc{ps: ps, launch: l, pid: ps.nextPID, done: make(chan struct{}), stop: make(chan struct{})}
	p.silent.Store(ps.mute)
	ps.live[l.Worker] = p
	ps.started = append(ps.started, l.Worker)
	doomed := ps.doomed
	ps.mu.Unlock()
	p.gone.Go(p.run)
	if doomed {
		p.exit(1)
	}
	return p, nil
}

// run connects and pulses each second.
func (p *proc) run() {
	hello := cluster.Hello{Topology: p.launch.Topology, Port: p.launch.Port, Worker: p.launch.Worker, PID: p.pid}
	var at *Supervisor
	var orders <-chan cluster.Orders
	for began := time.Now(); ; {
		p.ps.mu.Lock()
		sup := p.ps.sup
		p.ps.mu.Unlock()
		if sup != at && !p.silent.Load() {
			at, orders = sup, nil
			if sup != nil {
				ch, err := sup.hub.Hello(hello)
				if err != nil {
					p.die(3)
					return
				}
				orders = ch
			}
		}
		if at != nil && !p.silent.Load() {
			at.hub.Pulse(hello, p.pulse(int(time.Since(began)/time.Second)))
		}
		timer := time.NewTimer(time.Second)
		for waiting := true; waiting; {
			select {
			case <-p.stop:
				timer.Stop()
				return
			case o, ok := <-orders:
				if !ok {
					orders = nil
					continue
				}
				p.mu.Lock()
				p.orders = append(p.orders, o)
				p.mu.Unlock()
			case <-timer.C:
				waiting = false
			}
		}
	}
}

// hush makes it silent.
func (p *proc) hush() { p.silent.Store(true) }

func (p *proc) pulse(uptime int) cluster.Pulse {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := cluster.Pulse{TimeMS: time.Now().UnixMilli(), UptimeSecs: uptime, Errors: p.errors, Failure: p.last}
	p.errors = nil
	if len(p.orders) > 0 {
		for _, pl := range p.orders[len(p.orders)-1].Placement {
			if pl.Slot.Port == p.launch.Port && pl.Slot.Supervisor == p.launch.Supervisor {
				r := cluster.ExecutorReport{Executor: pl.Executor, Component: "words"}
				if uptime%3 == 0 {
					r.Stats = &cluster.ExecutorStats{Rate: 1}
				}
				out.Executors = append(out.Executors, r)
			}
		}
	}
	return out
}

func (p *proc) lastOrders() cluster.Orders {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.orders) == 0 {
		return cluster.Orders{}
	}
	return p.orders[len(p.orders)-1]
}

// exit ends the worker, as from outside.
func (p *proc) exit(code int) {
	p.unplug()
	p.die(code)
}

func (p *proc) unplug() {
	select {
	case <-p.stop:
	default:
		close(p.stop)
	}
	p.gone.Wait()
}

func (p *proc) die(code int) {
	p.ps.mu.Lock()
	defer p.ps.mu.Unlock()
	if p.ps.live[p.launch.Worker] != p {
		return
	}
	delete(p.ps.live, p.launch.Worker)
	p.ps.left = append(p.ps.left, p.launch.Worker)
	p.code, p.ended = code, time.Now().Add(-p.unseen)
	close(p.done)
}

func (p *proc) PID() int              { return p.pid }
func (p *proc) Done() <-chan struct{} { return p.done }
func (p *proc) ExitCode() int         { return p.code }
func (p *proc) Ended() time.Time      { return p.ended }
func (p *proc) Kill() error           { go p.exit(137); return nil }

func (p *proc) Terminate() error {
	if !p.stub.Load() {
		go p.exit(0)
	}
	return nil
}

func (ps *procs) Find(worker string) (Handle, bool, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p := ps.live[worker]
	if p == nil {
		return nil, false, nil
	}
	return p, true, nil
}

func (ps *procs) Clear(_ context.Context, worker string) error {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.live[worker] != nil {
		return fmt.Errorf("%s is alive", worker)
	}
	ps.left = slices.DeleteFunc(ps.left, func(w string) bool { return w == worker })
	return nil
}

func (ps *procs) List() ([]string, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(ps.live)), ps.left...))), nil
}

func (ps *procs) Close() error { return nil }

// count is how many workers there have been.
func (ps *procs) count() int {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return len(ps.started)
}
