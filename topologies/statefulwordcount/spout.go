package statefulwordcount

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stormring/stormring/storm"
)

const (
	// positionKey is where the spout's state has its position.
	positionKey = "position"
	// waitFor is how often a file that grows is looked at.
	waitFor = 20 * time.Millisecond
)

// spout emits lines. It emits nothing again by itself: if a tree fails, a tuple
// was lost, and what else was counted since is not to be counted twice. Stormring
// then takes all tasks back to the last checkpoint, this one by InitState.
type spout struct {
	storm.BaseSpout
	in   reader
	rate int // lines a second; 0 is no limit
	now  func() time.Time
	job  *job

	out   *storm.SpoutOutputCollector
	state *storm.KeyValueState[string, position]
	// begin is when the task began, since it last went back, and lines what it
	// has emitted since.
	begin time.Time
	lines int64
	look  time.Time // no line is expected before
	// read tells that there are no more lines, told that the counting tasks know,
	// done that they have acted.
	read, told, done bool
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

func newSpout(in reader, rate int, j *job) *spout {
	return &spout{in: in, rate: rate, now: time.Now, job: j}
}

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("line", "page")
	d.DeclareStream(endStream, "lines")
}

func (s *spout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

// InitState implements storm.Stateful.
func (s *spout) InitState(state storm.State) error {
	s.state = storm.NewKeyValueState(state, storm.StringCodec, storm.JSONCodec[position]())
	at, err := s.state.GetOr(positionKey, position{})
	if err == nil {
		err = s.in.seek(at)
	}
	if err != nil {
		return fmt.Errorf("statefulwordcount: find where to go on: %w", err)
	}
	s.begin, s.lines, s.look = s.now(), 0, time.Time{}
	s.read, s.told, s.done = false, false, false
	s.stale, s.pending = s.id, 0
	return nil
}

// PrePrepare implements storm.PrePreparer.
func (s *spout) PrePrepare(int64) error {
	if err := s.state.Put(positionKey, s.in.at); err != nil {
		return fmt.Errorf("statefulwordcount: keep the position: %w", err)
	}
	return nil
}

func (s *spout) NextTuple() error {
	if s.read {
		if s.pending == 0 && !s.told {
			s.told = true
			s.id++
			s.pending++
			s.out.EmitStream(endStream, storm.Int(s.id), storm.Int(s.lines))
		}
		return nil
	}
	if s.rate > 0 && s.lines >= s.due() || !s.look.IsZero() && s.now().Before(s.look) {
		return nil
	}
	s.look = time.Time{}
	line, page, err := s.in.next()
	switch {
	case errors.Is(err, errWait):
		s.look = s.now().Add(waitFor)
		return nil
	case errors.Is(err, io.EOF):
		s.read = true
		s.job.note(s.in.at)
		return nil
	case err != nil:
		return fmt.Errorf("statefulwordcount: %w", err)
	}
	s.lines++
	s.id++
	s.pending++
	s.out.EmitTracked(storm.Int(s.id), storm.String(line), storm.String(page))
	if s.lines%progressStep == 0 {
		s.job.note(s.in.at)
	}
	return nil
}

// due is how many lines the task should have emitted by now.
func (s *spout) due() int64 { return int64(s.now().Sub(s.begin).Seconds() * float64(s.rate)) }

// Exhausted implements storm.Bounded. Until all trees are acked, and so in a
// checkpoint, the task may have to go back.
func (s *spout) Exhausted() bool { return s.done }

func (s *spout) Ack(id storm.Value) {
	if n, _ := id.AsInt(); n > s.stale {
		s.pending--
		s.done = s.told && s.pending == 0
	}
}

func (s *spout) Close() error {
	s.in.close()
	return nil
}
