package transport

import (
	"slices"
	"sync"
	"time"
)

const (
	// gaugeWarm is the beginning of a transfer that does not count: shapers and
	// buffers let it pass faster than a link goes on.
	gaugeWarm  = 20 * time.Millisecond
	gaugeSpan  = 200 * time.Millisecond
	gaugeBytes = 2 * mib
	// gaugeTrust is the part of a transfer's first window that counts by itself: many
	// are over before there were two, but the first has bursts.
	gaugeTrust = 0.9
	// gaugePeer is how much must come from a peer in a window to say something of it.
	gaugePeer = 256 * kib
	// gaugeMinutes is for how many minutes with traffic the best rate is kept.
	gaugeMinutes = 10
	// gaugeShare is the part of all bytes that the largest peer leaves to others
	// if they share the link.
	gaugeShare = 0.1
	// gaugeBusy is for which part of a window connections were busy if it was the
	// own link that held them up. Where a slow peer holds up what goes to others,
	// those have nothing to send for most of the time.
	gaugeBusy = 0.85
)

// Link is what an endpoint's own link was seen to carry in one direction each, all
// peers together, in bytes a second; 0 is unknown. Each is the best of the last
// minutes in which there was traffic: other traffic makes a link look slower,
// nothing makes it look faster, and one that got slower shows some minutes later.
type Link struct {
	// Up was sent while several peers shared it and there was always something for
	// all of them, so that the own link was full, or a path that all of them are
	// behind. UpLeast was sent to whomever: the link carries at least this.
	Up, UpLeast float64
	// Down was received.
	Down float64
}

// Link is what was measured until now.
func (e *Endpoint) Link() Link {
	l := Link{Up: e.sent.full.get(), UpLeast: e.sent.least(), Down: e.received.least()}
	if l.Up > 0 {
		l.Up = max(l.Up, l.UpLeast)
	}
	return l
}

// gauge measures what all connections carry together in one direction while bulk
// is under way: the first moments of a transfer do not count, nor do pauses.
type gauge struct {
	// carried is how many bytes a connection has carried and for how long it was
	// busy with them, if that is known.
	carried func(*conn) (uint64, time.Duration, bool)
	// record takes what the best of a peer's rates was.
	record func(l *link, at time.Duration, s share)

	all, full, brief best

	mu         sync.Mutex
	last, from time.Duration
	cold       bool // the window is the beginning of a transfer
	marks      map[*conn]mark
	before     window // zero at first
}

// mark is how far a connection was when a window began.
type mark struct {
	bytes uint64
	busy  time.Duration
}

// window is what passed in one.
type window struct {
	rate float64
	full bool // several peers shared it, and were busy
	by   map[*link]float64
}

// share is a peer's rate and that of all peers in the same window.
type share struct{ rate, total float64 }

// passed notes bulk that passed from began until now; conns are all connections.
func (g *gauge) passed(began, now, rtt time.Duration, conns func() []*conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	idle := g.last == 0 || began-g.last > meterGap+2*rtt
	g.last = now
	switch {
	case idle:
		g.from, g.cold = now, true
	case g.cold && now-g.from >= gaugeWarm:
		g.cold, g.before = false, window{}
		g.mark(now, away(conns()))
	case !g.cold && now-g.from >= gaugeSpan:
		g.sample(now, away(conns()))
	}
}

// away are the connections that leave this host, or all if none does: what stays
// on the host says nothing of its link.
func away(conns []*conn) []*conn {
	out := slices.DeleteFunc(slices.Clone(conns), func(c *conn) bool { return c.stays })
	if len(out) == 0 {
		return conns
	}
	return out
}

// mark begins a window.
func (g *gauge) mark(now time.Duration, conns []*conn) {
	g.from, g.marks = now, make(map[*conn]mark, len(conns))
	for _, c := range conns {
		if n, busy, ok := g.carried(c); ok {
			g.marks[c] = mark{n, busy}
		}
	}
}

// least is what a link carries at least.
func (g *gauge) least() float64 { return max(g.all.get(), g.brief.get()) }

// sample ends a window, if enough passed in it, and begins the next.
func (g *gauge) sample(now time.Duration, conns []*conn) {
	total, largest := uint64(0), uint64(0)
	busy := 0.0 // seconds, each weighted with its bytes
	by := make(map[*link]uint64)
	for _, c := range conns {
		n, was, ok := g.carried(c)
		if !ok {
			continue
		}
		n -= g.marks[c].bytes // of a connection that is new, all is of this window
		busy += float64(n) * (was - g.marks[c].busy).Seconds()
		total += n
		by[c.link] += n
	}
	if total < gaugeBytes {
		return
	}
	took := (now - g.from).Seconds()
	is := window{rate: float64(total) / took, by: make(map[*link]float64)}
	for l, n := range by {
		largest = max(largest, n)
		if n >= gaugePeer {
			is.by[l] = float64(n) / took
		}
	}
	is.full = float64(total-largest) >= gaugeShare*float64(total) && busy >= gaugeBusy*took*float64(total)
	g.learn(now, is)
	g.mark(now, conns)
}

// learn takes what two windows in a row had both: after a pause, shapers and
// buffers let more pass for a moment than the link carries.
func (g *gauge) learn(now time.Duration, is window) {
	was := g.before
	g.before = is
	if was.rate == 0 {
		g.brief.learn(now, gaugeTrust*is.rate)
		return
	}
	total := min(was.rate, is.rate)
	g.all.learn(now, total)
	if was.full && is.full {
		g.full.learn(now, total)
	}
	for l, rate := range is.by {
		if rate = min(rate, was.by[l]); rate > 0 {
			g.record(l, now, share{rate, max(was.rate, is.rate)})
		}
	}
}

// best is the best rate of the last minutes in which there was one; of each minute
// the second best, if there are two: the best of many is rather one that was lucky.
type best struct {
	mu      sync.Mutex
	minutes []minute // the last one last
}

type minute struct {
	at           time.Duration
	best, second float64
}

func (b *best) learn(now time.Duration, rate float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := now.Truncate(time.Minute)
	if n := len(b.minutes); n == 0 || b.minutes[n-1].at != at {
		b.minutes = append(b.minutes, minute{at: at})
		b.minutes = b.minutes[max(0, len(b.minutes)-gaugeMinutes):]
	}
	last := &b.minutes[len(b.minutes)-1]
	if rate > last.best {
		rate, last.best = last.best, rate
	}
	last.second = max(last.second, rate)
}

func (b *best) get() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := 0.0
	for _, m := range b.minutes {
		if m.second > 0 {
			out = max(out, m.second)
			continue
		}
		out = max(out, m.best)
	}
	return out
}

// shareFor is how long a peer's best share is kept though it is never reached
// again.
const shareFor = gaugeMinutes * time.Minute

// bestShare is the best that was received from one peer.
type bestShare struct {
	mu sync.Mutex
	at time.Duration
	share
}

func (b *bestShare) learn(now time.Duration, s share) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.rate >= b.rate || now-b.at > shareFor {
		b.at, b.share = now, s
	}
}

func (b *bestShare) get() share {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.share
}
