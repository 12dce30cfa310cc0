package exclamation

import (
	"math/rand/v2"

	"github.com/stormring/stormring/storm"
)

// words are what the spout picks from.
var words = [...]string{"thunder", "rain", "hail", "wind", "lightning", "cloud"}

func dictionary() []string { return words[:] }

// spout emits random words.
type spout struct {
	count int64 // of all tasks together; 0 is no end
	out   *storm.SpoutOutputCollector
	left  int64   // words of this task still to come
	under int     // words under way; their ids are their indexes in words
	again []int64 // indexes of words that failed
}

var _ storm.Bounded = (*spout)(nil)

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

func (s *spout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	tasks := int64(len(ctx.ComponentTasks(ctx.Component())))
	s.left = s.count / tasks
	if int64(ctx.TaskIndex()) < s.count%tasks {
		s.left++
	}
	return nil
}

func (s *spout) NextTuple() error {
	if n := len(s.again); n > 0 {
		i := s.again[n-1]
		s.again = s.again[:n-1]
		s.emit(i)
		return nil
	}
	if s.count > 0 {
		if s.left == 0 {
			return nil
		}
		s.left--
	}
	s.emit(rand.Int64N(int64(len(words))))
	return nil
}

func (s *spout) emit(i int64) {
	s.under++
	s.out.EmitTracked(storm.Int(i), storm.String(words[i]))
}

// Exhausted implements storm.Bounded.
func (s *spout) Exhausted() bool {
	return s.count > 0 && s.left == 0 && s.under == 0 && len(s.again) == 0
}

func (s *spout) Ack(storm.Value) { s.under-- }

func (s *spout) Fail(id storm.Value) {
	s.under--
	i, _ := id.AsInt()
	s.again = append(s.again, i)
}

func (s *spout) Close() error { return nil }
