package polyglot

import (
	"errors"
	"fmt"
	"io"

	"github.com/stormring/stormring/storm"
)

const (
	// settledStream tells how far all lines are settled.
	settledStream = "settled"
	// tellAfter is how many more lines have to be settled before it is told again.
	tellAfter = 32
	// maxAttempts is how often a line is emitted. One that always fails must not
	// come for ever.
	maxAttempts = 50
	// failInvalid and replaceInvalid are what may be done about text that is not
	// UTF-8, which no message in JSON can carry.
	failInvalid, replaceInvalid = "fail", "replace"
)

// lines is a spout of the lines of some texts, numbered from 0. A line has the
// same number whenever it is read.
type lines struct {
	job     *job
	sources []source
	text    text
	out     *storm.SpoutOutputCollector

	at     int // index of the source that is being read
	reader *lineReader
	next   int64            // number of the next line
	kept   map[int64]string // those under way, to be emitted again if they fail
	again  []int64          // those that have
	fails  map[int64]int    // and how often
	low    int64            // all lines below are settled
	told   int64            // and this has been said
	done   bool             // no line is left to be read
}

var _ storm.Bounded = (*lines)(nil)

// DeclareOutputFields implements storm.Spout.
func (*lines) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("text", "line")
	d.DeclareStream(settledStream, "line")
}

// Open implements storm.Spout.
func (s *lines) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	if n := len(ctx.ComponentTasks(ctx.Component())); n > 1 {
		return fmt.Errorf("component %q has %d tasks, which would number the lines differently; set its parallelism to 1", ctx.Component(), n)
	}
	s.job.enter(ctx.Task())
	s.out, s.kept, s.fails = out, map[int64]string{}, map[int64]int{}
	return nil
}

// NextTuple implements storm.Spout.
func (s *lines) NextTuple() error {
	if s.low >= s.told+tellAfter {
		s.told = s.low
		s.out.EmitStream(settledStream, storm.Nil(), storm.Int(s.low))
	}
	if n := len(s.again); n > 0 {
		line := s.again[n-1]
		s.again = s.again[:n-1]
		s.emit(line)
		return nil
	}
	if s.done {
		return nil
	}
	text, err := s.read()
	switch {
	case errors.Is(err, io.EOF):
		s.stop()
	case err != nil:
		s.giveUp(err)
	default:
		s.kept[s.next] = text
		s.next++
		s.emit(s.next - 1)
	}
	return nil
}

func (s *lines) emit(line int64) {
	s.out.EmitTracked(storm.Int(line), storm.String(s.kept[line]), storm.Int(line))
}

// read is the next line of all sources; io.EOF is the end of the last.
func (s *lines) read() (string, error) {
	for ; s.at < len(s.sources); s.at++ {
		if s.reader == nil {
			r, err := s.sources[s.at].open()
			if err != nil {
				return "", err
			}
			s.reader = newLineReader(s.sources[s.at].name, r, s.text)
		}
		text, n, err := s.reader.next()
		s.job.read.Add(int64(n))
		if !errors.Is(err, io.EOF) {
			return text, err
		}
		s.reader.close()
		s.reader = nil
	}
	return "", io.EOF
}

// Exhausted implements storm.Bounded.
func (s *lines) Exhausted() bool { return s.done && len(s.kept) == 0 }

// Ack implements storm.Spout.
func (s *lines) Ack(id storm.Value) {
	line, _ := id.AsInt()
	delete(s.kept, line)
	delete(s.fails, line)
	for s.low < s.next {
		if _, open := s.kept[s.low]; open {
			break
		}
		s.low++
	}
}

// Fail implements storm.Spout.
func (s *lines) Fail(id storm.Value) {
	line, _ := id.AsInt()
	if _, open := s.kept[line]; !open {
		return
	}
	if s.fails[line]++; s.fails[line] == maxAttempts {
		s.giveUp(fmt.Errorf("a line failed %d times, see the errors of the other components; it begins with %.60q", maxAttempts, s.kept[line]))
		return
	}
	s.again = append(s.again, line)
}

// giveUp ends the run without a result. Another start would not help, so it is
// not asked for.
func (s *lines) giveUp(err error) {
	s.job.fail(err)
	s.out.ReportError(err)
	s.stop()
	clear(s.kept)
	s.again = nil
}

// Close implements storm.Spout.
func (s *lines) Close() error {
	s.stop()
	return nil
}

// stop reads no more.
func (s *lines) stop() {
	s.done = true
	if s.reader != nil {
		s.reader.close()
		s.reader = nil
	}
}
