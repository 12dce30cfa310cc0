// Package selfcheck checks the promises of the runtime with numbered tuples:
// from one task to another on one stream tuples arrive in the order in which
// they were sent; none is lost, none comes twice; fields grouping sends equal
// keys to one task, all grouping sends everything to every task.
//
// Begin at Definition and build. What each receiving task keeps is in
// receiver.go; ledger.go puts it together at the end.
package selfcheck

import (
	"flag"
	"fmt"

	"github.com/stormring/stormring/storm"
)

const (
	// relayStream takes the tuples to the middle bolt.
	relayStream = "relay"
	// keys is how many different keys there are.
	keys = 512
	// maxPending is how many tuples a spout task may have under way.
	maxPending = 4096
)

// Definition is the topology as programs offer it.
func Definition() storm.Definition {
	return storm.Definition{
		Name:    "selfcheck",
		Summary: "Check that no tuple is lost, doubled or out of order",
		Setup:   setup,
	}
}

// options are the topology's flags.
type options struct {
	count  int
	spouts int
	bolts  int
}

func setup(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
	o := &options{}
	flags.IntVar(&o.count, "count", 100_000, "tuples that each spout task sends on each of its two streams")
	flags.IntVar(&o.spouts, "spouts", 2, "tasks of the spout")
	flags.IntVar(&o.bolts, "bolts", 3, "tasks of each bolt")
	return o.build
}

func (o *options) check(env storm.Env) error {
	for _, p := range []struct {
		flag string
		n    int
	}{{"count", o.count}, {"spouts", o.spouts}, {"bolts", o.bolts}} {
		if p.n < 1 {
			return fmt.Errorf("%w: --%s is %d; it must be at least 1", storm.ErrUsage, p.flag, p.n)
		}
	}
	if len(env.Args) > 0 {
		return fmt.Errorf("%w: selfcheck takes no arguments, but got %q", storm.ErrUsage, env.Args[0])
	}
	return nil
}

// The receiving components.
const (
	shuffled = "shuffled"
	keyed    = "keyed"
	everyone = "all"
	end      = "end"
)

func (o *options) build(env storm.Env) (*storm.Instance, error) {
	if err := o.check(env); err != nil {
		return nil, err
	}
	l := newLedger(o.count, o.spouts, o.bolts)
	b := storm.NewTopologyBuilder()
	b.SetSpout("source", func() storm.Spout { return &spout{ledger: l, count: o.count} }, o.spouts)
	receiver := func() storm.BasicBolt { return &receiver{ledger: l} }
	b.SetBasicBolt(shuffled, receiver, o.bolts).ShuffleGrouping("source")
	b.SetBasicBolt(keyed, receiver, o.bolts).FieldsGrouping("source", "key")
	b.SetBasicBolt(everyone, receiver, o.bolts).AllGrouping("source")
	b.SetBasicBolt("middle", func() storm.BasicBolt { return &middle{} }, o.bolts).
		Grouping("source", relayStream, storm.Grouping{Kind: storm.GroupShuffle})
	b.SetBasicBolt(end, receiver, o.bolts).FieldsGrouping("middle", "key")
	t, err := b.Build()
	if err != nil {
		return nil, err
	}
	conf := storm.Config{}
	conf.SetMaxSpoutPending(maxPending)
	// A slow machine is no violation.
	storm.ConfTopologyEnableMessageTimeouts.Set(conf, false)
	return &storm.Instance{Topology: t, Conf: conf, Report: l.report, Progress: l.progress}, nil
}

// The values of every tuple.
const (
	valSource = iota // rank of the spout task
	valSeq           // number of the tuple at the spout task, from 0
	valKey
	valOrder // number of the tuple at the task that sent it, from 0
)

// spout sends numbered tuples on two streams.
type spout struct {
	storm.BaseSpout
	ledger *ledger
	count  int
	out    *storm.SpoutOutputCollector
	task   storm.TaskID
	source int64
	sent   int
	acked  int
}

var _ storm.Bounded = (*spout)(nil)

func (s *spout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("source", "seq", "key", "order")
	d.DeclareStream(relayStream, "source", "seq", "key", "order")
}

func (s *spout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out, s.task, s.source = out, ctx.Task(), int64(ctx.TaskIndex())
	s.ledger.enter(ctx.Component(), s.task)
	return nil
}

func (s *spout) NextTuple() error {
	if s.sent == s.count {
		return nil
	}
	seq := int64(s.sent)
	source, id, key := storm.Int(s.source), storm.Int(seq), storm.Int(keyOf(s.source, seq))
	s.out.EmitTracked(id, source, id, key, id)
	s.out.EmitStream(relayStream, id, source, id, key, id)
	s.sent++
	if s.sent%progressStep == 0 {
		s.ledger.sent.Add(progressStep)
	}
	return nil
}

// keyOf spreads the keys so that neighbours go to different tasks.
func keyOf(source, seq int64) int64 { return (seq*31 + source*7) % keys }

// Exhausted implements storm.Bounded.
func (s *spout) Exhausted() bool { return s.sent == s.count }

// Ack counts trees.
func (s *spout) Ack(storm.Value) { s.acked++ }

// Fail notes a violation: nothing has a reason to fail.
func (s *spout) Fail(id storm.Value) {
	s.ledger.violation("source task %d: the tree of tuple %v failed", s.task, id)
}

// Close hands over the counts.
func (s *spout) Close() error {
	s.ledger.closeSpout(s.source, s.sent, s.acked)
	return nil
}

// middle passes tuples on with numbers of its own.
type middle struct {
	storm.BaseBasicBolt
	order int64
}

func (b *middle) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("source", "seq", "key", "order")
}

func (b *middle) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	out.Emit(t.Value(valSource), t.Value(valSeq), t.Value(valKey), storm.Int(b.order))
	b.order++
	return nil
}
