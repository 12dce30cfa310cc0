//go:build unix

// Package process runs the worker processes of a supervisor and finds them
// again after the supervisor has died. Start at [Manager]: [Manager.Start]
// starts a worker, [Manager.Find] takes hold of one that an earlier supervisor
// started, and a [Handle] is a worker that may be alive.
//
// A worker outlives its supervisor, so nothing that it needs to run hangs on
// the supervisor: it leads a session of its own, reads from nothing and writes
// its output to files by itself. What belongs to a worker is its leader, all of
// its session, all that has its directory in the environment ([MarkerEnv]), and
// all that descends from those. A worker is gone when all of it is.
//
// Before a process is there, a record of it lies in the worker's directory;
// once it is there, the record says which process it is: its id, and when it
// started, since an id is used again. A supervisor that is killed in between
// leaves a record without a process, which is then looked for by its
// environment.
//
// This is so on Linux. Elsewhere only the record is there to go by, which is
// enough for trying things out.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stormring/stormring/internal/clock"
)

// MarkerEnv is the environment variable by which the processes of a worker are
// known: it holds the worker's directory.
const MarkerEnv = "STORMRING_WORKER_DIR"

// Config is what a [Manager] needs.
type Config struct {
	// Root is the directory of workers, one directory in it for each. It is
	// made if it is not there.
	Root string
	// TendEvery is how often output files are looked at for their size;
	// 5 s if it is 0. A file may outgrow its limit by what is written in that
	// time.
	TendEvery time.Duration
	// Clock is the computer's if it is nil.
	Clock clock.Clock
	// Orphans tells that this process gets the orphans of others as children
	// (PR_SET_CHILD_SUBREAPER), so that it has to reap them. The first process
	// of a container does so anyhow.
	Orphans bool
	// Logger is for what goes wrong when nobody waits for an answer; nil for
	// none.
	Logger *slog.Logger
}

// Errors of this package that a caller may look for.
var (
	// ErrInUse: another supervisor works in the same directory.
	ErrInUse = errors.New("used by another supervisor")
	// ErrKnown: there was a worker of that id already.
	ErrKnown = errors.New("worker id was used before")
	// ErrAlive: the worker is not gone.
	ErrAlive = errors.New("worker is alive")
	// ErrClosed: the Manager is closed.
	ErrClosed = errors.New("process manager is closed")
)

// Manager has the workers of one supervisor. It is safe for concurrent use.
type Manager struct {
	root    string // absolute, without symbolic links
	every   time.Duration
	clock   clock.Clock
	log     *slog.Logger
	orphans bool
	lock    *os.File

	// spawn runs f in a goroutine that Close ends and waits for.
	spawn func(f func(ctx context.Context))
	stop  func()
	wg    sync.WaitGroup

	// births is held for reading from the birth of a process until its handle
	// is entered, so that nobody takes it for an orphan.
	births sync.RWMutex

	mu     sync.Mutex
	closed bool
	// handles are of workers that are not gone; nil for one that is being
	// started or taken hold of.
	handles map[string]*Handle
}

// New makes a Manager. It waits for a moment, or until ctx is done, if the
// directory is still used by another: the one before may be about to end.
func New(ctx context.Context, cfg Config) (*Manager, error) {
	if cfg.TendEvery < 0 {
		return nil, fmt.Errorf("process: TendEvery is %v; give 0 or more", cfg.TendEvery)
	}
	root, err := prepareRoot(cfg.Root)
	if err != nil {
		return nil, err
	}
	if _, err := scan(); err != nil {
		return nil, fmt.Errorf("process: %w; workers cannot be told apart from other processes", err)
	}
	lock, err := lockRoot(ctx, root)
	if err != nil {
		return nil, err
	}
	m := &Manager{
		root: root, every: cfg.TendEvery, clock: cfg.Clock, log: cfg.Logger, lock: lock,
		orphans: cfg.Orphans || os.Getpid() == 1,
		handles: make(map[string]*Handle),
	}
	if m.every == 0 {
		m.every = 5 * time.Second
	}
	if m.clock == nil {
		m.clock = clock.Real{}
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	m.stop = stop
	m.spawn = func(f func(context.Context)) { m.wg.Go(func() { f(life) }) }
	m.spawn(m.tend)
	return m, nil
}

func prepareRoot(root string) (string, error) {
	if root == "" {
		return "", errors.New("process: no directory of workers is given")
	}
	if err := os.MkdirAll(root, 0o750); err != nil {
		return "", fmt.Errorf("make the directory of workers: %w", err)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", fmt.Errorf("find the directory of workers: %w", err)
	}
	// The marker is compared as text.
	root, err = filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("find the directory of workers: %w", err)
	}
	return root, nil
}

