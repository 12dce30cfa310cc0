package wordcount

import (
	"fmt"

	"github.com/stormring/stormring/storm"
)

// saveEvery is after how many settled blocks a spout task notes its progress.
const saveEvery = 32

// ledgerSpout emits the blocks whose number is its rank, modulo the number of
// spout tasks. It counts its own blocks from 0. The id of a message is the
// number of its block.
type ledgerSpout struct {
	ledger *ledger
	out    *storm.SpoutOutputCollector
	reader blockReader
	rank   int
	tasks  int
	blocks int64 // own ones

	next  int64 // own block to emit next
	again []int64
	// All own blocks below low are settled, and those in above.
	low    int64
	above  map[int64]struct{}
	saved  int64 // low in the progress file
	marked bool
}

var _ storm.Bounded = (*ledgerSpout)(nil)

func (s *ledgerSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("text", "block")
}

func (s *ledgerSpout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	if len(ctx.ComponentTasks(storm.AckerComponent)) == 0 {
		return fmt.Errorf("wordcount: --ledger needs ackers, but %s is 0", storm.ConfTopologyAckerExecutors)
	}
	if err := s.ledger.enter(); err != nil {
		return fmt.Errorf("wordcount: %w", err)
	}
	s.out, s.rank, s.tasks = out, ctx.TaskIndex(), len(ctx.ComponentTasks(ctx.Component()))
	s.reader.list = s.ledger.blocks
	s.above = map[int64]struct{}{}
	if total := s.ledger.blocks.total(); total > int64(s.rank) {
		s.blocks = (total-int64(s.rank)-1)/int64(s.tasks) + 1
	}
	settled, err := s.ledger.readProgress(s.rank, s.tasks)
	if err != nil {
		// To begin anew is slower, not wrong.
		s.out.ReportError(err)
	}
	s.low = min(settled, s.blocks)
	s.next, s.saved = s.low, s.low
	s.ledger.note(s.rank, s.low)
	return nil
}

func (s *ledgerSpout) NextTuple() error {
	if err := s.save(); err != nil {
		return fmt.Errorf("wordcount: %w", err)
	}
	if n := len(s.again); n > 0 {
		k := s.again[n-1]
		s.again = s.again[:n-1]
		_, err := s.emit(k)
		return err
	}
	for range maxReads {
		if s.next == s.blocks {
			return nil
		}
		k := s.next
		s.next++
		emitted, err := s.emit(k)
		if err != nil || emitted {
			return err
		}
	}
	return nil
}

// emit reads and emits an own block, if there is anything in it.
func (s *ledgerSpout) emit(k int64) (emitted bool, err error) {
	block := k*int64(s.tasks) + int64(s.rank)
	text, err := s.reader.read(block)
	if err != nil {
		return false, fmt.Errorf("wordcount: %w", err)
	}
	if text == "" {
		s.settle(k)
		return false, nil
	}
	s.out.EmitTracked(storm.Int(block), storm.String(text), storm.Int(block))
	return true, nil
}

// save brings the files of the task up to date.
func (s *ledgerSpout) save() error {
	if s.low-s.saved >= saveEvery || s.low == s.blocks && s.low > s.saved {
		if err := s.ledger.writeProgress(s.rank, s.tasks, s.low); err != nil {
			return err
		}
		s.saved = s.low
	}
	if s.low == s.blocks && !s.marked {
		if err := s.ledger.markDone(s.rank, s.tasks, s.blocks); err != nil {
			return err
		}
		s.marked = true
	}
	return nil
}

// Exhausted implements storm.Bounded.
func (s *ledgerSpout) Exhausted() bool { return s.marked }

// own is the task's own number of the block that a message is about, if it
// still matters.
func (s *ledgerSpout) own(id storm.Value) (k int64, ok bool) {
	block, _ := id.AsInt()
	k = block / int64(s.tasks)
	_, settled := s.above[k]
	return k, k >= s.low && !settled
}

func (s *ledgerSpout) Ack(id storm.Value) {
	if k, ok := s.own(id); ok {
		s.settle(k)
	}
}

// settle notes that an own block is counted.
func (s *ledgerSpout) settle(k int64) {
	s.above[k] = struct{}{}
	for {
		if _, ok := s.above[s.low]; !ok {
			break
		}
		delete(s.above, s.low)
		s.low++
	}
	s.ledger.note(s.rank, s.low)
}

func (s *ledgerSpout) Fail(id storm.Value) {
	if k, ok := s.own(id); ok {
		s.again = append(s.again, k)
	}
}

// Close saves what a task that goes on here later need not repeat.
func (s *ledgerSpout) Close() error {
	s.reader.close()
	if s.low == s.saved {
		return nil
	}
	if err := s.ledger.writeProgress(s.rank, s.tasks, s.low); err != nil {
		return fmt.Errorf("wordcount: %w", err)
	}
	return nil
}

// nothing is the spout of --report-only.
type nothing struct{ storm.BaseSpout }

var _ storm.Bounded = nothing{}

func (nothing) DeclareOutputFields(*storm.OutputFieldsDeclarer) {}

func (nothing) Open(*storm.TopologyContext, *storm.SpoutOutputCollector) error { return nil }

func (nothing) NextTuple() error { return nil }

func (nothing) Exhausted() bool { return true }
