package advertising

import (
	"fmt"

	"github.com/stormring/stormring/storm"
)

// tally counts the first values of its tuples, in state: users, and reasons why
// lines were rejected.
type tally struct {
	storm.BaseBasicBolt
	into  func(Counts) map[string]int64 // what it counts
	pub   publisher
	state *storm.KeyValueState[string, int64]
}

var (
	_ storm.Stateful     = (*tally)(nil)
	_ storm.PreCommitter = (*tally)(nil)
)

func ofUsers(c Counts) map[string]int64    { return c.Users }
func ofRejected(c Counts) map[string]int64 { return c.Rejected }

func (b *tally) Prepare(ctx *storm.TopologyContext) error {
	b.pub.prepare(ctx, b.collect)
	return nil
}

// InitState implements storm.Stateful.
func (b *tally) InitState(s storm.State) error {
	b.state = storm.NewKeyValueState(s, storm.StringCodec, storm.IntCodec)
	b.pub.begin()
	return nil
}

func (b *tally) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	key := t.String(0)
	n, err := b.state.GetOr(key, 0)
	if err != nil {
		return fmt.Errorf("advertising: %w", err)
	}
	b.pub.dirty = true
	if err := b.state.Put(key, n+1); err != nil {
		return fmt.Errorf("advertising: count %q: %w", key, err)
	}
	return nil
}

func (b *tally) collect(c Counts) error {
	m := b.into(c)
	return b.state.All(func(key string, n int64) bool {
		m[key] += n
		return true
	})
}

// PreCommit implements storm.PreCommitter.
func (b *tally) PreCommit(int64) error { return b.pub.write() }

func (b *tally) Cleanup() error { return b.pub.handOver() }
