package rollingtopwords

import (
	"math/rand/v2"
	"time"

	"github.com/stormring/stormring/storm"
)

// words are what the spout picks from, the first ones more often.
var words = [...]string{"sea", "sky", "wave", "wind", "gull", "sail", "rope", "mast", "keel", "helm", "reef", "buoy"}

// spout emits random words at a steady rate.
type spout struct {
	count int64 // words in all; 0 is no end
	rate  int   // words a second; 0 is no limit
	now   func() time.Time
	out   *storm.SpoutOutputCollector
	start time.Time
	sent  int64
	under int     // words under way; their ids are their indexes in words
	again []int64 // indexes of words that failed
}

var _ storm.Bounded = (*spout)(nil)

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

func (s *spout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	s.start = s.now()
	return nil
}

func (s *spout) NextTuple() error {
	if n := len(s.again); n > 0 {
		i := s.again[n-1]
		s.again = s.again[:n-1]
		s.emit(i)
		return nil
	}
	if s.count > 0 && s.sent == s.count || s.rate > 0 && s.sent >= s.due() {
		return nil
	}
	s.sent++
	// The smaller of two is small more often.
	n := int64(len(words))
	s.emit(min(rand.Int64N(n), rand.Int64N(n)))
	return nil
}

// due is how many words should have been sent by now.
func (s *spout) due() int64 {
	return int64(s.now().Sub(s.start).Seconds() * float64(s.rate))
}

func (s *spout) emit(i int64) {
	s.under++
	s.out.EmitTracked(storm.Int(i), storm.String(words[i]))
}

// Exhausted implements storm.Bounded.
func (s *spout) Exhausted() bool {
	return s.count > 0 && s.sent == s.count && s.under == 0 && len(s.again) == 0
}

func (s *spout) Ack(storm.Value) { s.under-- }

func (s *spout) Fail(id storm.Value) {
	s.under--
	i, _ := id.AsInt()
	s.again = append(s.again, i)
}

func (s *spout) Close() error { return nil }
