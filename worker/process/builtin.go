package process

import (
	"fmt"
	"time"

	"github.com/stormring/stormring/storm"
)

// wordEvery is how often a wordSpout emits.
const wordEvery = 100 * time.Millisecond

// wordSpout is layout.TestWordSpoutClass: it emits five words in turn, without end.
type wordSpout struct {
	storm.BaseSpout
	out  *storm.SpoutOutputCollector
	next time.Time
	n    int
}

// DeclareOutputFields implements storm.Spout.
func (*wordSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

// Open implements storm.Spout.
func (s *wordSpout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

// NextTuple implements storm.Spout.
func (s *wordSpout) NextTuple() error {
	now := time.Now()
	if now.Before(s.next) {
		return nil
	}
	s.next = now.Add(wordEvery)
	words := [...]string{"nathan", "mike", "jackson", "golda", "bertels"}
	s.out.Emit(storm.String(words[s.n%len(words)]))
	s.n++
	return nil
}

// wordCounter is layout.TestWordCounterClass: it counts the first field of its input and emits each count.
type wordCounter struct {
	storm.BaseBolt
	out    *storm.OutputCollector
	counts map[string]int64
}

// DeclareOutputFields implements storm.Bolt.
func (*wordCounter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "count") }

// Prepare implements storm.Bolt.
func (b *wordCounter) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out, b.counts = out, map[string]int64{}
	return nil
}

// Execute implements storm.Bolt.
func (b *wordCounter) Execute(t storm.Tuple) error {
	if t.IsTick() {
		b.out.Ack(&t)
		return nil
	}
	word := t.String(0)
	b.counts[word]++
	b.out.Emit(&t, storm.String(word), storm.Int(b.counts[word]))
	b.out.Ack(&t)
	return nil
}

// logBolt is layout.LogInfoBoltClass: it logs what it gets.
type logBolt struct {
	storm.BaseBolt
	ctx *storm.TopologyContext
	out *storm.OutputCollector
}

// Prepare implements storm.Bolt.
func (b *logBolt) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.ctx, b.out = ctx, out
	return nil
}

// Execute implements storm.Bolt.
func (b *logBolt) Execute(t storm.Tuple) error {
	b.ctx.Logger().Info("tuple", "tuple", fmt.Sprint(t))
	b.out.Ack(&t)
	return nil
}
