package node

import (
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
)

// word is what the node knows of its host's link and processors: what it measured
// itself, and what workers of this host told.
func (n *Node) word() protocol.Link {
	l := n.end.Link()
	own := protocol.Link{Up: int64(l.Up), UpLeast: int64(l.UpLeast), Down: int64(l.Down), Fold: n.folds.get()}
	return own.Best(n.reports.link(n.cfg.Now()))
}

// linkMinutes is for how many minutes what workers told of the link counts.
const linkMinutes = 10

// toldLinks are the best that workers of this host told in each of the last minutes.
type toldLinks struct {
	minutes []toldMinute // the last one last
}

type toldMinute struct {
	at   time.Time
	best protocol.Link
}

func (t *toldLinks) hear(now time.Time, l protocol.Link) {
	if l == (protocol.Link{}) {
		return
	}
	at := now.Truncate(time.Minute)
	if n := len(t.minutes); n == 0 || !t.minutes[n-1].at.Equal(at) {
		t.minutes = append(t.minutes, toldMinute{at: at})
		t.minutes = t.minutes[max(0, len(t.minutes)-linkMinutes):]
	}
	last := &t.minutes[len(t.minutes)-1]
	last.best = last.best.Best(l)
}

func (t *toldLinks) best(now time.Time) protocol.Link {
	var best protocol.Link
	for _, m := range t.minutes {
		if now.Sub(m.at) <= linkMinutes*time.Minute {
			best = best.Best(m.best)
		}
	}
	return best
}

// foldRate is how fast folds go, with more weight on the last ones.
type foldRate struct {
	mu             sync.Mutex
	bytes, seconds float64
}

// older is what the weight of what was before becomes with each fold.
const older = 0.9

func (f *foldRate) learn(bytes int64, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes = older*f.bytes + float64(bytes)
	f.seconds = older*f.seconds + took.Seconds()
}

// get is in bytes a second; 0 if nothing was folded.
func (f *foldRate) get() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seconds <= 0 {
		return 0
	}
	return int64(f.bytes / f.seconds)
}
