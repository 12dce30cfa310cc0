package wordcount

import (
	"strings"

	"github.com/stormring/stormring/storm"
)

// splitter emits the words of each block. They share the block's memory.
type splitter struct {
	storm.BaseBasicBolt
	job *job
}

func (b *splitter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word") }

func (b *splitter) Prepare(ctx *storm.TopologyContext) error {
	b.job.enter(ctx.Task())
	return nil
}

func (b *splitter) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	text := t.String(0)
	for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
		out.Emit(storm.String(text[start:end]))
	}
	return nil
}

// count is a word and how often it came.
type count struct {
	word string
	n    int64
}

// counter counts words and hands its counts over when the run ends in order.
type counter struct {
	storm.BaseBasicBolt
	job    *job
	index  map[string]int // into counts
	counts []count
}

func (b *counter) Prepare(ctx *storm.TopologyContext) error {
	b.index = map[string]int{}
	b.job.enterCounter(ctx.Task())
	return nil
}

func (b *counter) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	word := t.String(0)
	if i, ok := b.index[word]; ok {
		b.counts[i].n++
		return nil
	}
	// A copy: the word itself would keep its whole block in memory.
	word = strings.Clone(word)
	b.index[word] = len(b.counts)
	b.counts = append(b.counts, count{word, 1})
	return nil
}

func (b *counter) Cleanup() error {
	b.job.handOver(b.counts)
	return nil
}
