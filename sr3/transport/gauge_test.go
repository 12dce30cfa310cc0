package transport

import (
	"slices"
	"testing"
	"time"
)

// rig is a gauge of connections whose counters a test moves.
type rig struct {
	gauge
	conns []*conn
	count map[*conn]uint64
	part  []float64 // for which part of the time a connection is busy, 1 if not said
	busy  map[*conn]time.Duration
	at    time.Duration
	gone  map[*conn]bool
	got   map[*link]share
}

func newRig(n int) *rig {
	r := &rig{count: map[*conn]uint64{}, busy: map[*conn]time.Duration{}, gone: map[*conn]bool{}, got: map[*link]share{}}
	for range n {
		r.conns = append(r.conns, &conn{link: &link{}})
	}
	r.carried = func(c *conn) (uint64, time.Duration, bool) { return r.count[c], r.busy[c], !r.gone[c] }
	r.record = func(l *link, _ time.Duration, s share) { r.got[l] = s }
	return r
}

// carry moves bytes of all connections, as many for each of them, at one moment.
func (r *rig) carry(at time.Duration, bytes ...uint64) {
	for i, n := range bytes {
		r.count[r.conns[i]] += n
		took := at - r.at
		if i < len(r.part) {
			took = time.Duration(r.part[i] * float64(took))
		}
		r.busy[r.conns[i]] += took
	}
	r.at = at
	r.passed(at, at, 0, func() []*conn { return r.conns })
}

// steady moves as much every 100 ms of the n windows that follow.
func (r *rig) steady(at *time.Duration, n int, bytes ...uint64) {
	for i := range bytes {
		bytes[i] /= 2
	}
	for range n * int(gaugeSpan/(50*time.Millisecond)) {
		*at += 50 * time.Millisecond
		r.carry(*at, bytes...)
	}
}

func TestGauge(t *testing.T) {
	const ms = time.Millisecond
	at := time.Minute
	r := newRig(2)
	is := func(what string, all, full float64) {
		t.Helper()
		if a, f := r.all.get(), r.full.get(); a != all*mib || f != full*mib {
			t.Fatalf("%s: all %v, full %v, want %v and %v MiB/s", what, a/mib, f/mib, all, full)
		}
	}
	// The beginning, which a shaper lets pass at once, does not count.
	r.carry(at, 10*mib, 10*mib)
	at += 20 * ms
	r.carry(at, mib)
	r.steady(&at, 1, 2*mib, 2*mib)
	is("after one window", 0, 0)
	r.steady(&at, 1, 3*mib, 3*mib)
	is("after two", 40, 40)
	if got, want := r.got[r.conns[0].link], (share{20 * mib, 60 * mib}); got != want {
		t.Fatalf("the share of one of two is %v, want %v", got, want)
	}
	// One alone is not limited by what several share.
	r.steady(&at, 3, 8*mib, 0)
	is("alone", 80, 40)
	// One burst is none.
	r.steady(&at, 1, 20*mib, 0)
	r.steady(&at, 1, mib, 0)
	is("after a burst", 80, 40)
	// What is gone has no count any more.
	r.gone[r.conns[1]] = true
	r.steady(&at, 2, mib, 100*mib)
	is("after a connection went", 80, 40)
	// A window with little lasts longer.
	clear(r.got)
	r.steady(&at, 16, 128*kib, 0)
	if got, want := r.got[r.conns[0].link], (share{1.25 * mib, 1.25 * mib}); got != want {
		t.Fatalf("slow windows: %v, want %v", got, want)
	}
	// A pause begins anew.
	at += time.Second
	r.carry(at, 100*mib, 0)
	at += 20 * ms
	r.carry(at, 100*mib, 0)
	r.steady(&at, 1, 100*mib, 0)
	is("after a pause", 80, 40)
}

// TestGaugeOfAFullLink has many peers of which none takes much, and one that is slow.
func TestGaugeOfAFullLink(t *testing.T) {
	for _, c := range []struct {
		name  string
		bytes []uint64
		part  []float64
		want  float64 // MiB/s
	}{
		{"all have something all the time", []uint64{mib, mib, 2 * mib}, nil, 40},
		{"a peer rests now and then", []uint64{mib, mib, 2 * mib}, []float64{0.5, 1, 1}, 40},
		{"the others wait for a slow one", []uint64{mib, mib, 2 * mib}, []float64{1, 0.4, 0.9}, 0},
		{"nobody knows", []uint64{mib, mib, 2 * mib}, []float64{0, 0, 0}, 0},
		{"nearly all is for one", []uint64{9 * mib, mib / 2, mib / 4}, nil, 0},
		{
			"none of many takes a tenth",
			[]uint64{mib, mib, mib, mib, mib, mib, mib, mib, mib, mib, mib, mib}, nil, 120,
		},
	} {
		r, at := newRig(len(c.bytes)), time.Minute
		r.part = c.part
		none := make([]uint64, len(c.bytes))
		r.carry(at, none...)
		at += gaugeWarm
		r.carry(at, none...)
		r.steady(&at, 2, c.bytes...)
		if got := r.full.get(); got != c.want*mib {
			t.Errorf("%s: %v MiB/s, want %v", c.name, got/mib, c.want)
		}
	}
}

