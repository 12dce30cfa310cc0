package simulation

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/upkeep"
	"github.com/stormring/stormring/worker/checkpoint"
)

// ringConfig says what a world with state on the ring is like.
type ringConfig struct {
	Seed uint64
	// Brutal worlds lose more disks than there are copies. Then a recovery may
	// wait for ever, but must say for which shard, and must never be wrong.
	Brutal bool
	// Mode is how states are recovered.
	Mode recovery.Mode
	// Bug is something that the world does wrong on purpose, to see whether it is
	// found: see TestRingChecksFindBugs.
	Bug string
}

// ringWorld is a topology with state on a ring of hosts. The pure cores are real:
// ring, shard, upkeep, recovery, checkpoint; disks, processes and the network are
// here. One thread, one seed, a clock that goes from event to event.
//
//   - sr3_net_test.go: messages; sr3_host_test.go: nodes and their disks;
//     sr3_upkeep_test.go: what nodes do by themselves;
//   - sr3_task_test.go, sr3_leader_test.go: the topology and its checkpoints;
//   - sr3_save_test.go, sr3_load_test.go, sr3_stream_test.go: states on their way;
//   - sr3_faults_test.go: what goes wrong; sr3_truth_test.go: what must hold.
type ringWorld struct {
	cfg     ringConfig
	rng     *rand.Rand
	now     time.Duration
	queue   ringAgenda
	order   uint64
	history hash.Hash64
	buf     []byte
	trace   []string
	tracing bool
	err     error
	calm    bool
	pace    int  // of faults: the higher, the fewer
	quiet   bool // no checkpoints now, only the ring lives

	replicas int
	racks    int // 0 is unknown
	ringCfg  ring.Config
	keepCfg  upkeep.Config
	codec    *shard.Codec
	hosts    []*ringHost
	parts    []int // which hosts hear each other, by index; nil is all
	cut      map[[2]int]bool

	comps  []checkpoint.Component
	plan   checkpoint.Plan
	tasks  map[int32]*ringTask
	ids    []int32
	queues map[[2]int32]*ringQueue
	saves  []*ringSave // under way
	keys   int64

	leader, zombie *checkpoint.Coordinator
	epoch          uint64
	record, before checkpoint.Record
	storeAway      bool

	truth  ringTruth
	Counts ringCounts
}

// ringCounts tells what happened, to judge whether it was enough.
type ringCounts struct {
	Commits, Rollbacks, Loads, Waits, Short, Folds, Repairs, Moved, Swept, Asked, Offers, Fenced int
	Faults, Tempted                                                                              map[string]int
	Lost                                                                                         int // worlds that ended with state lost
	Events                                                                                       uint64
	Modes                                                                                        map[recovery.Mode]int
}

// life is that of a process; what it has set going ends with it.
type life struct {
	parent *life
	over   bool
	asleep time.Duration // until
}

func (l *life) ended() bool {
	for ; l != nil; l = l.parent {
		if l.over {
			return true
		}
	}
	return false
}

func (l *life) wakes() time.Duration {
	at := time.Duration(0)
	for ; l != nil; l = l.parent {
		at = max(at, l.asleep)
	}
	return at
}

type ringEvent struct {
	at    time.Duration
	order uint64
	do    func()
}

// ringAgenda is a heap, the next event first.
type ringAgenda []ringEvent

func (q ringAgenda) less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}

func (q *ringAgenda) push(e ringEvent) {
	*q = append(*q, e)
	for i := len(*q) - 1; i > 0 && q.less(i, (i-1)/2); i = (i - 1) / 2 {
		(*q)[i], (*q)[(i-1)/2] = (*q)[(i-1)/2], (*q)[i]
	}
}

func (q *ringAgenda) pop() ringEvent {
	old := *q
	first, last := old[0], len(old)-1
	old[0], old[last] = old[last], ringEvent{}
	*q = old[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && q.less(child+1, child) {
			child++
		}
		if child >= last || !q.less(child, i) {
			return first
		}
		old[i], old[child] = old[child], old[i]
		i = child
	}
}

// after has something done later.
func (w *ringWorld) after(d time.Duration, do func()) {
	w.order++
	w.queue.push(ringEvent{w.now + max(d, 0), w.order, do})
}

