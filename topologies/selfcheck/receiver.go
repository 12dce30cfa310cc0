package selfcheck

import "github.com/stormring/stormring/storm"

// receiver checks the order of what it gets and keeps what it has seen.
type receiver struct {
	storm.BaseBasicBolt
	ledger    *ledger
	component string
	task      storm.TaskID
	order     []int64  // the next number that is in order, by sending task
	seen      []bitset // by rank of the spout task
	keys      [keys]bool
	got       int64
}

func (b *receiver) Prepare(ctx *storm.TopologyContext) error {
	b.component, b.task = ctx.Component(), ctx.Task()
	b.ledger.enter(b.component, b.task)
	b.seen = make([]bitset, b.ledger.sources)
	return nil
}

func (b *receiver) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	from, order := t.SourceTask(), t.Int(valOrder)
	b.take(from, order, t.Int(valSource), t.Int(valSeq), t.Int(valKey))
	return nil
}

func (b *receiver) take(from storm.TaskID, order, source, seq, key int64) {
	b.got++
	for int(from) >= len(b.order) {
		b.order = append(b.order, 0)
	}
	if order < b.order[from] {
		b.ledger.violation("%s task %d: from task %d came number %d after %d", b.component, b.task, from, order, b.order[from]-1)
	}
	b.order[from] = max(b.order[from], order+1)
	if source < 0 || source >= int64(len(b.seen)) || seq < 0 || seq >= int64(b.ledger.count) || key != keyOf(source, seq) {
		b.ledger.violation("%s task %d: from task %d came tuple %d of source %d with key %d, which nobody sent", b.component, b.task, from, seq, source, key)
		return
	}
	if !b.seen[source].set(int(seq)) {
		b.ledger.violation("%s task %d: tuple %d of source %d came twice", b.component, b.task, seq, source)
	}
	b.keys[key] = true
}

func (b *receiver) Cleanup() error {
	b.ledger.handOver(b)
	return nil
}

// bitset is a set of small numbers, as large as the largest.
type bitset []uint64

// set adds i; it reports false if i was there already.
func (s *bitset) set(i int) bool {
	for i/64 >= len(*s) {
		*s = append(*s, 0)
	}
	word, bit := &(*s)[i/64], uint64(1)<<(i%64)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	return true
}

func (s bitset) has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }
