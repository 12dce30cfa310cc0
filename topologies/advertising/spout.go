package advertising

import (
	"fmt"
	"time"

	"github.com/stormring/stormring/storm"
)

// positionKey is where the spout's state has how many events the task has
// emitted.
const positionKey = "position"

// spout emits lines. Of n tasks, task k emits events k, k+n, k+2n and so on.
//
// It emits nothing again by itself: if a tree fails, a tuple was lost, and what
// else was counted since is not to be counted twice. Stormring then takes all
// tasks back to the last checkpoint, this one by InitState.
type spout struct {
	storm.BaseSpout
	data Data
	rate int // events a second of all tasks together; 0 is no limit
	now  func() time.Time
	job  *job

	out         *storm.SpoutOutputCollector
	gen         *generator
	task, tasks int64
	state       *storm.KeyValueState[string, int64]
	next        int64 // events that this task has emitted
	// begin and first are when the task began and where, since it last went
	// back.
	begin time.Time
	first int64
	// ids are consecutive and never come again, so that those up to stale are
	// known to be from before the task went back.
	id, stale int64
	pending   int64
}

var (
	_ storm.Bounded     = (*spout)(nil)
	_ storm.Stateful    = (*spout)(nil)
	_ storm.PrePreparer = (*spout)(nil)
)

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("line", "arrived") }

func (s *spout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out, s.gen = out, newGenerator(s.data)
	s.task, s.tasks = int64(ctx.TaskIndex()), int64(len(ctx.ComponentTasks(ctx.Component())))
	return nil
}

// InitState implements storm.Stateful.
func (s *spout) InitState(state storm.State) error {
	s.state = storm.NewKeyValueState(state, storm.StringCodec, storm.IntCodec)
	next, err := s.state.GetOr(positionKey, 0)
	if err != nil {
		return fmt.Errorf("advertising: find where to go on: %w", err)
	}
	if next < 0 || s.data.Events > 0 && next > s.share() {
		return fmt.Errorf("advertising: the state says that this task has emitted %d events, but of %d it has %d; has --events changed?", next, s.data.Events, s.share())
	}
	s.next, s.first, s.begin = next, next, s.now()
	s.stale, s.pending = s.id, 0
	return nil
}

// PrePrepare implements storm.PrePreparer.
func (s *spout) PrePrepare(int64) error {
	if err := s.state.Put(positionKey, s.next); err != nil {
		return fmt.Errorf("advertising: keep the position: %w", err)
	}
	return nil
}

// share is how many of the events are this task's.
func (s *spout) share() int64 { return (s.data.Events - s.task + s.tasks - 1) / s.tasks }

func (s *spout) done() bool { return s.data.Events > 0 && s.next >= s.share() }

func (s *spout) NextTuple() error {
	if s.done() || s.rate > 0 && s.next-s.first >= s.due() {
		return nil
	}
	line, arrived := s.gen.next(s.next*s.tasks + s.task)
	s.next++
	s.id++
	s.pending++
	s.out.EmitTracked(storm.Int(s.id), storm.String(line), storm.Int(arrived))
	if s.next%progressStep == 0 || s.done() {
		s.job.note(s.task, s.next)
	}
	return nil
}

// due is how many events the task should have emitted by now.
func (s *spout) due() int64 {
	return int64(s.now().Sub(s.begin).Seconds() * float64(s.rate) / float64(s.tasks))
}

// Exhausted implements storm.Bounded. Until all trees are acked, and so in a
// checkpoint, the task may have to go back.
func (s *spout) Exhausted() bool { return s.done() && s.pending == 0 }

func (s *spout) Ack(id storm.Value) {
	if n, _ := id.AsInt(); n > s.stale {
		s.pending--
	}
}
