package recovery

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// desk drives a tracker by hand.
type desk struct {
	t   *testing.T
	tr  *Tracker
	now time.Time
}

func newDesk(t *testing.T, in Input) *desk {
	t.Helper()
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := NewTracker(in, p)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, tr: tr, now: simEpoch}
}

func (d *desk) say(e Event) []Command {
	d.now = d.now.Add(time.Millisecond)
	return d.tr.Handle(d.now, e)
}

func only[T Command](commands []Command) []T {
	var out []T
	for _, c := range commands {
		if x, ok := c.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

const mega = 1 << 20

func chunkOf(id StreamID, shard int, content Content, offset, length int64) Chunk {
	return Chunk{Stream: id, Version: 1, Part: Part{Shard: shard, Until: 1}, Content: content, Offset: offset, Length: length}
}

func starOf(pieces ...Piece) Input {
	in := lan(3, 125e6, 125e6, time.Millisecond)
	in.Mode, in.Pieces = Star, pieces
	return in
}

// TestEarlyEnd: a stream that ends before all was sent is replaced at once, one that
// ends after that is not missed.
func TestEarlyEnd(t *testing.T) {
	for _, came := range []int64{0, mega / 2, mega} {
		d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00", "n01")))
		first := only[Open](d.say(Tick{}))[0]
		content := Content{Sum: 5, Size: mega}
		if came > 0 {
			d.say(chunkOf(first.Stream, 0, content, 0, came))
		}
		again := only[Open](d.say(Ended{first.Stream}))
		if came == mega {
			if len(again) != 0 {
				t.Errorf("after all came it opens %+v", again)
			}
			continue
		}
		if len(again) != 1 || again[0].Flow.Node == first.Flow.Node || again[0].Orders[0].Offset != came {
			t.Errorf("after %d bytes it opens %+v", came, again)
		}
	}
}

// TestGoesOnWhereItStopped: a second holder with the same bytes continues, one
// with other bytes starts again, and what was there is discarded.
func TestGoesOnWhereItStopped(t *testing.T) {
	for _, same := range []bool{true, false} {
		d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00", "n01")))
		first := only[Open](d.say(Tick{}))[0]
		a := Content{Sum: 5, Size: mega}
		if got := only[Keep](d.say(chunkOf(first.Stream, 0, a, 0, mega/2))); len(got) != 1 {
			t.Fatalf("keeps %v", got)
		}
		out := d.say(Died{first.Flow.Node})
		again := only[Open](out)
		if len(again) != 1 || again[0].Flow.Node != "n01" || again[0].Orders[0].Offset != mega/2 || again[0].Orders[0].Content != a {
			t.Fatalf("opens %+v", again)
		}
		b, offset := a, int64(mega/2)
		if !same {
			b, offset = Content{Sum: 6, Size: mega}, 0
		}
		out = d.say(chunkOf(again[0].Stream, 0, b, offset, mega-offset))
		if n := len(only[Discard](out)); (n == 1) == same {
			t.Errorf("same %v: %d discarded", same, n)
		}
		in := only[Install](out)
		if len(in) != 1 || !reflect.DeepEqual(in[0].Contents, []Content{b}) {
			t.Fatalf("installs %+v", in)
		}
		if done := only[Done](d.say(Installed{0})); len(done) != 1 {
			t.Error("is not done")
		}
		r := d.tr.Report()
		want := []Source{{"n00", mega / 2}, {"n01", mega - offset}}
		if !reflect.DeepEqual(r.Sources, want) || r.Replans != 1 || r.Installed != 1 {
			t.Errorf("report %+v", r)
		}
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00", "n01")))
	o := only[Open](d.say(Tick{}))[0]
	c := chunkOf(o.Stream, 0, Content{1, mega}, 0, mega)
	c.Version = 2
	out := d.say(c)
	if len(only[Keep](out)) != 0 || len(only[Cancel](out)) != 1 || only[Open](out)[0].Flow.Node != "n01" {
		t.Errorf("does %+v", out)
	}
	// What still comes on the stream that was cancelled is dropped.
	if out := d.say(chunkOf(o.Stream, 0, Content{1, mega}, 0, mega)); len(only[Keep](out)) != 0 {
		t.Errorf("keeps late bytes: %+v", out)
	}
}

func TestSilence(t *testing.T) {
	d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00", "n01")))
	d.say(Tick{})
	at, ok := d.tr.Next()
	for ok && at.Sub(simEpoch) < 10*time.Second {
		d.now = at
		out := d.tr.Handle(at, Tick{})
		if o := only[Open](out); len(o) > 0 {
			if o[0].Flow.Node != "n01" {
				t.Errorf("asks %s", o[0].Flow.Node)
			}
			return
		}
		at, ok = d.tr.Next()
	}
	t.Error("waits for a silent sender for ever")
}

func TestWaitsAndStartsEmpty(t *testing.T) {
	d := newDesk(t, starOf(Whole(3, mega, mega, 1, "n00"), Whole(4, mega, mega, 1, "n00")))
	d.say(Tick{})
	out := d.say(Died{"n00"})
	if got := only[Wait](out); len(got) != 1 || !slices.Equal(got[0].Shards, []int{3, 4}) {
		t.Fatalf("waits for %+v", got)
	}
	if r := d.tr.Report(); !slices.Equal(r.Waiting, []int{3, 4}) || !strings.Contains(strings.Join(r.Notes, "\n"), "no living copy is known of shards 3-4") {
		t.Errorf("report %+v", r)
	}
	// A new holder of one shard is found; the other starts empty.
	out = d.say(Found{Node: "n09", Shard: 3, Until: 1})
	o := only[Open](out)
	if len(o) != 1 || o[0].Flow.Node != "n09" || len(only[Wait](out)) != 1 {
		t.Fatalf("does %+v", out)
	}
	if in := only[Install](d.say(StartEmpty{3})); len(in) != 0 {
		t.Errorf("starts a shard empty that is on its way: %+v", in)
	}
	if in := only[Install](d.say(StartEmpty{4})); len(in) != 1 || in[0].Parts != nil {
		t.Errorf("starts empty: %+v", in)
	}
	d.say(Installed{4})
	d.say(chunkOf(o[0].Stream, 3, Content{1, mega}, 0, mega))
	if out := d.say(Installed{3}); len(only[Done](out)) != 1 {
		t.Errorf("does %+v", out)
	}
	if r := d.tr.Report(); !slices.Equal(r.Emptied, []int{4}) || len(r.Waiting) != 0 {
		t.Errorf("report %+v", r)
	}
}

func TestWantedShardsJumpTheQueue(t *testing.T) {
	in := starOf()
	for i := range 6 {
		in.Pieces = append(in.Pieces, Whole(i, mega, mega, 1, "n00", "n01"))
	}
	for _, mode := range []Mode{Star, Line, Tree} {
		in.Mode = mode
		d := newDesk(t, in)
		before := only[Open](d.say(Tick{}))
		last := before[len(before)-1].Orders
		shard := last[len(last)-1].Part.Shard
		out := d.say(Wanted{shard})
		skip, open := only[Skip](out), only[Open](out)
		if len(skip) != 1 || skip[0].Part.Shard != shard || len(open) != 1 || open[0].Orders[0].Part.Shard != shard || len(open[0].Flow.From) != 0 {
			t.Errorf("%s: does %+v", mode, out)
		}
		if out := d.say(Wanted{shard}); len(out) != 0 {
			t.Errorf("%s: asks twice: %+v", mode, out)
		}
	}
}

// TestRelayLost: a line is planned anew without the dead relay; what has come
// stays; after more losses the rest comes in star, and the report says so.
func TestRelayLost(t *testing.T) {
	in := lan(6, 10e6, 125e6, time.Millisecond)
	in.Mode = Line
	for i := range 24 {
		in.Pieces = append(in.Pieces, Whole(i, 4*mega, 4*mega, 1, id(i%6), id((i+1)%6), id((i+2)%6), id((i+3)%6)))
	}
	d := newDesk(t, in)
	o := only[Open](d.say(Tick{}))[0]
	if len(o.Flow.nodesOf()) != 6 {
		t.Fatalf("line of %v", o.Flow.nodesOf())
	}
	done := o.Orders[0].Part.Shard
	if in := only[Install](d.say(chunkOf(o.Stream, done, Content{1, 4 * mega}, 0, 4*mega))); len(in) != 1 {
		t.Fatal("does not install")
	}
	for n, dead := range []NodeID{"n03", "n01", "n04"} {
		out := d.say(Died{dead})
		opens := only[Open](out)
		relayed := slices.ContainsFunc(opens, func(o Open) bool { return len(o.Flow.From) > 0 })
		if len(opens) == 0 || relayed != (n < 2) {
			t.Fatalf("after the loss of %s: %+v", dead, out)
		}
		for _, o := range opens {
			if slices.Contains(o.Flow.nodesOf(), dead) {
				t.Errorf("asks the dead %s", dead)
			}
			for _, order := range o.Orders {
				if order.Part.Shard == done {
					t.Errorf("fetches shard %d again", done)
				}
			}
		}
	}
	notes := strings.Join(d.tr.Report().Notes, "\n")
	if !strings.Contains(notes, "the rest is planned anew as line") || !strings.Contains(notes, "the rest comes in star") {
		t.Errorf("notes:\n%s", notes)
	}
}

func TestPlanOfAnotherInput(t *testing.T) {
	in := starOf(Whole(0, mega, mega, 1, "n00"))
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	in.Version++
	if _, err := NewTracker(in, p); err == nil || !strings.Contains(err.Error(), "make it of this input") {
		t.Errorf("%v", err)
	}
}

// BenchmarkTracker is what the tracker costs a chunk of 1 GiB in 1,024 shards.
func BenchmarkTracker(b *testing.B) {
	in := lan(8, 125e6, 1e9, time.Millisecond)
	in.Mode = Star
	for i := range 1024 {
		in.Pieces = append(in.Pieces, Whole(i, mega, mega, 1, id(i%8), id((i+1)%8), id((i+2)%8)))
	}
	p, err := Make(in)
	if err != nil {
		b.Fatal(err)
	}
	chunks := 0
	b.ReportAllocs()
	for b.Loop() {
		tr, err := NewTracker(in, p)
		if err != nil {
			b.Fatal(err)
		}
		now := simEpoch
		for _, o := range only[Open](tr.Handle(now, Tick{})) {
			for _, order := range o.Orders {
				for at := int64(0); at < mega; at += 256 << 10 {
					now = now.Add(time.Microsecond)
					tr.Handle(now, Chunk{Stream: o.Stream, Version: 1, Part: order.Part, Content: Content{1, mega}, Offset: at, Length: 256 << 10})
					chunks++
				}
				tr.Handle(now, Installed{order.Part.Shard})
			}
		}
		if tr.left != 0 {
			b.Fatal("not done")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(chunks), "ns/chunk")
}

// TestNonsenseIsRefused: bytes that do not fit are not kept and cost the sender its
// stream; an answer that nobody asked for changes nothing.
func TestNonsenseIsRefused(t *testing.T) {
	c := Content{1, mega}
	for name, chunk := range map[string]Chunk{
		"a gap":              chunkOf(1, 0, c, 512, 512),
		"beyond its end":     chunkOf(1, 0, c, 0, mega+1),
		"negative":           chunkOf(1, 0, c, -1, 2),
		"nothing of much":    chunkOf(1, 0, c, 0, 0),
		"an overflowing end": chunkOf(1, 0, c, 1<<62, 1<<62),
	} {
		d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00", "n01"), Whole(1, mega, mega, 1, "n00", "n01")))
		d.say(Tick{})
		if out := d.say(chunk); len(only[Keep](out)) != 0 || len(only[Cancel](out)) != 1 || len(only[Open](out)) == 0 {
			t.Errorf("%s: does %+v", name, out)
		}
	}
	// The same once some of it is there.
	for name, chunk := range map[string]Chunk{
		"a gap":         chunkOf(1, 0, c, 1024, 512),
		"it again":      chunkOf(1, 0, c, 256, 256),
		"an overlap":    chunkOf(1, 0, c, 256, 512),
		"another sum":   chunkOf(1, 0, Content{2, mega}, 512, 512),
		"another size":  chunkOf(1, 0, Content{1, 2 * mega}, 512, 512),
		"more than all": chunkOf(1, 0, c, 512, mega),
	} {
		d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00", "n01"), Whole(1, mega, mega, 1, "n00", "n01")))
		d.say(Tick{})
		if out := d.say(chunkOf(1, 0, c, 0, 512)); !reflect.DeepEqual(out, []Command{Keep{Part: Part{Until: 1, Bytes: mega}, Length: 512}}) {
			t.Errorf("%s: first does %+v", name, out)
		}
		out := d.say(chunk)
		if len(only[Keep](out)) != 0 || len(only[Cancel](out)) != 1 || len(only[Open](out)) == 0 {
			t.Errorf("%s: does %+v", name, out)
		}
	}
	d := newDesk(t, starOf(Whole(0, mega, mega, 1, "n00"), Whole(1, mega, mega, 1, "n01")))
	d.say(Tick{})
	for range 2 {
		if out := d.say(Installed{0}); len(out) != 0 {
			t.Errorf("does %+v", out)
		}
	}
	for _, e := range []Event{Ended{99}, Broken{Stream: 99}, Corrupt{Stream: 99}, Lacks{Node: "n00", Shard: 7}, Found{Node: "n00", Shard: 0, First: 1, Until: 9}, Wanted{9}, Rejected{0}, StartEmpty{0}} {
		if out := d.say(e); len(out) != 0 {
			t.Errorf("%+v: does %+v", e, out)
		}
	}
	if r := d.tr.Report(); r.Installed != 0 || r.Replans != 0 {
		t.Errorf("report %+v", r)
	}
}

// TestSlowForEver: who is given up for its silence again and again may take longer
// each time, up to 16 times as long, until it has brought something, or died.
func TestSlowForEver(t *testing.T) {
	in := starOf(Whole(0, mega, mega, 1, "n00"), Whole(1, mega, mega, 1, "n00"))
	in.Params.Stall = time.Second
	d := newDesk(t, in)
	open := only[Open](d.say(Tick{}))[0]
	// lives lets a stream that brings nothing be given up, and tells after how long.
	lives := func() time.Duration {
		t.Helper()
		began := d.now
		for {
			at, ok := d.tr.Next()
			if !ok {
				t.Fatal("nothing is waited for")
			}
			d.now = at
			if out := d.tr.Handle(at, Tick{}); len(only[Cancel](out)) > 0 {
				took := d.now.Sub(began).Truncate(time.Second)
				for len(only[Open](out)) == 0 {
					d.now, _ = d.tr.Next()
					out = d.tr.Handle(d.now, Tick{})
				}
				open = only[Open](out)[0]
				return took
			}
		}
	}
	for _, want := range []float64{1, 2, 4, 8, 16, 16} {
		if got := lives().Seconds(); got != want {
			t.Errorf("it is given up after %v s, want %v", got, want)
		}
	}
	for i := range 2 {
		d.say(chunkOf(open.Stream, i, Content{1, mega}, 0, mega))
	}
	open = only[Open](d.say(Rejected{Shard: 0}))[0]
	if got := lives(); got != time.Second {
		t.Errorf("once it has brought something: given up after %v", got)
	}
	d.say(Died{Node: "n00"})
	open = only[Open](d.say(Returned{Node: "n00"}))[0]
	if got := lives(); got != time.Second {
		t.Errorf("once it was dead: given up after %v", got)
	}
}
