package wordcount

import (
	"errors"
	"fmt"
	"io"

	"github.com/stormring/stormring/storm"
)

// maxReads bounds the pieces that one NextTuple reads, so that acks get
// through while a very long word is being read.
const maxReads = 256

// spout reads inputs and emits blocks of text.
type spout struct {
	job *job
	out *storm.SpoutOutputCollector
	buf []byte
	cut cutter
	// in and feed are the input being read; feed is nil if there is none.
	in   input
	feed feed
	// kept are the blocks under way by id, to be emitted again if they fail;
	// again are the ids of those that have.
	kept  map[int64]string
	again []int64
	id    int64
	done  bool // no input is left
}

var _ storm.Bounded = (*spout)(nil)

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("text") }

func (s *spout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.job.enter(ctx.Task())
	s.out = out
	s.buf = make([]byte, pieceSize)
	s.kept = map[int64]string{}
	return nil
}

func (s *spout) NextTuple() error {
	if s.job.broken.Load() {
		s.stop()
		return nil
	}
	if n := len(s.again); n > 0 {
		id := s.again[n-1]
		s.again = s.again[:n-1]
		s.out.EmitTracked(storm.Int(id), storm.String(s.kept[id]))
		return nil
	}
	for range maxReads {
		block, more := s.read()
		if block != "" {
			s.id++
			s.kept[s.id] = block
			s.out.EmitTracked(storm.Int(s.id), storm.String(block))
			return nil
		}
		if !more {
			return nil
		}
	}
	return nil
}

// read reads one piece and returns the block that it completes, if any. more
// is false if there is nothing to be read at the moment.
func (s *spout) read() (block string, more bool) {
	if s.feed == nil {
		if !s.claim() {
			return "", false
		}
	}
	piece, err := s.feed.next()
	switch {
	case errors.Is(err, io.EOF):
		s.feed.close()
		s.feed = nil
		return s.cut.end(), true
	case err != nil:
		s.fail(err)
		return "", false
	case len(piece) == 0:
		return "", false
	}
	return s.cut.add(piece), true
}

// claim opens the next input.
func (s *spout) claim() bool {
	if s.done {
		return false
	}
	var ok bool
	if s.in, ok = s.job.claim(); !ok {
		s.done = true
		return false
	}
	feed, err := s.job.openFeed(s.in, s.buf)
	if err != nil {
		s.fail(err)
		return false
	}
	s.feed = feed
	return true
}

func (s *spout) fail(err error) {
	err = fmt.Errorf("input was there at the start: %w", unreadable(s.in.path, err))
	s.job.fail(err)
	s.out.ReportError(err)
	s.stop()
}

// stop gives up all input.
func (s *spout) stop() {
	s.done = true
	s.again = nil
	clear(s.kept)
	if s.feed != nil {
		s.feed.close()
		s.feed = nil
	}
}

// Exhausted implements storm.Bounded.
func (s *spout) Exhausted() bool { return s.done && s.feed == nil && len(s.kept) == 0 }

func (s *spout) Ack(id storm.Value) {
	n, _ := id.AsInt()
	delete(s.kept, n)
}

func (s *spout) Fail(id storm.Value) {
	n, _ := id.AsInt()
	if _, ok := s.kept[n]; ok {
		s.again = append(s.again, n)
	}
}

func (s *spout) Close() error {
	s.stop()
	return nil
}
