package throughput

import (
	"time"

	"github.com/stormring/stormring/storm"
)

// spout emits lines from memory, again from the start after the last.
type spout struct {
	storm.BaseSpout
	field   string
	lines   []string
	ack     bool
	spacing time.Duration // between two lines; 0 is none
	journal string        // a folder; "" is none

	out       *storm.SpoutOutputCollector
	latencies *Journal // nil if there is none
	next      int
	id        int64
	begin     time.Time
	due       time.Duration // since the begin
}

// DeclareOutputFields implements storm.Spout.
func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare(s.field) }

// Open implements storm.Spout.
func (s *spout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) (err error) {
	s.out, s.begin = out, time.Now()
	if s.ack && s.spacing > 0 && s.journal != "" {
		s.latencies, err = OpenJournal(s.journal, Latencies)
	}
	return err
}

// NextTuple implements storm.Spout.
func (s *spout) NextTuple() error {
	if s.spacing > 0 {
		now := time.Since(s.begin)
		if now < s.due {
			return nil
		}
		s.due += s.spacing
		s.id = now.Nanoseconds()
	} else {
		s.id++
	}
	line := storm.String(s.lines[s.next])
	if s.next++; s.next == len(s.lines) {
		s.next = 0
	}
	if s.ack {
		s.out.EmitTracked(storm.Int(s.id), line)
	} else {
		s.out.Emit(line)
	}
	return nil
}

// Ack implements storm.Spout.
func (s *spout) Ack(id storm.Value) {
	if s.latencies != nil {
		emitted, _ := id.AsInt()
		s.latencies.Note(int64(time.Since(s.begin)) - emitted)
	}
}

// Close implements storm.Spout.
func (s *spout) Close() error { return s.latencies.Close() }
