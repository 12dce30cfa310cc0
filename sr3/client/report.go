package client

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// keptRecoveries is how many recoveries a report has.
const keptRecoveries = 8

// notes are what people may want to know of a task's state. They are for any
// goroutine.
type notes struct {
	t *Task

	mu      sync.Mutex
	report  protocol.TaskReport
	entries []*recoveryNote
	changed bool
	// recovered tells that there was a recovery.
	recovered bool
}

func (n *notes) init(t *Task) {
	n.t = t
	n.report = protocol.TaskReport{Owner: t.o.Owner, Mode: t.o.Mode, Resume: "full", Replicas: t.o.Replicas}
	if t.o.OnDemand {
		n.report.Resume = "ondemand"
	}
}

// state takes down how large the state is. It is called on the task's goroutine.
func (n *notes) state(table *shard.Table) {
	keys, bytes := int64(table.Len()), table.Bytes()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed = n.changed || keys != n.report.Keys || bytes != n.report.Bytes
	n.report.Keys, n.report.Bytes = keys, bytes
}

// saved takes down what became of a save.
func (n *notes) saved(s *saving, err error) {
	defer n.t.c.reportSoon()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changed = true
	if err != nil {
		n.report.Failed = err.Error()
		return
	}
	m := s.manifest
	c := protocol.Checkpoint{
		Version: s.version, AtMillis: m.CreatedMillis, DurationMS: millis(time.Since(s.began)), FreezeMS: millis(s.freeze),
		Shards: len(m.Shards), Nodes: make(map[shard.NodeID]int64),
	}
	for _, chain := range m.Shards {
		fewest := m.Replicas
		for _, ref := range chain {
			c.Stored += ref.Stored
			fewest = min(fewest, len(ref.Holders))
			for _, id := range ref.Holders {
				c.Nodes[id] += ref.Stored
			}
			if ref.Version == s.version {
				c.Objects++
				c.Bytes += ref.Stored
			}
		}
		if fewest < m.Replicas {
			c.Short++
		}
	}
	if c.Short > 0 && n.report.Checkpoint.Short == 0 && n.t.c.short.CompareAndSwap(false, true) {
		// Of all tasks here the first one says it; the reports have the others.
		n.t.c.cfg.Log.Warn("there are fewer hosts than replicas wanted: some shards have fewer copies",
			"owner", m.Owner.String(), "replicas", m.Replicas, "shards", c.Short)
	}
	if c.Short == 0 {
		n.t.c.short.Store(false)
	}
	n.report.Checkpoint, n.report.Failed = c, ""
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Report is what is known of the task's state. It may be called on any goroutine.
func (t *Task) Report() protocol.TaskReport {
	r, _ := t.notes.take(false)
	return r
}

// take gives the report; changed tells whether it has since the last call with
// reset.
func (n *notes) take(reset bool) (r protocol.TaskReport, changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, changed = n.report, n.changed
	if reset {
		n.changed = false
	}
	r.AtMillis = n.t.c.cfg.Now().UnixMilli()
	r.Checkpoint.Nodes = maps.Clone(r.Checkpoint.Nodes)
	r.Recoveries = nil
	for _, e := range n.entries {
		r.Recoveries = append(r.Recoveries, e.entry)
	}
	return r, changed
}

// recoveryNote is one recovery in the report.
type recoveryNote struct {
	n       *notes
	began   time.Time
	fetch   time.Time // the plan was made
	last    time.Time // the last bytes came
	over    time.Time // all was installed
	entry   protocol.Recovery
	waiting string
	first   bool // of the task
}

// recovery begins to take down a recovery.
func (n *notes) recovery(v shard.Version) *recoveryNote {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := &recoveryNote{n: n, began: time.Now(), first: !n.recovered}
	n.recovered = true
	e.entry = protocol.Recovery{AtMillis: n.t.c.cfg.Now().UnixMilli(), Running: true}
	e.entry.Owner, e.entry.Version = n.t.o.Owner.String(), v
	if v == 0 {
		return e // nothing is brought back
	}
	n.entries = append(n.entries, e)
	if len(n.entries) > keptRecoveries {
		n.entries = slices.Delete(n.entries, 0, 1)
	}
	n.changed = true
	return e
}

// planned takes down the plan.
func (e *recoveryNote) planned(p *recovery.Plan) {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	e.fetch = time.Now()
	from := e.began
	if e.first && !e.n.t.o.Noticed.IsZero() {
		from = e.n.t.o.Noticed // the worker had to be started first
		e.entry.DetectMS = millis(e.n.t.o.Detect)
	}
	e.entry.PlaceMS = millis(e.fetch.Sub(from))
	e.entry.Mode, e.entry.Reason, e.entry.PredictedMS, e.entry.Shards = p.Mode, p.Reason, p.Predicted.TotalMS, p.Shards
	e.entry.Receiver = p.Receiver
	e.n.changed = true
}

// waitFor takes down what cannot be had; "" if nothing.
func (e *recoveryNote) waitFor(what string) {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	e.waiting, e.entry.WaitsFor = what, what
	e.n.changed = true
}

func (e *recoveryNote) isWaiting() bool {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	return e.waiting != ""
}

// arrived takes down that bytes came.
func (e *recoveryNote) arrived() {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	e.last = time.Now()
}

// progress takes down how far the tracker is; over tells that all is installed.
func (e *recoveryNote) progress(r recovery.Report, over bool) {
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	now := time.Now()
	r.DetectMS, r.PlaceMS = e.entry.DetectMS, e.entry.PlaceMS
	if !e.last.IsZero() {
		r.FetchMS = millis(e.last.Sub(e.fetch))
	}
	e.entry.Report = r
	e.n.changed = true
	if over {
		e.over = now
		e.entry.RebuildMS = millis(now.Sub(e.fetch)) - r.FetchMS
		e.entry.Running = false
	}
}

// told takes down that the task may go on.
func (e *recoveryNote) told(err error) {
	defer e.n.t.c.reportSoon()
	e.n.mu.Lock()
	defer e.n.mu.Unlock()
	now := time.Now()
	e.entry.FirstMS = millis(now.Sub(e.began))
	if !e.over.IsZero() {
		e.entry.ResumeMS = millis(now.Sub(e.over))
	}
	if e.entry.Shards == 0 || err != nil {
		e.entry.Running = false
	}
	e.n.changed = true
}

// reportSoon has changed reports sent without waiting for their time.
func (c *Client) reportSoon() {
	select {
	case c.reports <- struct{}{}:
	default:
	}
}

// report sends what has changed to this host's node.
func (c *Client) report(ctx context.Context) {
	tick := time.NewTicker(c.cfg.ReportEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.reports:
		}
		c.mu.Lock()
		tasks := slices.Collect(maps.Keys(c.tasks))
		c.mu.Unlock()
		for _, t := range tasks {
			if r, changed := t.notes.take(true); changed {
				r.Link = c.link()
				c.putReport(ctx, t, r)
			}
		}
	}
}

// putReport sends a report; if that fails it is sent again with the next.
func (c *Client) putReport(ctx context.Context, t *Task, r protocol.TaskReport) {
	addrs := c.cfg.Nodes()
	if len(addrs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if err := c.ask(ctx, addrs[0], protocol.PutReport, r, nil); err != nil {
		t.notes.mu.Lock()
		t.notes.changed = true
		t.notes.mu.Unlock()
		c.cfg.Log.Debug("a report did not reach the node of this host", "owner", r.Owner.String(), "error", err)
	}
}
