package compare

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// store is a Redis server.
type store struct {
	addr string
	*daemon
}

// startStore starts one, which keeps nothing on disk, and waits until it listens.
func (l *lab) startStore(ctx context.Context) (*store, error) {
	dir := filepath.Join(l.work, "redis")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	free, err := freePorts(ctx, 1)
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(free[0])
	d, err := launch(dir, "redis", "redis-server", "--port", port, "--bind", localhost, "--save", "", "--appendonly", "no", "--dir", dir)
	if err != nil {
		return nil, fmt.Errorf("the store of Storm's state: %w", err)
	}
	s := &store{addr: net.JoinHostPort(localhost, port), daemon: d}
	err = l.until(ctx, "Redis listens", func() (bool, error) {
		if err := d.failed(); err != nil {
			return false, err
		}
		c, err := new(net.Dialer).DialContext(ctx, "tcp", s.addr)
		if err != nil {
			return false, nil //nolint:nilerr // it has not begun
		}
		return true, c.Close()
	})
	if err != nil {
		d.kill()
		return nil, err
	}
	return s, nil
}

// resident is the memory of the server.
func (s *store) resident() (int64, error) {
	pid := s.cmd.Process.Pid
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	p, err := parseStat(pid, text, int64(os.Getpagesize()))
	return p.resident, err
}

// runState fills a state, kills its worker and sees it come back.
func (l *lab) runState(ctx context.Context, shape Shape) (m Measures, err error) {
	j, err := l.newJob(shape, false, 0)
	if err != nil {
		return m, err
	}
	var kept *store
	if l.on == Storm {
		if kept, err = l.startStore(ctx); err != nil {
			return m, err
		}
		defer kept.kill()
		j.redis = kept.addr
	}
	l.say("filling a state")
	if err := l.begin(ctx, j, &m); err != nil {
		return m, err
	}
	if err := l.fill(ctx, j, &m); err != nil {
		return m, err
	}
	after, err := l.use()
	if err != nil {
		return m, err
	}
	m.DaemonsMiB, m.WorkersMiB = float64(after.daemons)/mib, float64(after.workers)/mib
	if kept != nil {
		n, err := kept.resident()
		if err != nil {
			return m, err
		}
		m.StoreMiB = float64(n) / mib
	}
	l.say("recovery of a state")
	if err := l.recover(ctx, j, &m); err != nil {
		return m, err
	}
	gone, err := l.kill(ctx, j.name)
	m.Gone = gone.Seconds()
	return m, err
}

// fill waits until all values are put and a checkpoint that holds them is committed:
// the one that ends after the next begin of a commit.
func (l *lab) fill(ctx context.Context, j job, m *Measures) error {
	var begin, full time.Time
	return l.until(ctx, "a checkpoint holds the whole state", func() (bool, error) {
		all, err := readJournals(j.folder, counts)
		if err != nil {
			return false, err
		}
		if begin, full = filled(all, int64(l.opts.Settings.Keys)); full.IsZero() {
			return false, nil
		}
		done, err := readJournals(j.folder, commits)
		if err != nil {
			return false, err
		}
		// The first commit after that may be of a checkpoint from before it, and the
		// second is only about to be committed.
		const enough = 3
		at, n := time.Time{}, 0
		for _, x := range done {
			for _, line := range x.lines {
				if line.at.After(full) {
					at, n = line.at, n+1
				}
			}
		}
		m.Fill = at.Sub(begin).Seconds()
		return n >= enough, nil
	})
}

// filled tells when the first value was put, and when all were; zero if they are not.
func filled(all []journal, keys int64) (begin, full time.Time) {
	for _, x := range all {
		for i, line := range x.lines {
			if i == 0 && (begin.IsZero() || line.at.Before(begin)) {
				begin = line.at
			}
			if len(line.numbers) > 1 && line.numbers[1] >= keys && full.IsZero() {
				full = line.at
			}
		}
	}
	return begin, full
}

var errLost = errors.New("values of the state were put again, so they were lost")

// recover kills the worker, and waits until its successor has read a value, and then
// each once. They come in turn, from the first on.
func (l *lab) recover(ctx context.Context, j job, m *Measures) error {
	at, known, err := l.killWorker(j)
	if err != nil {
		return err
	}
	return l.until(ctx, "the state is there again", func() (bool, error) {
		all, err := readJournals(j.folder, counts)
		if err != nil {
			return false, err
		}
		for _, x := range all {
			if known[x.pid] {
				continue
			}
			for _, line := range x.lines {
				if len(line.numbers) < 2 || line.numbers[1] > 0 {
					return false, errLost
				}
				if m.Death == 0 {
					m.Death = line.at.Sub(at).Seconds()
				}
				if line.numbers[0] >= int64(l.opts.Settings.Keys) {
					m.Whole = line.at.Sub(at).Seconds()
					return true, nil
				}
			}
		}
		return false, nil
	})
}
