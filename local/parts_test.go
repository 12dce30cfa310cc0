package local

import (
	"fmt"
	"testing"

	"github.com/stormring/stormring/storm"
)

// The topology under trial:
//
//	alpha (2 tasks) ──┐             ┌─fields─> join (2) ─shuffle─> sink (2)
//	                  ├─> split (4) ┤
//	beta (2 tasks) ───┘             └─all────> audit (2)
//
// split makes one to three tuples of each message, join joins any two to four
// of them anchored to all, sink and audit process them.

// auditTasks is the number of audit's tasks.
const auditTasks = 2

// leavesOf are the bits of all that is to be processed of a message.
func leavesOf(id int) (bits uint64) {
	for leaf := range 1 + id%3 {
		bits |= 1 << leaf
		for task := range auditTasks {
			bits |= 1 << auditLeaf(leaf, task)
		}
	}
	return bits
}

func auditLeaf(leaf, task int) int { return 8 + leaf*auditTasks + task }

func textOf(no int64, leaf int64) string { return fmt.Sprintf("leaf %d of attempt %d", leaf, no) }

// feeder is the spout.
type feeder struct {
	tr     *truth
	strict bool
	ctx    *storm.TopologyContext
	out    *storm.SpoutOutputCollector
}

func (s *feeder) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("attempt", "leaves") }

func (s *feeder) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.ctx, s.out = ctx, out
	s.tr.adopt(ctx.Task())
	return nil
}

func (s *feeder) NextTuple() error {
	s.tr.chaos.at(s.ctx, "NextTuple", "(*feeder).NextTuple")
	for range 1 + s.tr.chaos.below(3) {
		no, id, ok := s.tr.begin(s.ctx.Task(), leavesOf)
		if !ok {
			return nil
		}
		s.out.EmitTracked(storm.Int(no), storm.Int(no), storm.Int(int64(1+id%3)))
	}
	return nil
}

func (s *feeder) Ack(id storm.Value) {
	s.tr.chaos.at(s.ctx, "Ack", "(*feeder).Ack")
	no, _ := id.AsInt()
	s.tr.end(s.ctx.Task(), no, true)
}

func (s *feeder) Fail(id storm.Value) {
	s.tr.chaos.at(s.ctx, "Fail", "(*feeder).Fail")
	no, _ := id.AsInt()
	s.tr.end(s.ctx.Task(), no, false)
}

func (s *feeder) Close() error { return nil }

func (s *feeder) Exhausted() bool { return s.tr.exhausted(s.ctx.Task(), s.strict) }

// splitter emits the leaves of each message; it keeps some messages for a
// while, fails some, and forgets a few.
type splitter struct {
	storm.BaseBolt
	tr   *truth
	ctx  *storm.TopologyContext
	out  *storm.OutputCollector
	kept []storm.Tuple
}

func (b *splitter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("attempt", "leaf", "text")
}

func (b *splitter) ComponentConfiguration() storm.Config {
	return storm.Config{string(storm.ConfTopologyTickTupleFreqSecs): 1}
}

func (b *splitter) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.ctx, b.out = ctx, out
	return nil
}

func (b *splitter) Execute(t storm.Tuple) error {
	if t.IsTick() {
		b.settle(0)
		return nil
	}
	for leaf := range t.Int(1) {
		b.tr.chaos.at(b.ctx, "Execute", "(*splitter).Execute")
		b.out.Emit(&t, t.Value(0), storm.Int(leaf), storm.String(textOf(t.Int(0), leaf)))
	}
	b.tr.chaos.at(b.ctx, "Execute", "(*splitter).Execute")
	switch {
	case b.tr.chaos.fails():
		b.out.Fail(&t)
	case b.tr.chaos.oneIn(b.tr.chaos.forget):
	case b.tr.chaos.below(3) == 0:
		b.kept = append(b.kept, t)
		if b.tr.chaos.below(4) == 0 {
			b.out.ResetTimeout(&t)
		}
	default:
		b.out.Ack(&t)
	}
	b.settle(5)
	return nil
}

// settle acks what was kept, beyond the newest n.
func (b *splitter) settle(n int) {
	for len(b.kept) > n {
		b.out.Ack(&b.kept[0])
		b.kept = b.kept[1:]
	}
}

