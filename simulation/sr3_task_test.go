package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/worker/checkpoint"
)

// ringTask is one life of a task. model is what the table must hold.
type ringTask struct {
	id    int32
	comp  checkpoint.Component
	owner shard.Owner
	host  *ringHost
	life  *life // nil or over while it is down
	align *checkpoint.Aligner
	task  *checkpoint.Task[int]

	table     *shard.Table
	model     map[string]string
	manifest  *shard.Manifest // of the last commit, nil before the first
	committed shard.Version
	saving    *ringSave
	loading   *ringLoad
	folds     map[shard.Range]shard.Ref
	folding   map[shard.Range]bool
	due       map[shard.Range]bool

	sent map[int32]int64
	held []int64
}

// ringQueue is the way from one task to another.
type ringQueue struct {
	from, to int32
	items    []ringItem
	moving   bool
}

// ringItem is a tuple, by its number, or a marker.
type ringItem struct {
	tuple  int64 // 0 is none
	marker checkpoint.Marker
	sent   int64
}

const leaderTask = 0

func (w *ringWorld) fork() *rand.Rand { return rand.New(rand.NewPCG(w.cfg.Seed, w.rng.Uint64())) }

// shape makes one or two spouts, a bolt that counts with one or two tasks, and
// one or two behind it.
func (w *ringWorld) shape() {
	next := int32(1)
	add := func(id string, tasks int, inputs ...string) {
		c := checkpoint.Component{ID: id, Inputs: inputs, Stateful: true}
		for range tasks {
			c.Tasks = append(c.Tasks, next)
			w.ids = append(w.ids, next)
			next++
		}
		w.comps = append(w.comps, c)
	}
	var spouts []string
	for i := range 1 + w.rng.IntN(2) {
		spouts = append(spouts, fmt.Sprintf("spout%d", i))
		add(spouts[i], 1)
	}
	add("count", 1+w.rng.IntN(2), spouts...)
	if w.chance(2) {
		add("total", 1, "count")
	}
	w.keys = 20 + w.rng.Int64N(100)
	var err error
	if w.plan, err = checkpoint.NewPlan(w.comps); err != nil {
		w.broken("%v", err)
	}
	link := func(from, to int32) { w.queues[[2]int32{from, to}] = &ringQueue{from: from, to: to} }
	for _, c := range w.comps {
		for _, id := range c.Tasks {
			if len(c.Inputs) == 0 {
				link(leaderTask, id)
			}
			for _, to := range w.plan.TargetsOf(c.ID) {
				link(id, to)
			}
			w.tasks[id] = &ringTask{id: id, comp: c, owner: shard.Owner{Topology: "words-1", Component: c.ID, Task: id}}
		}
	}
}

// startTask begins a new life of a task on a host.
func (w *ringWorld) startTask(old *ringTask, h *ringHost) {
	inputs := w.plan.InputsOf(old.comp.ID)
	if len(inputs) == 0 {
		inputs = []int32{leaderTask}
	}
	t := &ringTask{id: old.id, comp: old.comp, owner: old.owner, host: h, life: &life{}, sent: make(map[int32]int64)}
	w.note("task %d starts at %s", t.id, h.id)
	t.align = checkpoint.NewAligner(checkpoint.Aligned, inputs, 50)
	t.task = checkpoint.NewTask(t.id, t.align, checkpoint.NewParticipant[int](t.id, t.id%3 == 0))
	t.table, t.model = w.newTable(t.owner), make(map[string]string)
	w.tasks[t.id] = t
	if len(t.comp.Inputs) == 0 {
		w.on(t.life, w.millis(5, 50), func() { w.emit(t) })
	}
}

func (w *ringWorld) newTable(o shard.Owner) *shard.Table {
	return shard.NewTable(shard.Options{Owner: o, Target: 1024})
}

// down tells whether a task does not run.
func (t *ringTask) down() bool { return t.life == nil || t.life.ended() }

func (t *ringTask) put(key, value string) error {
	t.model[key] = value
	return t.table.Put([]byte(key), []byte(value))
}

func (t *ringTask) remove(key string) error {
	delete(t.model, key)
	return t.table.Delete([]byte(key))
}

func (t *ringTask) number(key string) int64 {
	b, ok := t.table.Get([]byte(key))
	if !ok {
		return 0
	}
	n, _ := strconv.ParseInt(string(b), 10, 64)
	return n
}

// emit has a spout emit its next tuple.
func (w *ringWorld) emit(t *ringTask) {
	w.on(t.life, w.millis(40, 120), func() { w.emit(t) })
	if !t.task.Open() || t.task.Paused() || w.backlog() > 60 {
		return
	}
	n := t.number("position") + 1
	w.change(t, t.put("position", strconv.FormatInt(n, 10)))
	w.children(t, int64(t.id)<<32|n)
}

func (w *ringWorld) change(t *ringTask, err error) {
	if err != nil {
		w.broken("task %d: %v", t.id, err)
	}
}

func (w *ringWorld) backlog() int {
	n := 0
	for _, q := range w.queues {
		n += len(q.items)
	}
	return n
}

func (w *ringWorld) children(t *ringTask, tuple int64) {
	for _, c := range w.comps {
		if slices.Contains(c.Inputs, t.comp.ID) && w.tasks[t.id] == t {
			to := ringTarget(c, tuple)
			t.sent[to]++
			w.enqueue(t.id, to, ringItem{tuple: tuple})
		}
	}
}

func ringTarget(c checkpoint.Component, tuple int64) int32 {
	return c.Tasks[uint64(tuple*0x5DEECE66D)>>7%uint64(len(c.Tasks))]
}

// execute counts the tuple's key: c/KEY is how often it came, v/KEY is there for
// some counts only, and has a length that depends on them.
func (w *ringWorld) execute(t *ringTask, tuple int64) {
	if !t.task.Open() {
		w.broken("task %d executes without its state", t.id)
		return
	}
	key := w.keyOf(tuple)
	n := t.number("c/"+key) + 1
	w.change(t, t.put("c/"+key, strconv.FormatInt(n, 10)))
	if value := ringValue(n); value == "" {
		w.change(t, t.remove("v/"+key))
	} else {
		w.change(t, t.put("v/"+key, value))
	}
	w.children(t, tuple)
}

func (w *ringWorld) keyOf(tuple int64) string {
	return strconv.FormatUint(uint64(tuple*0x9E3779B97F4A7)>>20%uint64(w.keys), 10)
}

func ringValue(n int64) string {
	if n%4 == 3 {
		return ""
	}
	return strings.Repeat(strconv.FormatInt(n, 10), int(10+n%5*6))
}

func (w *ringWorld) enqueue(from, to int32, it ringItem) {
	q := w.queues[[2]int32{from, to}]
	if w.tasks[to].down() {
		return
	}
	if it.tuple == 0 {
		if w.fault(150) {
			return
		}
		if w.fault(80) {
			q.items = append(q.items, it)
		}
	}
	q.items = append(q.items, it)
	if n := len(q.items); it.tuple == 0 && n > 1 && q.items[n-2].tuple == 0 && w.fault(40) {
		q.items[n-1], q.items[n-2] = q.items[n-2], q.items[n-1]
	}
	if !q.moving {
		q.moving = true
		w.after(w.millis(0, 8), func() { w.move(q) })
	}
}

// move brings the first of a queue to its task, some time.
func (w *ringWorld) move(q *ringQueue) {
	if len(q.items) == 0 {
		q.moving = false
		return
	}
	t := w.tasks[q.to]
	from := w.tasks[q.from]
	if t.down() || t.life.wakes() > w.now || from != nil && !from.down() && !w.reach(from.host, t.host) {
		w.after(w.millis(20, 100), func() { w.move(q) })
		return
	}
	it := q.items[0]
	q.items = q.items[1:]
	w.after(w.millis(0, 4), func() { w.move(q) })
	i, _ := t.align.Index(q.from)
	if it.tuple == 0 {
		w.note("marker %d to %d: %v", q.from, q.to, it.marker)
		w.perform(t, t.task.Marker(i, it.marker, it.sent))
		return
	}
	verdict, effects := t.task.Tuple(i)
	switch verdict {
	case checkpoint.Run:
		w.execute(t, it.tuple)
	case checkpoint.Hold:
		t.held = append(t.held, it.tuple)
	case checkpoint.Drop:
	}
	w.perform(t, effects)
}

func (w *ringWorld) perform(t *ringTask, effects []checkpoint.TaskEffect) {
	for _, e := range effects {
		switch e := e.(type) {
		case checkpoint.Forward:
			if e.Marker.Action == checkpoint.InitState || e.Marker.Action == checkpoint.Rollback {
				clear(t.sent)
			}
			if w.tasks[t.id] != t {
				continue // nobody listens to a zombie
			}
			for _, to := range w.plan.TargetsOf(t.comp.ID) {
				w.enqueue(t.id, to, ringItem{marker: e.Marker, sent: t.sent[to]})
			}
		case checkpoint.Reply:
			w.answer(e.Answer)
		case checkpoint.LoadState:
			w.load(t, e.Version)
		case checkpoint.SaveState:
			w.save(t, e.Version, e.Base)
		case checkpoint.ThawState:
			if s := t.saving; s != nil && s.v.TxID <= e.TxID {
				s.life.over = true
				t.saving = nil
			}
		case checkpoint.StateCommitted:
			w.committed(t, versionOf(e.Version))
		case checkpoint.RunPreCommit:
			w.on(t.life, w.millis(1, 20), func() { w.perform(t, t.task.PreCommitted(e.TxID, nil)) })
		case checkpoint.RunHeld:
			held := t.held
			t.held = nil
			for _, tuple := range held {
				w.execute(t, tuple)
			}
		case checkpoint.DropHeld:
			t.held = nil
		case checkpoint.AckAll[int], checkpoint.FailAll[int]:
		}
	}
}

// kill ends a task; somebody sees it and starts it again. A zombie is one that
// sleeps and is believed dead: what it was doing goes on when it wakes.
func (w *ringWorld) kill(t *ringTask, zombie bool) {
	if t.down() {
		return
	}
	w.note("task %d ends at %s, zombie %v", t.id, t.host.id, zombie)
	if zombie {
		wakes := w.millis(500, 8000)
		t.life.asleep = w.now + wakes
		w.after(wakes+3*time.Second, func() { t.life.over = true })
	} else {
		t.life.over = true
	}
	for _, id := range w.ids {
		if q := w.queues[[2]int32{t.id, id}]; q != nil && len(q.items) > 0 {
			q.items = q.items[:w.rng.IntN(len(q.items)+1)]
		}
		if q := w.queues[[2]int32{id, t.id}]; q != nil {
			q.items = nil
		}
	}
	if q := w.queues[[2]int32{leaderTask, t.id}]; q != nil {
		q.items = nil
	}
	stub := &ringTask{id: t.id, comp: t.comp, owner: t.owner}
	w.tasks[t.id] = stub
	w.after(w.millis(50, 3000), func() { w.restart(stub) })
}

// restart starts a task that was seen to be dead on some host that lives.
func (w *ringWorld) restart(stub *ringTask) {
	if w.tasks[stub.id] != stub {
		return
	}
	var up []*ringHost
	for _, h := range w.hosts {
		if !h.gone && (h.node != nil || w.chance(10)) {
			up = append(up, h)
		}
	}
	if len(up) == 0 {
		w.after(time.Second, func() { w.restart(stub) })
		return
	}
	w.startTask(stub, up[w.rng.IntN(len(up))])
	if !w.chance(4) {
		w.lead(w.leader, checkpoint.Broken{Reason: fmt.Sprintf("task %d started again", stub.id)})
	}
}

// compare compares a table with its model.
func (w *ringWorld) compare(what string, o shard.Owner, table *shard.Table, model map[string]string) {
	got := make(map[string]string, len(model))
	for k, v := range table.All(nil) {
		got[string(k)] = string(v)
	}
	if maps.Equal(got, model) {
		return
	}
	var wrong []string
	for _, k := range slices.Sorted(maps.Keys(model)) {
		if v, ok := got[k]; !ok || v != model[k] {
			wrong = append(wrong, fmt.Sprintf("%s is %q (%v), want %q", k, v, ok, model[k]))
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := model[k]; !ok {
			wrong = append(wrong, k+" should not be there")
		}
	}
	w.broken("%s of %v: %d entries, want %d: %s", what, o, len(got), len(model), strings.Join(wrong[:min(5, len(wrong))], "; "))
}

// ringModes are the ways of recovery.
var ringModes = []recovery.Mode{recovery.Star, recovery.Line, recovery.Tree, recovery.Auto}
