//go:build unix

package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Find takes hold of a worker that this or an earlier supervisor started; false
// if nothing of it is alive. If only processes that it left behind are alive,
// the Handle ends those by itself. An error means that it cannot be told.
func (m *Manager) Find(worker string) (*Handle, bool, error) {
	if err := checkID(worker); err != nil {
		return nil, false, err
	}
	h, ok, err := m.handle(worker)
	if err == nil && !ok {
		h, ok, err = m.adopt(worker)
	}
	if err != nil {
		return nil, false, fmt.Errorf("find worker %s: %w", worker, err)
	}
	return h, ok, nil
}

func (m *Manager) adopt(worker string) (*Handle, bool, error) {
	err := m.claim(worker)
	if errors.Is(err, ErrKnown) { // somebody else was faster
		return m.handle(worker)
	}
	if err != nil {
		return nil, false, err
	}
	logs, leader, err := m.seek(worker)
	if err != nil || leader == nil {
		m.drop(worker)
		return nil, false, err
	}
	h := newHandle(m, worker, logs, leader)
	h.adopted = true
	m.enter(h)
	return h, true, nil
}

// seek finds the leader of a worker; nil if nothing is alive, and one that has
// ended if only others are alive.
func (m *Manager) seek(worker string) (*logs, *lookout, error) {
	dir := m.Dir(worker)
	rec, ok, err := readRecord(dir)
	if err != nil {
		m.log.Warn("a worker's record cannot be used; it is looked for by its environment", "worker", worker, "err", err)
	}
	logs := newLogs(rec.Logs)
	known := ok && rec.PID > 0 && rec.Boot == bootID()
	if !known {
		rec.PID, rec.Start = 0, 0
	}
	alive, err := isAlive(rec.PID, rec.Start)
	if err != nil {
		return nil, nil, err
	}
	if alive {
		return logs, look(rec.PID, rec.Start), nil
	}
	all, err := scan()
	if err != nil {
		return nil, nil, err
	}
	left := belonging(all, rec.PID, rec.Start, dir)
	if len(left) == 0 {
		return nil, nil, nil
	}
	if leader, found := leaderOf(left); found && !known {
		rec.PID, rec.Start, rec.Boot = leader.pid, leader.start, bootID()
		if ok {
			err = rec.write(dir)
		}
		if err != nil {
			m.log.Warn("a worker's process is not on record", "worker", worker, "pid", leader.pid, "err", err)
		}
	}
	return logs, look(rec.PID, rec.Start), nil
}

// leaderOf is the process that all others came from: the first leader of a
// session that no other of them started.
func leaderOf(list []proc) (proc, bool) {
	isOne := make(map[int]bool, len(list))
	for _, p := range list {
		isOne[p.pid] = true
	}
	list = slices.DeleteFunc(slices.Clone(list), func(p proc) bool { return p.session != p.pid || isOne[p.ppid] })
	if len(list) == 0 {
		return proc{}, false
	}
	return slices.MinFunc(list, func(a, b proc) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	}), true
}

// belonging are the living processes of a worker other than its leader: those
// of its session, those that are marked, and what descends from those. pid is
// the leader's id or 0.
func belonging(all []proc, pid int, start uint64, dir string) []proc {
	self := os.Getpid()
	in := make(map[int]bool)
	for _, p := range all {
		if pid > 0 && p.pid == pid {
			if p.start == start {
				in[pid] = true
			} else {
				pid = 0 // the id is another's by now, and so is the session's
			}
			break
		}
	}
	mine := func(p proc) bool {
		return p.pid != self && p.pid != 1 &&
			(p.marker == dir || pid > 0 && p.session == pid && p.start >= start || in[p.ppid])
	}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.pid] && mine(p) {
				in[p.pid], grown = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p proc) bool {
		return !in[p.pid] || p.zombie || pid > 0 && p.pid == pid
	})
}

// Listed is what is there of a worker.
type Listed struct {
	WorkerID string
	// PIDs are the living processes that carry its mark or that its record
	// names; not all of those that it started need to be among them.
	PIDs []int
	// Dir tells that its directory is there.
	Dir bool
}

// List is all that there is of workers in this Manager's directory and among
// the processes of this host, sorted by id, whether a record names it or not.
func (m *Manager) List() ([]Listed, error) {
	found := make(map[string]*Listed)
	at := func(worker string) *Listed {
		if found[worker] == nil {
			found[worker] = &Listed{WorkerID: worker}
		}
		return found[worker]
	}
	all, err := scan()
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	for _, p := range all {
		worker, ok := strings.CutPrefix(p.marker, m.root+string(filepath.Separator))
		if ok && !p.zombie && p.pid != os.Getpid() && checkID(worker) == nil {
			l := at(worker)
			l.PIDs = append(l.PIDs, p.pid)
		}
	}
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return nil, fmt.Errorf("list workers: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || checkID(e.Name()) != nil {
			continue
		}
		l := at(e.Name())
		l.Dir = true
		rec, ok, err := readRecord(m.Dir(e.Name()))
		if err != nil || !ok || rec.Boot != bootID() || slices.Contains(l.PIDs, rec.PID) {
			continue
		}
		alive, err := isAlive(rec.PID, rec.Start)
		if err != nil {
			return nil, fmt.Errorf("list workers: %w", err)
		}
		if alive {
			l.PIDs = append(l.PIDs, rec.PID)
		}
	}
	out := make([]Listed, 0, len(found))
	for _, l := range found {
		slices.Sort(l.PIDs)
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Listed) int { return cmp.Compare(a.WorkerID, b.WorkerID) })
	return out, nil
}

// Sweep kills and clears away every worker that keep does not want, which is
// what a supervisor does that starts: keep then tells what its records name.
func (m *Manager) Sweep(ctx context.Context, keep func(worker string) bool) error {
	list, err := m.List()
	if err != nil {
		return err
	}
	var errs []error
	var dying []*Handle
	list = slices.DeleteFunc(list, func(l Listed) bool { return keep(l.WorkerID) })
	for _, l := range list {
		h, alive, err := m.Find(l.WorkerID)
		if err == nil && alive {
			dying = append(dying, h)
			err = h.Kill()
		}
		errs = append(errs, err)
	}
	for _, h := range dying {
		select {
		case <-h.Done():
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("worker %s, process %d, does not end: %w", h.id, h.PID(), ctx.Err()))
		}
	}
	for _, l := range list {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, m.Clear(ctx, l.WorkerID))
	}
	return errors.Join(errs...)
}
