package statefulwordcount

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stormring/stormring/storm"
)

// splitter splits lines into words: what lies between white space.
type splitter struct{ storm.BaseBasicBolt }

func (b *splitter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("word", "page") }

func (b *splitter) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	page := t.Value(1)
	for word := range strings.FieldsSeq(t.String(0)) {
		out.Emit(storm.String(word), page)
	}
	return nil
}

// entry is a key of the state: a word on a page, which is "" if pages are not
// told apart. The zero entry has the number of all words.
type entry struct{ word, page string }

// counter counts words, in state.
type counter struct {
	storm.BaseBasicBolt
	output, journal string // "" is none
	job             *job

	rank  int
	log   *os.File
	state *storm.KeyValueState[entry, int64]
	words int64 // all that are counted
	fresh bool  // nothing was counted since the state came
	saved sums  // of what the last checkpoint takes down
}

// sums are those of a state.
type sums struct{ keys, words int64 }

var (
	_ storm.Stateful     = (*counter)(nil)
	_ storm.PrePreparer  = (*counter)(nil)
	_ storm.PreCommitter = (*counter)(nil)
)

func (b *counter) Prepare(ctx *storm.TopologyContext) error {
	b.rank = ctx.TaskIndex()
	if b.journal == "" {
		return nil
	}
	var err error
	if b.log, err = os.OpenFile(b.journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return fmt.Errorf("statefulwordcount: --journal: %w", err)
	}
	return nil
}

// InitState implements storm.Stateful.
func (b *counter) InitState(s storm.State) (err error) {
	b.state = storm.NewKeyValueState[entry, int64](s, entryCodec{}, storm.IntCodec)
	b.fresh = true
	if b.words, err = b.state.GetOr(entry{}, 0); err != nil {
		return fmt.Errorf("statefulwordcount: %w", err)
	}
	return b.note(EventState, 0, b.sums())
}

func (b *counter) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	if t.SourceStream() == endStream {
		return b.write()
	}
	key := entry{t.String(0), t.String(1)}
	n, err := b.state.GetOr(key, 0)
	if err != nil {
		return fmt.Errorf("statefulwordcount: %w", err)
	}
	if err := b.state.Put(key, n+1); err != nil {
		return fmt.Errorf("statefulwordcount: count a word: %w", err)
	}
	b.words++
	if b.fresh {
		b.fresh = false
		return b.note(EventFirst, 0, b.sums())
	}
	return nil
}

// PrePrepare implements storm.PrePreparer.
func (b *counter) PrePrepare(int64) error {
	if err := b.state.Put(entry{}, b.words); err != nil {
		return fmt.Errorf("statefulwordcount: keep the number of words: %w", err)
	}
	b.saved = b.sums()
	return nil
}

func (b *counter) sums() sums { return sums{int64(b.state.Len()), b.words} }

// PreCommit implements storm.PreCommitter.
func (b *counter) PreCommit(tx int64) error { return b.note(EventCommit, tx, b.saved) }

// Cleanup gives the job what was counted.
func (b *counter) Cleanup() error {
	var err error
	if b.state != nil {
		sums := map[string]int64{}
		err = b.each(func(e entry, n int64) error {
			sums[e.word] += n
			return nil
		})
		b.job.handOver(b.rank, sums)
	}
	if b.log != nil {
		err = errors.Join(err, b.log.Close())
	}
	return err
}

// each calls f for all counts.
func (b *counter) each(f func(entry, int64) error) error {
	var failed error
	err := b.state.All(func(e entry, n int64) bool {
		if e != (entry{}) {
			failed = f(e, n)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("statefulwordcount: %w", err)
	}
	return nil
}

// entryCodec writes the word and, behind a tab, the page.
type entryCodec struct{}

func (entryCodec) Append(dst []byte, e entry) ([]byte, error) {
	return append(append(append(dst, e.word...), '\t'), e.page...), nil
}

func (entryCodec) Decode(b []byte) (entry, error) {
	word, page, ok := bytes.Cut(b, []byte{'\t'})
	if !ok {
		return entry{}, errors.New("there is no tab behind the word")
	}
	return entry{string(word), string(page)}, nil
}
