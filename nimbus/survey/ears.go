package survey

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// Timeouts say how long silence is borne, in seconds.
type Timeouts struct {
	// Supervisor is nimbus.supervisor.timeout.secs.
	Supervisor int64
	// Task is nimbus.task.timeout.secs, Launch nimbus.task.launch.secs.
	Task, Launch int64
}

// Sign is a supervisor's znode as it was read.
type Sign struct {
	Record cluster.SupervisorRecord
	// Change tells one write of the znode from another.
	Change int64
}

// Ears remembers what a leader has heard of supervisors and workers. Whatever
// was there when it began to lead is taken to live from then on, and what then
// stays silent is given up after its time-out. Only changes count, and only
// when they are heard of, so that clocks of hosts need not agree. It belongs to
// one goroutine at a time; time must not go back.
type Ears struct {
	t     Timeouts
	start int64
	sups  map[cluster.SupervisorID]*heard
}

// heard is what is known of one supervisor.
type heard struct {
	sign     Sign
	present  bool
	standin  bool
	lost     bool
	at       int64
	used     []cluster.Port
	report   *cluster.SupervisorReport
	reportAt int64
	beats    map[beatKey]beat
	running  int // executors in the last report
}

type beatKey struct {
	topology cluster.TopologyID
	port     cluster.Port
	executor cluster.Executor
}

// beat is what was last heard of an executor.
type beat struct {
	stamp, at int64 // when, by the supervisor's clock and by ours
	uptime    int
	stats     *cluster.ExecutorStats
}

// NewEars makes the ears of a leader that begins at startSecs.
func NewEars(t Timeouts, startSecs int64) *Ears {
	return &Ears{t: t, start: startSecs, sups: map[cluster.SupervisorID]*heard{}}
}

// Look takes the znodes that are there and the supervisors that assignments
// mention. It returns, sorted, those that are lost from now on.
func (e *Ears) Look(now int64, signs map[cluster.SupervisorID]Sign, mentioned map[cluster.SupervisorID]cluster.SupervisorRecord) []cluster.SupervisorID {
	for id, s := range signs {
		h := e.of(id)
		if h.at == 0 || h.standin || h.sign.Change != s.Change {
			h.at, h.lost, h.used = max(now, 1), false, s.Record.UsedPorts
		}
		h.sign, h.standin = s, false
	}
	for id, record := range mentioned {
		// A report may have come before its znode: after a change of leader both
		// come anew, in any order.
		if h := e.of(id); h.at == 0 {
			h.standin, h.at, h.sign.Record = true, max(e.start, 1), record
		}
	}
	var lost []cluster.SupervisorID
	for id, h := range e.sups {
		_, h.present = signs[id]
		_, named := mentioned[id]
		if !h.lost && now-max(h.at, h.reportAt, e.start) > e.t.Supervisor {
			h.lost, h.report, h.beats = true, nil, nil
			lost = append(lost, id)
		}
		if !h.present && (h.lost || h.standin) && !named {
			delete(e.sups, id)
		}
	}
	slices.Sort(lost)
	return lost
}

func (e *Ears) of(id cluster.SupervisorID) *heard {
	h := e.sups[id]
	if h == nil {
		h = &heard{}
		e.sups[id] = h
	}
	return h
}