// lockRoot keeps two supervisors from clearing away each other's workers. A
// child between fork and exec has the lock too, so that whoever gets it finds
// all earlier workers by their environment.
func lockRoot(ctx context.Context, root string) (*os.File, error) {
	name := filepath.Join(root, ".lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, fmt.Errorf("lock the directory of workers: %w", err)
	}
	const patience, pause = time.Second, 20 * time.Millisecond
	for range patience / pause {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		err = fmt.Errorf("%w; stop that, or give this one a storm.local.dir of its own", ErrInUse)
		if !rest(ctx, clock.Real{}, pause) {
			break
		}
	}
	f.Close()
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

// InUse tells whether a Manager of any process has this root.
func InUse(root string) bool {
	f, err := os.OpenFile(filepath.Join(root, ".lock"), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close() // which gives the lock back
	return errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
}

// Close stops looking after the workers and leaves them running. Handles that
// are not done will never be.
func (m *Manager) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	m.mu.Unlock()
	m.stop()
	m.wg.Wait()
	for _, h := range m.current() {
		h.leader.close()
	}
	return m.lock.Close()
}

// Root is the directory of workers, absolute and without symbolic links.
func (m *Manager) Root() string { return m.root }

// Dir is the directory of a worker. It is there from Start until Clear.
func (m *Manager) Dir(worker string) string { return filepath.Join(m.root, worker) }

// current are the workers that are looked after.
func (m *Manager) current() []*Handle {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Collect(maps.Values(m.handles))
	return slices.DeleteFunc(list, func(h *Handle) bool { return h == nil })
}

// handle is the worker of that id if it is looked after. It fails if that is
// not known yet.
func (m *Manager) handle(worker string) (*Handle, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, taken := m.handles[worker]
	if taken && h == nil {
		return nil, false, errors.New("it is just being started or looked for; try again")
	}
	return h, taken, nil
}

// claim takes a worker's id, if it is free, until enter or drop. Close waits
// for that.
func (m *Manager) claim(worker string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if _, taken := m.handles[worker]; taken {
		return ErrKnown
	}
	m.handles[worker] = nil
	m.wg.Add(1)
	return nil
}

// enter lets h, whose id was claimed, be looked after.
func (m *Manager) enter(h *Handle) {
	defer m.wg.Done()
	m.mu.Lock()
	m.handles[h.id] = h
	m.mu.Unlock()
	m.spawn(h.watch)
}

// drop takes back claim.
func (m *Manager) drop(worker string) {
	defer m.wg.Done()
	m.remove(worker)
}

func (m *Manager) remove(worker string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.handles, worker)
}

// tend looks at the output files from time to time, and buries orphans.
func (m *Manager) tend(ctx context.Context) {
	timer := m.clock.NewTimer(m.every)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		for _, h := range m.current() {
			h.logs.rotate(m.log)
		}
		if m.orphans {
			m.buryOrphans()
		}
		timer.Reset(m.every)
	}
}

func (m *Manager) buryOrphans() {
	m.births.Lock()
	defer m.births.Unlock()
	if err := bury(m.current()); err != nil {
		m.log.Warn("orphans of workers cannot be reaped", "err", err)
	}
}

// rest waits for d; false if ctx was done first.
func rest(ctx context.Context, c clock.Clock, d time.Duration) bool {
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}
