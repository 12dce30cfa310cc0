package transport

import (
	"fmt"
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	const ms = time.Millisecond
	m := &meter{}
	at := time.Second
	// 10 ms a piece of 1 MiB: 100 MiB/s; the first piece only starts the clock.
	for i := range 6 {
		want := 0.0
		if i == 5 {
			want = 100 * mib
		}
		if got := m.add(at, 0, mib); got != want {
			t.Fatalf("piece %d: %v, want %v", i, got, want)
		}
		at += 10 * ms
	}
	// A pause does not count, a short transfer does when it is over.
	at += time.Hour
	m.add(at, 0, mib)
	m.add(at+10*ms, 0, mib/2)
	if got := m.flush(at+20*ms, 0); got != 0 {
		t.Fatalf("under way: %v", got)
	}
	if got := m.flush(at+time.Second, 0); got != 50*mib {
		t.Fatalf("over: %v, want 50 MiB/s", got)
	}
	if got := m.flush(at+time.Second, 0); got != 0 {
		t.Fatalf("again: %v", got)
	}
	// What a buffer swallows at first is no rate.
	m = &meter{skip: 2 * mib}
	for range 3 {
		m.add(at, 0, mib)
	}
	m.add(at+40*ms, 0, mib)
	if got := m.add(at+80*ms, 0, mib); got != 25*mib {
		t.Fatalf("after the buffer: %v, want 25 MiB/s", got)
	}
}

func TestQuiet(t *testing.T) {
	q := quiet{last: map[string]time.Duration{}}
	for _, c := range []struct {
		addr string
		now  time.Duration
		want bool
	}{
		{"10.0.0.1:1", 0, true},
		{"10.0.0.1:2", 59 * time.Second, false},
		{"10.0.0.2:1", 59 * time.Second, true},
		{"10.0.0.1:3", 60 * time.Second, true},
	} {
		if got := q.says(c.addr, c.now); got != c.want {
			t.Errorf("%s at %v: %v", c.addr, c.now, got)
		}
	}
	for i := range 2 * quietHosts {
		q.says(fmt.Sprintf("host%d:1", i), time.Hour)
	}
	if len(q.last) != quietHosts {
		t.Errorf("remembers %d hosts, want %d", len(q.last), quietHosts)
	}
}

func TestRTT(t *testing.T) {
	l := &link{}
	l.round(800)
	l.round(1600)
	if got := l.rtt(); got != 900 {
		t.Errorf("got %v, want 900ns", got)
	}
}

func TestPool(t *testing.T) {
	p := newPool(320 * kib)
	for _, c := range []struct{ n, capacity int }{
		{0, 64}, {1, 64}, {64, 64}, {65, 128}, {128 * kib, 128 * kib}, {128*kib + 1, 320 * kib}, {320 * kib, 320 * kib}, {mib, mib},
	} {
		b := p.get(c.n)
		if len(b.b) != c.n || cap(b.b) != c.capacity {
			t.Errorf("get(%d): length %d, capacity %d, want %d", c.n, len(b.b), cap(b.b), c.capacity)
		}
		p.put(b)
	}
}

func TestPeersShowsRates(t *testing.T) {
	e := listen(t, quick(), &world{stream: flood})
	cfg := quick()
	cfg.Advertise = "reader:7"
	c := client(t, cfg)
	s := open(t, c, e.Addr(), 0, "")
	known := func() bool {
		mine, theirs := c.Peers(), e.Peers()
		return mine[0].RecvRate > 0 && mine[0].RTT > 0 && len(theirs) == 1 && theirs[0].SendRate > 0
	}
	for !known() {
		for range 50 {
			if _, err := s.Recv(short(t)); err != nil {
				t.Fatal(err)
			}
		}
	}
	mine, theirs := c.Peers()[0], e.Peers()[0]
	if mine.Addr != e.Addr() || !mine.Connected || mine.Streams != 1 {
		t.Errorf("got %+v", mine)
	}
	if theirs.Addr != "reader:7" || theirs.Streams != 1 {
		t.Errorf("got %+v", theirs)
	}
	if mine.Received == 0 {
		t.Error("nothing received")
	}
	eventually(t, "what came is counted as sent", func() bool { return e.Peers()[0].Sent >= mine.Received })
}
