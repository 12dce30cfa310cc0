package executor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stormring/stormring/storm"
)

// cast are the components of a rig. They write what happens to them into one
// list, and do what the test has put into their functions.
type cast struct {
	mu     sync.Mutex
	spouts map[storm.TaskID]*actorSpout
	bolts  map[storm.TaskID]*actorBolt
	events []string
}

func newCast() *cast {
	return &cast{spouts: map[storm.TaskID]*actorSpout{}, bolts: map[storm.TaskID]*actorBolt{}}
}

func (c *cast) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, fmt.Sprintf(format, args...))
}

// since is what happened since the last call.
func (c *cast) since() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := strings.Join(c.events, ", ")
	c.events = nil
	return s
}

// expect lets everything settle and compares what happened.
func (c *cast) expect(t *testing.T, want string) {
	t.Helper()
	synctest.Wait()
	if got := c.since(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// actorSpout is a spout; functions that are nil do nothing.
type actorSpout struct {
	cast    *cast
	task    storm.TaskID
	out     *storm.SpoutOutputCollector
	declare func(d *storm.OutputFieldsDeclarer)
	open    func(s *actorSpout, ctx *storm.TopologyContext) error
	next    func(s *actorSpout) error
	ack     func(s *actorSpout, id storm.Value) // nil writes it down
	fail    func(s *actorSpout, id storm.Value) // likewise
	shut    func() error
}

// spout makes the function that makes actors like this one.
func (c *cast) spout(like actorSpout) func() storm.Spout {
	return func() storm.Spout {
		s := like
		s.cast = c
		return &s
	}
}

func (s *actorSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	if s.declare != nil {
		s.declare(d)
	} else {
		d.Declare("x")
	}
}

func (s *actorSpout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.task, s.out = ctx.Task(), out
	s.cast.mu.Lock()
	s.cast.spouts[s.task] = s
	s.cast.mu.Unlock()
	if s.open != nil {
		return s.open(s, ctx)
	}
	return nil
}

func (s *actorSpout) NextTuple() error {
	if s.next != nil {
		return s.next(s)
	}
	return nil
}

func (s *actorSpout) Ack(id storm.Value) {
	if s.ack != nil {
		s.ack(s, id)
		return
	}
	s.cast.note("ack %v", id)
}

func (s *actorSpout) Fail(id storm.Value) {
	if s.fail != nil {
		s.fail(s, id)
		return
	}
	s.cast.note("fail %v", id)
}

func (s *actorSpout) Close() error {
	if s.shut != nil {
		return s.shut()
	}
	return nil
}

// actorBolt is a bolt; functions that are nil do nothing.
type actorBolt struct {
	cast    *cast
	task    storm.TaskID
	out     *storm.OutputCollector
	held    []storm.Tuple
	declare func(d *storm.OutputFieldsDeclarer)
	prepare func(b *actorBolt, ctx *storm.TopologyContext) error
	execute func(b *actorBolt, t storm.Tuple) error // nil keeps the tuple in held
	shut    func() error
}

func (c *cast) bolt(like actorBolt) func() storm.Bolt {
	return func() storm.Bolt {
		b := like
		b.cast = c
		return &b
	}
}

func (b *actorBolt) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	if b.declare != nil {
		b.declare(d)
	} else {
		d.Declare("x")
	}
}

func (b *actorBolt) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.task, b.out = ctx.Task(), out
	b.cast.mu.Lock()
	b.cast.bolts[b.task] = b
	b.cast.mu.Unlock()
	if b.prepare != nil {
		return b.prepare(b, ctx)
	}
	return nil
}

func (b *actorBolt) Execute(t storm.Tuple) error {
	if b.execute != nil {
		return b.execute(b, t)
	}
	b.held = append(b.held, t)
	return nil
}

func (b *actorBolt) Cleanup() error {
	if b.shut != nil {
		return b.shut()
	}
	return nil
}

// first is the actor of a component's first task.
func (r *rig) actorSpout(component string) *actorSpout {
	r.cast.mu.Lock()
	defer r.cast.mu.Unlock()
	return r.cast.spouts[r.l.Tasks[component][0]]
}

func (r *rig) actorBolt(component string) *actorBolt {
	r.cast.mu.Lock()
	defer r.cast.mu.Unlock()
	return r.cast.bolts[r.l.Tasks[component][0]]
}

// emit has the spout emit a tracked tuple on the default stream for each id.
func (r *rig) emit(component string, ids ...int64) {
	r.t.Helper()
	s := r.actorSpout(component)
	r.do(s.out.Do, func() {
		for _, id := range ids {
			s.out.EmitTracked(storm.Int(id), storm.Int(id))
		}
	})
}

// at has f called on the goroutine of a component's first bolt task.
func (r *rig) at(component string, f func(b *actorBolt)) {
	r.t.Helper()
	b := r.actorBolt(component)
	r.do(b.out.Do, func() { f(b) })
}

// ackAll acks what the bolt holds, failAll fails it.
func (r *rig) ackAll(component string) {
	r.t.Helper()
	r.at(component, func(b *actorBolt) { b.settle(b.out.Ack) })
}

func (r *rig) failAll(component string) {
	r.t.Helper()
	r.at(component, func(b *actorBolt) { b.settle(b.out.Fail) })
}

func (b *actorBolt) settle(how func(*storm.Tuple)) {
	for i := range b.held {
		how(&b.held[i])
	}
	b.held = nil
}

// hold is what the bolt of that component holds, oldest first.
func (b *actorBolt) values() (vals []string) {
	for i := range b.held {
		vals = append(vals, b.held[i].Value(0).String())
	}
	slices.Sort(vals)
	return vals
}

// pass emits the value, anchored, and acks.
func pass(b *actorBolt, t storm.Tuple) error {
	b.out.Emit(&t, t.Value(0))
	b.out.Ack(&t)
	return nil
}

var errBroken = errors.New("broken")

// do calls one of the Do methods and lets everything settle.
func (r *rig) do(do func(ctx context.Context, f func()) error, f func()) {
	r.t.Helper()
	if err := do(r.t.Context(), f); err != nil {
		r.t.Errorf("Do: %v", err)
	}
	synctest.Wait()
}
