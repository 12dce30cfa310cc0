package polyglot

import (
	"slices"

	"github.com/stormring/stormring/storm"
)

// counter counts words, and each line once, though it may come again because it
// failed half-way: a word keeps the numbers of the lines that it was counted of
// until they are settled as a whole. What comes of a line after that, from an
// attempt that was given up, is no news either.
type counter struct {
	storm.BaseBasicBolt
	job     *job
	words   map[string]*tally
	settled int64 // all lines below are
}

// tally is the count of a word.
type tally struct {
	n     int64
	lines []int64 // of which it was counted, those below settled left out now and then
}

// DeclareOutputFields implements storm.BasicBolt.
func (*counter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "count") }

// Prepare implements storm.BasicBolt.
func (b *counter) Prepare(ctx *storm.TopologyContext) error {
	b.words = map[string]*tally{}
	b.job.enter(ctx.Task())
	return nil
}

// Execute implements storm.BasicBolt.
func (b *counter) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	if t.SourceStream() == settledStream {
		b.settled = t.Int(0)
		return nil
	}
	word := t.String(0)
	// Also if it is no news: the first time, it may not have arrived.
	out.Emit(storm.String(word), storm.Int(b.add(word, t.Int(1), t.Int(2))))
	return nil
}

// add counts a word that is times in a line, and returns its count.
func (b *counter) add(word string, times, line int64) int64 {
	w := b.words[word]
	if w == nil {
		w = &tally{}
		b.words[word] = w
	}
	if line >= b.settled && !slices.Contains(w.lines, line) {
		w.n += times
		w.lines = append(slices.DeleteFunc(w.lines, func(old int64) bool { return old < b.settled }), line)
	}
	return w.n
}