// Hear takes a report, which is ours from then on. Statistics that it leaves
// out are those of the report before. It returns whether the supervisor's workers are others
// than those before, or it is news that it lives.
func (e *Ears) Hear(now int64, r cluster.SupervisorReport) bool {
	h := e.of(r.Supervisor)
	news := h.report == nil
	h.reportAt, h.report, h.lost = now, &r, false
	beats := make(map[beatKey]beat, len(h.beats))
	used := make([]cluster.Port, 0, len(r.Workers))
	for _, w := range r.Workers {
		used = append(used, w.Port)
		for i, x := range w.Executors {
			key := beatKey{w.Topology, w.Port, x.Executor}
			b, ok := h.beats[key]
			if !ok || b.stamp != w.TimeSecs {
				b.stamp, b.at = w.TimeSecs, now
			}
			if x.Stats != nil || w.UptimeSecs < b.uptime {
				b.stats = x.Stats
			}
			b.uptime, w.Executors[i].Stats = w.UptimeSecs, b.stats
			beats[key] = b
		}
	}
	count := len(beats)
	// What is not there any more was heard of all the same.
	for key, b := range h.beats {
		if _, ok := beats[key]; !ok && now-b.at <= e.t.Task+e.t.Launch {
			beats[key] = b
		}
	}
	slices.Sort(used)
	used = slices.Compact(used)
	news = news || !slices.Equal(used, h.used) || count != h.running
	h.beats, h.used, h.running = beats, used, count
	return news
}

// Living are the supervisors that live, with neither standing nor blacklist.
func (e *Ears) Living() map[cluster.SupervisorID]Supervisor {
	out := make(map[cluster.SupervisorID]Supervisor, len(e.sups))
	for id, h := range e.sups {
		if !h.lost && (h.at > 0) {
			out[id] = Supervisor{Record: h.sign.Record, Present: h.present, Standin: h.standin, Used: h.used, Report: h.report}
		}
	}
	return out
}

// Silent reports whether a placed executor shows no life although its
// supervisor does. While the supervisor itself is silent its workers are taken
// to go on: it may be restarting.
func (e *Ears) Silent(now int64, id cluster.TopologyID, p cluster.Placement) bool {
	h := e.sups[p.Slot.Supervisor]
	if h == nil || h.lost || h.report == nil || now-h.reportAt > e.t.Task {
		return false
	}
	b, ok := h.beats[beatKey{id, p.Slot.Port, p.Executor}]
	if !ok || b.at < p.StartSecs {
		return now-max(p.StartSecs, e.start) > e.t.Launch
	}
	return now-b.at > e.t.Task
}

// Last is when a placed executor was last heard of, as far as this leader can tell: if
// its supervisor is lost, when that was.
func (e *Ears) Last(id cluster.TopologyID, p cluster.Placement) int64 {
	h := e.sups[p.Slot.Supervisor]
	if h == nil {
		return e.start
	}
	b, ok := h.beats[beatKey{id, p.Slot.Port, p.Executor}]
	switch {
	case h.lost:
		return max(h.at, h.reportAt, e.start)
	case !ok || b.at < p.StartSecs:
		return max(p.StartSecs, e.start)
	default:
		return b.at
	}
}

// NextLoss is when, at the earliest after now, something that lives may be
// given up; false if there is nothing.
func (e *Ears) NextLoss(now int64) (int64, bool) {
	next, ok := int64(0), false
	consider := func(at int64) {
		if at > now && (!ok || at < next) {
			next, ok = at, true
		}
	}
	for _, h := range e.sups {
		if h.lost {
			continue
		}
		consider(max(h.at, h.reportAt, e.start) + e.t.Supervisor + 1)
		for _, b := range h.beats {
			consider(b.at + e.t.Task + 1)
		}
	}
	return next, ok
}

// Mentioned are the supervisors that topologies are assigned to, with what the
// assignments tell of them.
func Mentioned(topologies map[cluster.TopologyID]Topology) map[cluster.SupervisorID]cluster.SupervisorRecord {
	out := map[cluster.SupervisorID]cluster.SupervisorRecord{}
	for _, id := range slices.Sorted(maps.Keys(topologies)) {
		record := topologies[id].Record
		for _, s := range record.Assignment.Slots() {
			r := out[s.Supervisor]
			r.Host = cmp.Or(r.Host, record.Hosts[s.Supervisor])
			r.Ports = append(r.Ports, s.Port)
			out[s.Supervisor] = r
		}
	}
	return out
}

// New reports whether nothing was heard of a supervisor yet: its znode came
// after the last look.
func (e *Ears) New(id cluster.SupervisorID) bool { return e.sups[id] == nil || e.sups[id].at == 0 }
