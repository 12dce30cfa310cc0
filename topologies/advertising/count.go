package advertising

import (
	"fmt"

	"github.com/stormring/stormring/storm"
)

// counter counts views by campaign and window, in state.
type counter struct {
	storm.BaseBasicBolt
	// retain is how many windows of a campaign are kept; 0 keeps all.
	retain int64
	pub    publisher
	state  *storm.KeyValueState[slot, views]
}

var (
	_ storm.Stateful     = (*counter)(nil)
	_ storm.PreCommitter = (*counter)(nil)
)

// slot is a key of the state: a place for a window of a campaign. If only n
// windows are kept there are n places, and a new window takes that of an old one.
type slot struct {
	campaign string
	index    int64
}

// lateSlot is the index where the late views of a campaign are counted.
const lateSlot = -1

// views is a value of the state. start is that of the window, 0 in a lateSlot.
type views struct{ start, n int64 }

func (b *counter) Prepare(ctx *storm.TopologyContext) error {
	b.pub.prepare(ctx, b.collect)
	return nil
}

// InitState implements storm.Stateful.
func (b *counter) InitState(s storm.State) error {
	b.state = storm.NewKeyValueState[slot, views](s, slotCodec{}, viewsCodec{})
	b.pub.begin()
	return nil
}

func (b *counter) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	campaign, start := t.String(0), windowStart(t.Int(1))
	key := slot{campaign, start / WindowMillis}
	if b.retain > 0 {
		key.index %= b.retain
	}
	b.pub.dirty = true
	if isLate(start, t.Int(2)) {
		return b.addLate(campaign)
	}
	have, _, err := b.state.Get(key)
	if err != nil {
		return fmt.Errorf("advertising: %w", err)
	}
	switch {
	case have.start > start: // a newer window has its place
		return b.addLate(campaign)
	case have.start < start:
		have = views{start: start}
	}
	have.n++
	return b.put(key, have)
}

func (b *counter) addLate(campaign string) error {
	key := slot{campaign, lateSlot}
	have, _, err := b.state.Get(key)
	if err != nil {
		return fmt.Errorf("advertising: %w", err)
	}
	have.n++
	return b.put(key, have)
}

func (b *counter) put(key slot, v views) error {
	if err := b.state.Put(key, v); err != nil {
		return fmt.Errorf("advertising: count a view: %w", err)
	}
	return nil
}

func (b *counter) collect(c Counts) error {
	return b.state.All(func(key slot, v views) bool {
		if key.index == lateSlot {
			c.Late[key.campaign] += v.n
		} else {
			c.Views[Window{key.campaign, v.start}] += v.n
		}
		return true
	})
}

// PreCommit implements storm.PreCommitter.
func (b *counter) PreCommit(int64) error { return b.pub.write() }

func (b *counter) Cleanup() error { return b.pub.handOver() }

// slotCodec writes the campaign and behind it the index, which has 8 bytes.
type slotCodec struct{}

func (slotCodec) Append(dst []byte, s slot) ([]byte, error) {
	return storm.IntCodec.Append(append(dst, s.campaign...), s.index)
}

func (slotCodec) Decode(b []byte) (slot, error) {
	cut := max(len(b)-8, 0)
	index, err := storm.IntCodec.Decode(b[cut:])
	return slot{string(b[:cut]), index}, err
}

// viewsCodec writes two numbers of 8 bytes.
type viewsCodec struct{}

func (viewsCodec) Append(dst []byte, v views) ([]byte, error) {
	dst, err := storm.IntCodec.Append(dst, v.start)
	if err != nil {
		return nil, err
	}
	return storm.IntCodec.Append(dst, v.n)
}

func (viewsCodec) Decode(b []byte) (v views, err error) {
	cut := min(8, len(b))
	if v.start, err = storm.IntCodec.Decode(b[:cut]); err != nil {
		return views{}, err
	}
	v.n, err = storm.IntCodec.Decode(b[cut:])
	return v, err
}