// joiner joins what comes to it.
type joiner struct {
	storm.BaseBolt
	tr   *truth
	ctx  *storm.TopologyContext
	out  *storm.OutputCollector
	held []storm.Tuple
	want int
}

func (b *joiner) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("attempts", "leaves", "texts")
}

func (b *joiner) ComponentConfiguration() storm.Config {
	return storm.Config{string(storm.ConfTopologyTickTupleFreqSecs): 1}
}

func (b *joiner) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.ctx, b.out, b.want = ctx, out, 2
	return nil
}

func (b *joiner) Execute(t storm.Tuple) error {
	if !t.IsTick() {
		b.held = append(b.held, t)
	}
	if len(b.held) == 0 || len(b.held) < b.want && !t.IsTick() {
		return nil
	}
	var attempts, leaves, texts []storm.Value
	for i := range b.held {
		h := &b.held[i]
		attempts, leaves, texts = append(attempts, h.Value(0)), append(leaves, h.Value(1)), append(texts, h.Value(2))
	}
	b.tr.chaos.at(b.ctx, "Execute", "(*joiner).Execute")
	b.out.EmitAnchors(storm.DefaultStream, b.held, storm.List(attempts...), storm.List(leaves...), storm.List(texts...))
	b.tr.chaos.at(b.ctx, "Execute", "(*joiner).Execute")
	for i := range b.held {
		if i == 0 && b.tr.chaos.fails() {
			b.out.Fail(&b.held[i])
			continue
		}
		b.out.Ack(&b.held[i])
	}
	b.held, b.want = nil, 2+b.tr.chaos.below(3)
	return nil
}

// ender processes what join and split emit.
type ender struct {
	storm.BaseBolt
	tr  *truth
	ctx *storm.TopologyContext
}

func (b *ender) Prepare(ctx *storm.TopologyContext) error {
	b.ctx = ctx
	return nil
}

func (b *ender) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	b.tr.chaos.at(b.ctx, "Execute", "(*ender).Execute")
	if b.tr.chaos.fails() {
		return fmt.Errorf("chaos: %w", storm.ErrFail)
	}
	if b.ctx.Component() == "audit" {
		b.process(t.Value(0), t.Value(1), t.Value(2), func(leaf int64) int { return auditLeaf(int(leaf), b.ctx.TaskIndex()) })
		return nil
	}
	attempts, _ := t.Value(0).AsList()
	leaves, _ := t.Value(1).AsList()
	texts, _ := t.Value(2).AsList()
	for i := range attempts {
		b.process(attempts[i], leaves[i], texts[i], func(leaf int64) int { return int(leaf) })
	}
	return nil
}

func (b *ender) process(attempt, leaf, text storm.Value, bit func(leaf int64) int) {
	no, _ := attempt.AsInt()
	n, _ := leaf.AsInt()
	if got, _ := text.AsString(); got != textOf(no, n) {
		b.tr.errorf("leaf %d of attempt %d comes with the text %q", n, no, got)
	}
	b.tr.process(no, bit(n))
}

const spoutTasks = 4

func trialTopology(tb testing.TB, tr *truth, strict bool) *storm.Topology {
	tb.Helper()
	b := storm.NewTopologyBuilder()
	newSpout := func() storm.Spout { return &feeder{tr: tr, strict: strict} }
	newEnd := func() storm.BasicBolt { return &ender{tr: tr} }
	b.SetSpout("alpha", newSpout, 1).SetNumTasks(2)
	b.SetSpout("beta", newSpout, 2)
	b.SetBolt("split", func() storm.Bolt { return &splitter{tr: tr} }, 2).SetNumTasks(4).ShuffleGrouping("alpha").FieldsGrouping("beta", "attempt")
	b.SetBolt("join", func() storm.Bolt { return &joiner{tr: tr} }, 2).FieldsGrouping("split", "attempt")
	b.SetBasicBolt("sink", newEnd, 2).ShuffleGrouping("join")
	b.SetBasicBolt("audit", newEnd, auditTasks).AllGrouping("split")
	top, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return top
}