// TestGaugeOfABriefTransfer has one that is over before there were two windows.
func TestGaugeOfABriefTransfer(t *testing.T) {
	for _, c := range []struct {
		lasts time.Duration
		bytes uint64 // each 10 ms
		want  float64
	}{
		{gaugeWarm + gaugeSpan, mib, gaugeTrust * 100 * mib},
		{gaugeWarm + gaugeSpan - time.Millisecond, mib, 0},
		{gaugeWarm + gaugeSpan, mib / 10, 0},                       // too little
		{gaugeWarm + 2*gaugeSpan, mib, 100 * mib},                  // long enough
		{gaugeWarm + 3*gaugeSpan, mib / 10, mib / 10 * 100},        // slow, and seen when it is enough
		{gaugeWarm + 2*gaugeSpan - 1, mib, gaugeTrust * 100 * mib}, // nearly
	} {
		r, at := newRig(1), time.Minute
		for ; at <= time.Minute+c.lasts; at += 10 * time.Millisecond {
			r.carry(at, c.bytes)
		}
		if got := r.least(); got != c.want {
			t.Errorf("%v of %d bytes each 10 ms: %.1f MiB/s, want %.1f", c.lasts, c.bytes, got/mib, c.want/mib)
		}
	}
}

// TestGaugeLooksAway has one connection within the host.
func TestGaugeLooksAway(t *testing.T) {
	r := newRig(3)
	r.conns[0].stays = true
	at := time.Minute
	r.carry(at, 50*mib, mib, mib)
	at += 20 * time.Millisecond
	r.carry(at, 50*mib, mib, mib)
	r.steady(&at, 2, 50*mib, mib, mib)
	if got := r.all.get(); got != 20*mib {
		t.Errorf("%v, want 20 MiB/s", got)
	}
}

func TestBestForgets(t *testing.T) {
	var b best
	for i, rate := range []float64{50, 90, 40, 40, 40, 40, 40, 40, 40, 40, 40} {
		b.learn(time.Duration(i)*time.Hour, rate+100)
		b.learn(time.Duration(i)*time.Hour+time.Second, 10)
		b.learn(time.Duration(i)*time.Hour+2*time.Second, rate)
	}
	if got := b.get(); got != 90 {
		t.Errorf("after ten minutes with traffic: %v, want 90", got)
	}
	b.learn(24*time.Hour, 40)
	if got := b.get(); got != 40 {
		t.Errorf("after eleven: %v, want 40", got)
	}
	var s bestShare
	s.learn(0, share{50, 100})
	s.learn(shareFor, share{40, 40})
	if got := s.get(); got != (share{50, 100}) {
		t.Errorf("the best share is %v", got)
	}
	s.learn(shareFor+1, share{40, 40})
	if got := s.get(); got != (share{40, 40}) {
		t.Errorf("the best share later is %v", got)
	}
}

// TestLink has two senders fill one receiver.
func TestLink(t *testing.T) {
	a, b := listen(t, Config{}, &world{stream: flood}), listen(t, Config{}, &world{stream: flood})
	c := client(t, Config{})
	streams := []*Stream{open(t, c, a.Addr(), 0, ""), open(t, c, b.Addr(), 0, "")}
	unknown := func(p Peer) bool { return p.RecvBest == 0 }
	for c.Link().Down == 0 || a.Link().UpLeast == 0 || b.Link().UpLeast == 0 || slices.ContainsFunc(c.Peers(), unknown) {
		for range 20 {
			for _, s := range streams {
				if _, err := s.Recv(short(t)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if up := a.Link().Up; up != 0 {
		t.Errorf("who sends to one peer says %v of what it shares among several", up)
	}
	if l := c.Link(); l.Up != 0 {
		t.Errorf("who only receives: %+v", l)
	}
	for _, p := range c.Peers() {
		if p.RecvBest <= 0 || p.RecvTotal < p.RecvBest {
			t.Errorf("%s: %v of %v", p.Addr, p.RecvBest, p.RecvTotal)
		}
	}
}

// TestAcknowledged compares what the kernel says with what was sent.
func TestAcknowledged(t *testing.T) {
	e := listen(t, quick(), &world{stream: flood})
	c := client(t, quick())
	s := open(t, c, e.Addr(), 0, "")
	for range 64 {
		if _, err := s.Recv(short(t)); err != nil {
			t.Fatal(err)
		}
	}
	conns := e.all()
	if len(conns) != 1 {
		t.Fatalf("%d connections", len(conns))
	}
	in := c.Peers()[0].Received
	eventually(t, "the kernel has word of what was read", func() bool {
		// It counts time in ticks, of which one reading may not fill any.
		if _, err := s.Recv(short(t)); err != nil {
			t.Fatal(err)
		}
		n, busy, ok := conns[0].delivered()
		if lives := e.now() - conns[0].born; busy > lives+10*time.Millisecond {
			t.Fatalf("busy for %v of %v", busy, lives)
		}
		return ok && n >= in && busy > 0
	})
}
