package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The kinds of journals, as topologies/throughput names them.
const (
	counts    = "count"
	latencies = "latency"
	commits   = "commit"
)

const mib = 1 << 20

// lab measures topologies on one running system.
type lab struct {
	*system
	on   System
	work string // where journals go, outside of the system's folder
	jobs int
	say  func(string)
}

// newJob makes a job with a folder of its own.
func (l *lab) newJob(shape Shape, ack bool, rate int) (job, error) {
	l.jobs++
	j := job{name: fmt.Sprintf("%s-%d", shape.Name, l.jobs), shape: shape, ack: ack, rate: rate}
	j.folder = filepath.Join(l.work, j.name)
	return j, os.MkdirAll(j.folder, 0o755)
}

// begin submits a job and waits for its first tuple.
func (l *lab) begin(ctx context.Context, j job, m *Measures) error {
	m.Load = loadAverage()
	start := time.Now()
	if err := l.submit(ctx, l.on, j); err != nil {
		return err
	}
	m.Submit = time.Since(start).Seconds()
	first, err := l.awaitFirst(ctx, j, nil)
	m.First = first.Sub(start).Seconds()
	return err
}

// awaitFirst waits for the first tuple of a process that is not known.
func (l *lab) awaitFirst(ctx context.Context, j job, known map[int]bool) (at time.Time, err error) {
	err = l.until(ctx, "the first tuple of "+j.name, func() (ok bool, err error) {
		all, err := readJournals(j.folder, counts)
		if err == nil {
			at, ok = firstOf(all, known)
		}
		return ok, err
	})
	return at, err
}

// sleep lets time pass.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// run measures one topology: throughput, control plane, and latency if it acks.
func (l *lab) run(ctx context.Context, shape Shape, ack bool) (m Measures, err error) {
	if shape.Name == StateShape {
		return l.runState(ctx, shape)
	}
	j, err := l.newJob(shape, ack, 0)
	if err != nil {
		return m, err
	}
	l.say("throughput")
	if err := l.begin(ctx, j, &m); err != nil {
		return m, err
	}
	if err := l.throughput(ctx, j, &m); err != nil {
		return m, err
	}
	l.say("death of a worker")
	if err := l.death(ctx, j, &m); err != nil {
		return m, err
	}
	gone, err := l.kill(ctx, j.name)
	if err != nil {
		return m, err
	}
	m.Gone = gone.Seconds()
	if ack {
		l.say("latency")
		err = l.latency(ctx, shape, &m)
	}
	return m, err
}

// throughput measures a job that runs at full speed.
func (l *lab) throughput(ctx context.Context, j job, m *Measures) error {
	if err := sleep(ctx, seconds(l.opts.Settings.WarmUpSeconds)); err != nil {
		return err
	}
	before, err := l.use()
	if err != nil {
		return err
	}
	if err := sleep(ctx, seconds(l.opts.Settings.Seconds)); err != nil {
		return err
	}
	after, err := l.use()
	if err != nil {
		return err
	}
	all, err := readJournals(j.folder, counts)
	if err != nil {
		return err
	}
	took := after.at.Sub(before.at).Seconds()
	n := counted(all, before.at, after.at)
	if n <= 0 {
		return fmt.Errorf("%s on %s: no tuple came in %.3g s", j.name, l.on, took)
	}
	own, others := after.since(before)
	m.TuplesPerSec, m.Cores, m.OtherCores = n/took, own.Seconds()/took, others.Seconds()/took
	m.CPUMicros = own.Seconds() * 1e6 / n
	m.DaemonsMiB, m.WorkersMiB = float64(after.daemons)/mib, float64(after.workers)/mib
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// death kills a worker and waits for the first tuple of the next one.
func (l *lab) death(ctx context.Context, j job, m *Measures) error {
	at, known, err := l.killWorker(j)
	if err != nil {
		return err
	}
	first, err := l.awaitFirst(ctx, j, known)
	m.Death = first.Sub(at).Seconds()
	return err
}

// killWorker ends a process that has counted as a crash would. known are all that
// have counted until then.
func (l *lab) killWorker(j job) (at time.Time, known map[int]bool, err error) {
	all, err := readJournals(j.folder, counts)
	if err != nil {
		return at, nil, err
	}
	living, err := l.workers()
	if err != nil {
		return at, nil, err
	}
	known, victim := map[int]bool{}, 0
	for _, x := range all {
		known[x.pid] = true
		if _, ok := living[x.pid]; ok {
			victim = x.pid
		}
	}
	if victim == 0 {
		return at, nil, errors.New("none of the workers that have counted runs any more; see their logs")
	}
	at = time.Now()
	return at, known, syscall.Kill(victim, syscall.SIGKILL)
}

// latency measures the topology at the settings' rate.
func (l *lab) latency(ctx context.Context, shape Shape, m *Measures) error {
	j, err := l.newJob(shape, true, max(1, l.opts.Settings.Rate/max(1, shape.Slow)))
	if err != nil {
		return err
	}
	var other Measures
	if err := l.begin(ctx, j, &other); err != nil {
		return err
	}
	if err := sleep(ctx, seconds(l.opts.Settings.WarmUpSeconds)); err != nil {
		return err
	}
	from := time.Now()
	if err := sleep(ctx, seconds(l.opts.Settings.Seconds)); err != nil {
		return err
	}
	to := time.Now()
	if _, err := l.kill(ctx, j.name); err != nil {
		return err
	}
	all, err := readJournals(j.folder, latencies)
	if err != nil {
		return err
	}
	took := between(all, from, to)
	if len(took) == 0 {
		return fmt.Errorf("%s on %s: no tuple was acked in %.3g s", j.name, l.on, to.Sub(from).Seconds())
	}
	m.P50Micros, m.P99Micros = percentile(took, 0.5)/1e3, percentile(took, 0.99)/1e3
	return nil
}