// on has something done later, if the life is not over then; a process that
// sleeps does it when it wakes.
func (w *ringWorld) on(l *life, d time.Duration, do func()) {
	w.after(d, func() {
		if l.ended() {
			return
		}
		if at := l.wakes(); at > w.now {
			w.on(l, at-w.now, do)
			return
		}
		do()
	})
}

var ringBase = time.Unix(1_700_000_000, 0)

func (w *ringWorld) time() time.Time { return ringBase.Add(w.now) }

// millis is a chance duration.
func (w *ringWorld) millis(from, to int) time.Duration {
	return time.Duration(from+w.rng.IntN(max(to-from, 1)))*time.Millisecond + time.Duration(w.rng.IntN(1000))*time.Microsecond
}

// chance is true one time in n, fault too, until faults end.
func (w *ringWorld) chance(n int) bool { return w.rng.IntN(n) == 0 }
func (w *ringWorld) fault(n int) bool  { return !w.calm && w.rng.IntN(n) == 0 }

// note writes history.
func (w *ringWorld) note(format string, args ...any) {
	w.buf = binary.LittleEndian.AppendUint64(w.buf[:0], uint64(w.now))
	w.buf = fmt.Appendf(w.buf, format, args...)
	w.history.Write(w.buf)
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%9.3f  %s", w.now.Seconds(), w.buf[8:]))
	}
}

// broken notes that something does not hold that must; the first counts.
func (w *ringWorld) broken(format string, args ...any) {
	w.note("BROKEN "+format, args...)
	if w.err == nil {
		w.err = fmt.Errorf("seed %d at %.3f s: %s", w.cfg.Seed, w.now.Seconds(), fmt.Sprintf(format, args...))
	}
}

// newRingWorld makes a world whose nodes are about to join.
func newRingWorld(cfg ringConfig, codec *shard.Codec) *ringWorld {
	w := &ringWorld{
		cfg: cfg, rng: rand.New(rand.NewPCG(cfg.Seed, 0x72696e67)), history: fnv.New64a(), codec: codec,
		cut: make(map[[2]int]bool), tasks: make(map[int32]*ringTask), queues: make(map[[2]int32]*ringQueue),
		ringCfg: ring.Default(), keepCfg: upkeep.Default(), truth: newRingTruth(),
	}
	w.Counts.Faults, w.Counts.Tempted, w.Counts.Modes = make(map[string]int), make(map[string]int), make(map[recovery.Mode]int)
	w.ringCfg.SuspectFor = time.Second
	c := &w.keepCfg
	c.Grace, c.Promise, c.Believe = 12*time.Second, 8*time.Second, 4*time.Second
	c.Retry, c.RetryMax, c.OfferEvery, c.Step = time.Second, 6*time.Second, 20*time.Second, 2*time.Second
	c.MaxFetches = 8
	c.RepairDelay = []time.Duration{time.Second, 3 * time.Second, 10 * time.Second}[w.rng.IntN(3)]
	w.replicas, w.pace = 2+w.rng.IntN(2), 1+w.rng.IntN(4)
	if w.chance(4) {
		w.racks = 2 + w.rng.IntN(3)
	}
	for range 2*w.replicas + w.rng.IntN(3) {
		w.addHost()
	}
	if w.chance(4) { // some machines run two nodes
		for _, h := range slices.Clone(w.hosts[:1+w.rng.IntN(2)]) {
			w.addHost().self.Host = h.self.Host
		}
	}
	for _, h := range w.hosts {
		w.startNode(h)
	}
	w.shape()
	w.after(4*time.Second, func() {
		for _, id := range w.ids {
			w.startTask(w.tasks[id], w.hosts[w.rng.IntN(len(w.hosts))])
		}
		w.newLeader()
	})
	w.watch()
	return w
}

// run lets time pass until then, or until ready says so; false if it did not.
func (w *ringWorld) run(until time.Duration, ready func() bool) bool {
	for len(w.queue) > 0 && w.queue[0].at <= until && w.err == nil {
		e := w.queue.pop()
		w.now = e.at
		w.Counts.Events++
		e.do()
		if ready != nil && ready() {
			return true
		}
	}
	w.now = max(w.now, until)
	return ready == nil && w.err == nil
}
