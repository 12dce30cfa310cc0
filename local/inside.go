package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/stormring/stormring/daemon"
	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/supervisor"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/process"
)

// inside launches workers in this process, and as processes those of programs
// that were submitted. It implements supervisor.Launcher.
type inside struct {
	opts    ClusterOptions
	outside supervisor.Launcher

	mu        sync.Mutex
	listeners map[cluster.Port]net.Listener // of slots that had no worker yet
	running   map[string]*insider           // by worker id
	owner     *Hosted
	group     sync.WaitGroup
}

// newInside takes a free port for each slot, unless the configuration says which
// ports are wanted.
func newInside(ctx context.Context, opts ClusterOptions) (*inside, error) {
	l := &inside{opts: opts, listeners: map[cluster.Port]net.Listener{}, running: map[string]*insider{}}
	var wanted []int
	if opts.Conf.Layer(string(conf.SupervisorSlotsPorts)) != "" && opts.Slots == 0 {
		wanted = opts.Conf.Ints(conf.SupervisorSlotsPorts)
	} else {
		n := opts.Slots
		if n == 0 {
			n = len(opts.Conf.Ints(conf.SupervisorSlotsPorts))
		}
		wanted = make([]int, n)
	}
	var lc net.ListenConfig
	for _, port := range wanted {
		ln, err := lc.Listen(ctx, "tcp", fmt.Sprintf("%s:%d", loopback, port))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("local cluster: a slot's port: %w", err), l.abandon())
		}
		addr, _ := ln.Addr().(*net.TCPAddr)
		l.listeners[cluster.Port(addr.Port)] = ln
	}
	var err error
	if l.outside, err = supervisor.Processes(ctx, opts.Dir, logDir(opts.Dir), clock.Real{}, opts.Logger); err != nil {
		return nil, errors.Join(err, l.abandon())
	}
	return l, nil
}

// ports are the slots.
func (l *inside) ports() []cluster.Port {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []cluster.Port
	for p := range l.listeners {
		out = append(out, p)
	}
	return out
}

// host has a run told of its workers.
func (l *inside) host(h *Hosted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owner = h
}

// insider is a worker in this process.
type insider struct {
	stop context.CancelFunc
	done chan struct{}
	code int
}

// Start implements supervisor.Launcher.
func (l *inside) Start(ctx context.Context, s supervisor.Launch) (supervisor.Handle, error) {
	program, err := supervisor.IsProgram(s.Dir)
	if err != nil {
		return nil, err
	}
	if program || s.JVM != "" {
		if err := l.vacate(s.Port); err != nil {
			return nil, err
		}
		return l.outside.Start(ctx, s)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	w := &insider{stop: stop, done: make(chan struct{})}
	l.mu.Lock()
	l.running[s.Worker] = w
	owner := l.owner
	l.mu.Unlock()
	cfg := process.Config{
		Topology: s.Topology, Supervisor: s.Supervisor, Port: s.Port, Worker: s.Worker, Code: s.Dir, Link: s.Link,
		Base: s.Conf, Program: l.opts.Program, States: daemon.States, Noticed: s.Noticed, Detect: s.Detect, Logger: l.opts.Workers.With("worker", int(s.Port)),
		Listen: func(ctx context.Context) (net.Listener, error) { return l.listen(ctx, s.Port) },
	}
	if owner != nil && s.Topology.Name() == owner.opts.Name {
		cfg.Made = map[string]*storm.Topology{owner.opts.Name: owner.opts.Instance.Topology}
		cfg.OnWorker = func(w *worker.Worker) { owner.begin(s.Port, w) }
	} else {
		owner = nil
	}
	l.group.Go(func() {
		defer close(w.done)
		defer stop()
		err := process.Run(life, cfg)
		if err != nil {
			w.code = 1
		}
		if owner != nil {
			owner.end(s.Port, err, life.Err() != nil)
		}
	})
	return w, nil
}

// listen is the slot's listener: the one that was opened at the start, later a
// new one.
func (l *inside) listen(ctx context.Context, port cluster.Port) (net.Listener, error) {
	l.mu.Lock()
	ln := l.listeners[port]
	delete(l.listeners, port)
	l.mu.Unlock()
	if ln != nil {
		return ln, nil
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", fmt.Sprintf("%s:%d", loopback, port))
}

// vacate leaves the slot's port to a process.
func (l *inside) vacate(port cluster.Port) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.listeners[port]
	delete(l.listeners, port)
	if ln == nil {
		return nil
	}
	return ln.Close()
}

// Find implements supervisor.Launcher. Workers in this process do not outlive
// it.
func (l *inside) Find(id string) (supervisor.Handle, bool, error) {
	l.mu.Lock()
	w := l.running[id]
	l.mu.Unlock()
	if w != nil {
		return w, true, nil
	}
	return l.outside.Find(id)
}

// Clear implements supervisor.Launcher.
func (l *inside) Clear(ctx context.Context, id string) error {
	l.mu.Lock()
	delete(l.running, id)
	l.mu.Unlock()
	return l.outside.Clear(ctx, id)
}

// List implements supervisor.Launcher.
func (l *inside) List() ([]string, error) { return l.outside.List() }

// Close implements supervisor.Launcher.
func (l *inside) Close() error {
	l.mu.Lock()
	for _, w := range l.running {
		w.stop()
	}
	l.mu.Unlock()
	l.group.Wait()
	return errors.Join(l.outside.Close(), l.abandon())
}

// abandon closes the listeners that nobody has taken.
func (l *inside) abandon() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for p, ln := range l.listeners {
		errs = append(errs, ln.Close())
		delete(l.listeners, p)
	}
	return errors.Join(errs...)
}

// PID implements supervisor.Handle: it has no process of its own.
func (w *insider) PID() int { return 0 }

// Done implements supervisor.Handle.
func (w *insider) Done() <-chan struct{} { return w.done }

// ExitCode implements supervisor.Handle.
func (w *insider) ExitCode() int { return w.code }

// Terminate implements supervisor.Handle.
func (w *insider) Terminate() error {
	w.stop()
	return nil
}

// Kill implements supervisor.Handle. A goroutine cannot be killed.
func (w *insider) Kill() error { return w.Terminate() }
