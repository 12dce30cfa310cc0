package wordcount

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/stormring/stormring/storm"
)

// flushBytes is from how many bytes on a counter writes its entries at once.
const flushBytes = 64 << 10

// ledgerSplitter emits the different words of each block with their number,
// always in the same order.
type ledgerSplitter struct {
	storm.BaseBasicBolt
	index  map[string]int // into counts
	counts []count
}

func (b *ledgerSplitter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("word", "n", "block", "index")
}

func (b *ledgerSplitter) Prepare(*storm.TopologyContext) error {
	b.index = map[string]int{}
	return nil
}

func (b *ledgerSplitter) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	text, block := t.String(0), t.Value(1)
	for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
		word := text[start:end]
		i, ok := b.index[word]
		if !ok {
			i = len(b.counts)
			b.index[word] = i
			b.counts = append(b.counts, count{word: word})
		}
		b.counts[i].n++
	}
	for i := range b.counts {
		c := &b.counts[i]
		out.Emit(storm.String(c.word), storm.Int(c.n), block, storm.Int(int64(i)))
	}
	clear(b.index)
	clear(b.counts)
	b.counts = b.counts[:0]
	return nil
}

// ledgerCounter writes entries to a counts file of its own and acks them then:
// what was given to write outlives the process. It gathers entries as long as
// more are at hand; a goroutine asks it to write by way of its queue, behind
// what waits there. It need not know what was written before, see ledger.
type ledgerCounter struct {
	storm.BaseBolt
	ledger *ledger
	out    *storm.OutputCollector
	rank   int
	file   *os.File // nil until there is something to write
	buf    []byte
	held   []storm.Tuple // those whose entries are in buf
	failed error         // nothing more is written after an error

	gathers chan struct{} // something is held
	stop    func()        // ends the goroutine and waits for it
}

func (b *ledgerCounter) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	if err := b.ledger.enter(); err != nil {
		return fmt.Errorf("wordcount: %w", err)
	}
	b.out, b.rank = out, ctx.TaskIndex()
	b.gathers = make(chan struct{}, 1)
	// The context ends the goroutine if the task fails; Cleanup comes only
	// after an orderly end.
	life, cancel := context.WithCancel(ctx.Context())
	var wg sync.WaitGroup
	wg.Go(func() { b.flusher(life) })
	b.stop = func() {
		cancel()
		wg.Wait()
	}
	return nil
}

// flusher has held entries written.
func (b *ledgerCounter) flusher(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.gathers:
		}
		// The next Execute returns the error of a flush. If Do has one the task
		// is stopping.
		if b.out.Do(ctx, func() { _ = b.flush() }) != nil {
			return
		}
	}
}

func (b *ledgerCounter) Execute(t storm.Tuple) error {
	if b.failed != nil {
		return b.failed
	}
	b.buf = appendEntry(b.buf, t.Int(2), t.Int(3), t.Int(1), t.String(0))
	b.held = append(b.held, t)
	if len(b.buf) >= flushBytes {
		return b.flush()
	}
	if len(b.held) == 1 {
		select {
		case b.gathers <- struct{}{}:
		default: // it is about to look anyway
		}
	}
	return nil
}

// flush writes what is held, in one call, and acks it, or fails it.
func (b *ledgerCounter) flush() error {
	if len(b.held) == 0 || b.failed != nil {
		return b.failed
	}
	settle := b.out.Ack
	if err := b.write(); err != nil {
		b.failed = fmt.Errorf("wordcount: write to the ledger: %w", err)
		settle = b.out.Fail
	}
	for i := range b.held {
		settle(&b.held[i])
	}
	clear(b.held)
	b.held, b.buf = b.held[:0], b.buf[:0]
	return b.failed
}

func (b *ledgerCounter) write() error {
	if b.file == nil {
		f, err := b.ledger.newCounts(b.rank)
		if err != nil {
			return err
		}
		b.file = f
	}
	if _, err := b.file.Write(b.buf); err != nil {
		return err
	}
	if b.ledger.sync {
		return b.file.Sync()
	}
	return nil
}

func (b *ledgerCounter) Cleanup() error {
	b.stop()
	if b.file == nil {
		return nil
	}
	if err := b.file.Close(); err != nil {
		return fmt.Errorf("wordcount: close a file of the ledger: %w", err)
	}
	return nil
}
