package advertising

import (
	"hash/fnv"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

// world is the topology without a runtime: tasks with their states, the lines
// that are under way, and the last checkpoint.
type world struct {
	t       rapid.TB
	o       options
	job     *job
	table   map[string]string
	spouts  []*opened
	count   []*counter
	users   []*tally
	rejects *tally
	// states are those of all tasks, spouts first, and saved what the last
	// checkpoint has of them.
	states, saved []*storm.MapState
	queue         []storm.Tuple
}

func newWorld(t rapid.TB, o options) *world {
	w := &world{t: t, o: o, job: newJob(o.data.Events, 2*o.parallelism+1), table: o.data.table()}
	n := o.spouts + 2*o.parallelism + 1
	w.spouts = make([]*opened, o.spouts)
	w.count, w.users = make([]*counter, o.parallelism), make([]*tally, o.parallelism)
	for range n {
		w.saved = append(w.saved, storm.NewMapState())
	}
	w.rollback(func(int) bool { return true })
	return w
}

// rollback takes all tasks back to the checkpoint; those that are lost are made
// anew.
func (w *world) rollback(lost func(task int) bool) {
	w.queue, w.states = nil, nil
	for _, s := range w.saved {
		w.states = append(w.states, clone(s))
	}
	n := 0
	next := func() (anew bool, s storm.State) {
		n++
		return lost(n - 1), w.states[n-1]
	}
	for i := range w.spouts {
		if anew, s := next(); anew {
			w.spouts[i] = openSpout(w.t, w.o.data, 0, i, w.o.spouts, s)
		} else {
			must(w.t, w.spouts[i].InitState(s))
		}
	}
	pub := publisher{job: w.job, dir: w.o.output}
	for i := range w.count {
		anew, s := next()
		if anew {
			w.count[i] = &counter{pub: pub}
			must(w.t, w.count[i].Prepare(taskContext("count", i, len(w.count))))
		}
		must(w.t, w.count[i].InitState(s))
	}
	for i := range w.users {
		w.users[i] = w.restore(w.users[i], "users", ofUsers, i, pub, next)
	}
	w.rejects = w.restore(w.rejects, "rejects", ofRejected, 0, pub, next)
}

func (w *world) restore(b *tally, component string, into func(Counts) map[string]int64, rank int, pub publisher, next func() (bool, storm.State)) *tally {
	anew, s := next()
	if anew {
		b = &tally{into: into, pub: pub}
		must(w.t, b.Prepare(taskContext(component, rank, rank+1)))
	}
	must(w.t, b.InitState(s))
	return b
}

// emit has a spout emit one event.
func (w *world) emit(spout int) {
	s := w.spouts[spout]
	for _, line := range s.take(1) {
		w.queue = append(w.queue, tuple(storm.String(line), storm.Int(s.arrived[len(s.arrived)-1])))
	}
}

// drain has up to n of the lines under way be counted.
func (w *world) drain(n int) {
	n = min(n, len(w.queue))
	for _, t := range w.queue[:n] {
		w.process(t.String(0), t.Value(1))
	}
	w.queue = w.queue[n:]
}

func (w *world) process(line string, arrived storm.Value) {
	e, reason := parse(line)
	if reason == "" && e.Type != view {
		return
	}
	if reason == "" {
		must(w.t, w.users[pick(e.User, len(w.users))].Execute(tuple(storm.String(e.User)), nil))
		campaign, ok := w.table[e.Ad]
		if ok {
			must(w.t, w.count[pick(campaign, len(w.count))].Execute(tuple(storm.String(campaign), storm.Int(e.Time), arrived), nil))
			return
		}
		reason = UnknownAd
	}
	must(w.t, w.rejects.Execute(tuple(storm.String(reason)), nil))
}

func pick(key string, n int) int {
	h := fnv.New32()
	h.Write([]byte(key))
	return int(h.Sum32()) % n
}

// checkpoint makes one, which contains all that was emitted.
func (w *world) checkpoint(tx int64) {
	for _, s := range w.spouts {
		must(w.t, s.PrePrepare(tx))
	}
	w.drain(len(w.queue))
	for i, s := range w.states {
		w.saved[i] = clone(s)
	}
	for _, b := range w.bolts() {
		must(w.t, b.PreCommit(tx))
	}
	for _, s := range w.spouts {
		for _, id := range s.ids {
			s.Ack(storm.Int(id))
		}
		s.ids = nil
	}
}

func (w *world) bolts() []interface {
	storm.PreCommitter
	Cleanup() error
} {
	all := []interface {
		storm.PreCommitter
		Cleanup() error
	}{w.rejects}
	for i := range w.count {
		all = append(all, w.count[i], w.users[i])
	}
	return all
}

// TestExactlyOnce has tasks, any of them and at any moment, be lost: in the end
// the counts are exact, in the job and in the folder of --output.
func TestExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := options{
			data: Data{
				Seed: rapid.Uint64().Draw(t, "seed"), Events: rapid.Int64Range(1, 300).Draw(t, "events"), Campaigns: 3, Ads: 2,
				Users: 20, PerSecond: rapid.SampledFrom([]int{1, 5, 100}).Draw(t, "per second"),
			},
			spouts:      rapid.IntRange(1, 3).Draw(t, "spouts"),
			parallelism: rapid.IntRange(1, 3).Draw(t, "parallelism"),
		}
		w := newWorld(t, o)
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				w.checkpoint(int64(step))
			case 1:
				lost := rapid.Uint64().Draw(t, "lost")
				w.rollback(func(task int) bool { return lost>>task&1 == 1 })
			case 2, 3, 4:
				w.drain(rapid.IntRange(0, 50).Draw(t, "n"))
			default:
				for range rapid.IntRange(1, 30).Draw(t, "n") {
					w.emit(rapid.IntRange(0, o.spouts-1).Draw(t, "spout"))
				}
			}
		}
		w.finish()
		got, err := w.job.counts()
		must(t, err)
		if diff := got.Diff(o.data.Expected(), 5); diff != nil {
			t.Fatalf("%q", diff)
		}
	})
}

// finish has all events counted and committed.
func (w *world) finish() {
	for i, s := range w.spouts {
		for !s.done() {
			w.emit(i)
		}
	}
	w.checkpoint(1000)
	for i, s := range w.spouts {
		if !s.Exhausted() {
			w.t.Fatalf("spout task %d is not exhausted, %d are pending", i, s.pending)
		}
	}
	for _, b := range w.bolts() {
		must(w.t, b.Cleanup())
	}
}

// TestOutput has the folder hold the counts of the last commit, also after
// tasks went back.
func TestOutput(t *testing.T) {
	dir := t.TempDir() + "/made"
	o := options{data: Data{Seed: 5, Events: 2000, Campaigns: 3, Ads: 2, Users: 20, PerSecond: 10}, spouts: 2, parallelism: 2, output: dir}
	w := newWorld(t, o)
	if c, err := ReadCounts(dir); err != nil || len(c.Diff(NewCounts(), 1)) > 0 {
		t.Fatalf("%v, %v", c, err)
	}
	for i := range 500 {
		w.emit(i % 2)
	}
	w.checkpoint(1)
	part := o.data
	part.Events = 500
	for range 2 {
		got, err := ReadCounts(dir)
		must(t, err)
		if diff := got.Diff(part.Expected(), 5); diff != nil {
			t.Fatalf("%q", diff)
		}
		// What is forgotten leaves no trace after the next commit.
		for range 300 {
			w.emit(0)
		}
		w.drain(200)
		w.rollback(func(task int) bool { return task%2 == 0 })
		w.checkpoint(2)
	}
	w.finish()
	got, err := ReadCounts(dir)
	must(t, err)
	if diff := got.Diff(o.data.Expected(), 5); diff != nil {
		t.Fatalf("%q", diff)
	}
}
