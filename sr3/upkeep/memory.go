package upkeep

import (
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

type matter uint8

const (
	fetchManifest matter = iota + 1
	fetchObject
	offer
	fold
	ask
	lacking  // an object that should be here and is not
	useless  // an object or manifest that nothing kept needs
	foreign  // an object or manifest that belongs to other nodes
	departed // a topology that is gone
	hinted   // an owner of which another node told
)

// subject is what a memory is about; fields that do not matter are zero. A
// manifest is an object without a kind.
type subject struct {
	matter matter
	id     shard.ObjectID
	node   shard.NodeID
}

func manifestID(o shard.Owner, v shard.Version) shard.ObjectID {
	return shard.ObjectID{Owner: o, Version: v}
}

// span is for how long something has been so without a break.
type span struct {
	since int64
	round int64
}

// try is what was given to the shell.
type try struct {
	given int64 // the last time
	next  int64 // not again before
	count int   // how often since it last succeeded
	open  bool  // not ended yet
	round int64
}

// memory forgets what no Decide asked for in its last round. Times are in
// milliseconds of two clocks: clock counts no more than a step at once, so that
// delays are never too short; raw counts all, so that what others said is never
// believed for too long.
type memory struct {
	clock, raw int64
	last       int64
	started    bool
	round      int64
	spans      map[subject]*span
	tries      map[subject]*try
}

func newMemory() memory {
	return memory{spans: make(map[subject]*span), tries: make(map[subject]*try)}
}

// begin starts a round.
func (m *memory) begin(nowMillis int64, step time.Duration) {
	m.round++
	if m.started && nowMillis > m.last {
		m.raw += nowMillis - m.last
		m.clock += min(nowMillis-m.last, step.Milliseconds())
	}
	m.last, m.started = nowMillis, true
}

// end forgets what was not asked for in this round.
func (m *memory) end() {
	for s, p := range m.spans {
		if p.round != m.round {
			delete(m.spans, s)
		}
	}
	for s, t := range m.tries {
		if t.round != m.round {
			delete(m.tries, s)
		}
	}
}

// lasted notes that s is so, and tells if it has been for at least d.
func (m *memory) lasted(s subject, d time.Duration) bool {
	p, ok := m.spans[s]
	if !ok {
		p = &span{since: m.clock}
		m.spans[s] = p
	}
	p.round = m.round
	return m.clock-p.since >= d.Milliseconds()
}

// due tells if s may be given to the shell, and its try.
func (m *memory) due(s subject) (*try, bool) {
	t, ok := m.tries[s]
	if !ok {
		t = &try{given: -1, next: m.clock}
		m.tries[s] = t
	}
	t.round = m.round
	return t, m.clock >= t.next
}

// give notes that t goes to the shell.
func (m *memory) give(t *try, first, longest time.Duration) {
	wait := first
	for range t.count {
		if wait *= 2; wait >= longest {
			wait = longest
			break
		}
	}
	t.count++
	t.given, t.next, t.open = m.clock, m.clock+wait.Milliseconds(), true
}

// open counts the tries of a matter that are with the shell.
func (m *memory) open(what matter) int {
	n := 0
	for s, t := range m.tries {
		if s.matter == what && t.open && m.clock < t.next {
			n++
		}
	}
	return n
}
