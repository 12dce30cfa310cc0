package storm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stormring/stormring/storm"
)

// sentences emits lines and hears how each of them ended.
type sentences struct {
	storm.BaseSpout
	lines []string
	next  int
	out   *storm.SpoutOutputCollector
}

func (*sentences) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("sentence") }

func (s *sentences) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *sentences) NextTuple() error {
	if s.next < len(s.lines) {
		s.emit(s.next)
		s.next++
	}
	return nil
}

// Fail emits the line again: the id tells which one it was.
func (s *sentences) Fail(id storm.Value) {
	line, _ := id.AsInt()
	s.emit(int(line))
}

func (s *sentences) emit(line int) {
	s.out.EmitTracked(storm.Int(int64(line)), storm.String(s.lines[line]))
}

// split turns a sentence into words.
type split struct{ storm.BaseBasicBolt }

func (split) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

func (split) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	for word := range strings.FieldsSeq(t.String(0)) {
		out.Emit(storm.String(word))
	}
	return nil
}

// count counts words; all that are equal come to the same task.
type count struct {
	storm.BaseBasicBolt
	counts map[string]int64
}

func (c *count) Prepare(*storm.TopologyContext) error {
	c.counts = map[string]int64{}
	return nil
}

func (*count) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "count") }

func (c *count) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	word := t.String(0)
	c.counts[word]++
	out.Emit(t.Value(0), storm.Int(c.counts[word]))
	return nil
}

// A whole topology: a spout emits sentences, one bolt splits them into words,
// another one counts those.
func Example() {
	lines := []string{"the cow jumped over the moon", "an apple a day"}

	b := storm.NewTopologyBuilder()
	b.SetSpout("sentences", func() storm.Spout { return &sentences{lines: lines} }, 1)
	b.SetBasicBolt("split", func() storm.BasicBolt { return split{} }, 2).ShuffleGrouping("sentences")
	b.SetBasicBolt("count", func() storm.BasicBolt { return &count{} }, 2).FieldsGrouping("split", "word")
	topology, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range topology.ComponentIDs() {
		fmt.Println(id, topology.Components[id].Streams["default"].Fields)
	}
	// Output:
	// count [word count]
	// sentences [sentence]
	// split [word]
}

// Build reports all mistakes at once.
func ExampleTopologyBuilder() {
	b := storm.NewTopologyBuilder()
	b.SetSpout("sentences", func() storm.Spout { return &sentences{} }, 0)
	b.SetBasicBolt("split", func() storm.BasicBolt { return split{} }, 2).ShuffleGrouping("sentence")
	b.SetBasicBolt("count", func() storm.BasicBolt { return &count{} }, 2).FieldsGrouping("split", "wrod")
	_, err := b.Build()
	fmt.Println(err)
	// Output:
	// invalid topology:
	//   component "sentences": parallelism is 0; it must be at least 1
	//   component "count": groups stream "default" of component "split" by field "wrod", but the stream declares "word"
	//   component "split": subscribes to component "sentence", which does not exist
}

// prices reads numbers. What it emits belongs to the tree of its input, and
// the input is acked when Execute returns nil.
type prices struct{ storm.BaseBasicBolt }

func (prices) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("price")
	d.DeclareStream("rejects", "text")
}

func (prices) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	if t.IsTick() {
		return nil
	}
	var price float64
	n, _ := fmt.Sscan(t.String(0), &price)
	if n == 0 {
		out.EmitStream("rejects", t.Value(0))
		return nil
	}
	if price < 0 {
		return fmt.Errorf("price %g: %w", price, storm.ErrFail) // fail, to be replayed
	}
	if price > 1e9 {
		return errors.New("price is too high") // fail and report the error
	}
	out.Emit(storm.Float(price))
	return nil
}

func ExampleBasicBolt() {
	b := storm.NewTopologyBuilder()
	b.SetSpout("texts", func() storm.Spout { return &sentences{} }, 1)
	b.SetBasicBolt("prices", func() storm.BasicBolt { return prices{} }, 1).
		ShuffleGrouping("texts").
		SetConf("topology.tick.tuple.freq.secs", 10)
	topology, err := b.Build()
	fmt.Println(topology.Components["prices"].Conf, err)
	// Output: map[topology.tick.tuple.freq.secs:10] <nil>
}

// lookup asks a slow service for each tuple without holding up the others: a
// goroutine waits for the answer and has Do emit and ack on the task's own.
type lookup struct {
	storm.BaseBolt
	ask func(ctx context.Context, key string) (string, error)
	ctx context.Context
	out *storm.OutputCollector
}

func (*lookup) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("key", "answer") }

func (l *lookup) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	l.ctx, l.out = ctx.Context(), out
	return nil
}

func (l *lookup) Execute(t storm.Tuple) error {
	go func() {
		answer, err := l.ask(l.ctx, t.String(0)) // t may be kept: nothing in it changes
		_ = l.out.Do(l.ctx, func() {             // an error means that the task is stopping
			if err != nil {
				l.out.Fail(&t)
				return
			}
			l.out.Emit(&t, t.Value(0), storm.String(answer))
			l.out.Ack(&t)
		})
	}()
	return nil
}

func ExampleOutputCollector_Do() {
	ask := func(ctx context.Context, key string) (string, error) {
		_, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return strings.ToUpper(key), nil
	}
	b := storm.NewTopologyBuilder()
	b.SetSpout("keys", func() storm.Spout { return &sentences{} }, 1)
	b.SetBolt("lookup", func() storm.Bolt { return &lookup{ask: ask} }, 4).ShuffleGrouping("keys")
	topology, err := b.Build()
	fmt.Println(topology.ComponentIDs(), err)
	// Output: [keys lookup] <nil>
}

// file is a spout that comes to an end: a local run stops by itself once every
// line is processed.
type file struct{ sentences }

var _ storm.Bounded = (*file)(nil)

// Exhausted is asked when NextTuple has emitted nothing. A line that fails is
// emitted again by Fail, and the run goes on until that is processed too.
func (f *file) Exhausted() bool { return f.next == len(f.lines) }

func ExampleBounded() {
	f := &file{sentences{lines: []string{"only one"}}}
	fmt.Println(f.Exhausted())
	f.next++ // as NextTuple does
	fmt.Println(f.Exhausted())
	// Output:
	// false
	// true
}

// A registry lets a topology name its components, with arguments, so that it
// can be described outside Go code.
func ExampleRegistry() {
	r := storm.NewRegistry()
	r.Spout("sentences", func(args []storm.Value) (storm.Spout, error) {
		if len(args) == 0 {
			return nil, errors.New("sentences needs at least one line as an argument")
		}
		s := &sentences{}
		for _, a := range args {
			s.lines = append(s.lines, a.String())
		}
		return s, nil
	})
	r.BasicBolt("split", func([]storm.Value) (storm.BasicBolt, error) { return split{}, nil })
	fmt.Println(r.Names())

	b := storm.NewTopologyBuilder()
	b.Use(r)
	b.SetSpoutNamed("in", "sentences", nil, 1)
	b.SetBoltNamed("out", "splitter", nil, 1).ShuffleGrouping("in")
	_, err := b.Build()
	fmt.Println(err)
	// Output:
	// [sentences split]
	// invalid topology:
	//   component "in": sentences needs at least one line as an argument
	//   component "out": no bolt is registered under the name "splitter"; registered: "sentences", "split"
}
