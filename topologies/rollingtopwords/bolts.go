package rollingtopwords

import (
	"slices"

	"github.com/stormring/stormring/storm"
)

// counter counts words in a sliding window and sends the counts at each tick.
type counter struct {
	storm.BaseBasicBolt
	window *window
}

func newCounter(slots int) *counter { return &counter{window: newWindow(slots)} }

func (b *counter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "count") }

func (b *counter) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	if !t.IsTick() {
		b.window.add(t.String(0))
		return nil
	}
	b.window.advance(func(word string, count int64) {
		out.Emit(storm.String(word), storm.Int(count))
	})
	return nil
}

// ranker keeps the ranking of the words that it gets. At each tick it sends
// the ranking, and, if it is the last in the row, makes it the result.
type ranker struct {
	storm.BaseBasicBolt
	best   *ranking
	sent   []entry // what the next bolt has been told
	result *result
}

func (b *ranker) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "count") }

func (b *ranker) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	if !t.IsTick() {
		b.best.update(t.String(0), t.Int(1))
		return nil
	}
	for _, e := range b.changes() {
		out.Emit(storm.String(e.word), storm.Int(e.count))
	}
	if b.result != nil {
		b.result.set(b.sent)
	}
	return nil
}

// changes is the ranking now, and before it, with 0, the words that have left
// it since the last call: else they would stay in the next bolt's for ever.
func (b *ranker) changes() []entry {
	var out []entry
	for _, old := range b.sent {
		if !slices.ContainsFunc(b.best.best, func(e entry) bool { return e.word == old.word }) {
			out = append(out, entry{old.word, 0})
		}
	}
	b.sent = slices.Clone(b.best.best)
	return append(out, b.sent...)
}

// Cleanup makes what came after the last tick part of the result.
func (b *ranker) Cleanup() error {
	if b.result != nil {
		b.result.set(b.best.best)
	}
	return nil
}
