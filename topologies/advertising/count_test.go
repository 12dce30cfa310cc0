package advertising

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

func newCounter(t rapid.TB, retain int64, s storm.State) *counter {
	t.Helper()
	b := &counter{retain: retain, pub: publisher{job: newJob(0, 1)}}
	must(t, b.Prepare(taskContext("count", 0, 1)))
	must(t, b.InitState(s))
	return b
}

func (b *counter) take(campaign string, time, arrived int64) error {
	return b.Execute(tuple(storm.String(campaign), storm.Int(time), storm.Int(arrived)), nil)
}

func (b *counter) result(t *testing.T) Counts {
	t.Helper()
	c := NewCounts()
	must(t, b.collect(c))
	return c
}

func TestWindowEdges(t *testing.T) {
	for _, c := range []struct {
		time, arrived int64
		start         int64
		late          bool
	}{
		{1, 1, 0, false},
		{9_999, 9_999, 0, false},
		{10_000, 10_000, 10_000, false},
		{19_999, 25_000, 10_000, false},
		{20_000, 20_000, 20_000, false},
		{10_000, 29_999, 10_000, false},
		{10_000, 30_000, 10_000, true},
		{19_999, 29_999, 10_000, false},
		{19_999, 30_000, 10_000, true},
		{20_000, 10_000, 20_000, false}, // from the future
		{maxTime, maxTime, maxTime - 9_999, false},
		{1, maxTime, 0, true},
	} {
		b := newCounter(t, 0, storm.NewMapState())
		must(t, b.take("a", c.time, c.arrived))
		want := NewCounts()
		if c.late {
			want.Late["a"] = 1
		} else {
			want.Views[Window{"a", c.start}] = 1
		}
		if diff := b.result(t).Diff(want, 5); diff != nil {
			t.Errorf("%+v: %q", c, diff)
		}
	}
}

func TestCounter(t *testing.T) {
	b := newCounter(t, 0, storm.NewMapState())
	for _, v := range []struct {
		campaign      string
		time, arrived int64
	}{{"a", 5, 5}, {"b", 5, 6}, {"a", 10_000, 10_001}, {"a", 9, 10_002}, {"a", 4, 20_000}, {"a", 4, 20_001}, {"", 7, 7}} {
		must(t, b.take(v.campaign, v.time, v.arrived))
	}
	want := NewCounts()
	want.Views = map[Window]int64{{"a", 0}: 2, {"b", 0}: 1, {"a", 10_000}: 1, {"", 0}: 1}
	want.Late["a"] = 2
	if diff := b.result(t).Diff(want, 5); diff != nil {
		t.Errorf("%q", diff)
	}
	// Back to nothing, as after a failure before the first commit.
	must(t, b.InitState(storm.NewMapState()))
	if diff := b.result(t).Diff(NewCounts(), 5); diff != nil {
		t.Errorf("%q", diff)
	}
}

func TestRetain(t *testing.T) {
	s := storm.NewMapState()
	b := newCounter(t, 2, s)
	for _, time := range []int64{5, 10_000, 20_001, 20_002} {
		must(t, b.take("a", time, time))
	}
	must(t, b.take("a", 9, 10_000)) // window 0 would be open
	want := NewCounts()
	want.Views = map[Window]int64{{"a", 10_000}: 1, {"a", 20_000}: 2}
	want.Late["a"] = 1
	if diff := b.result(t).Diff(want, 5); diff != nil {
		t.Errorf("%q", diff)
	}
	for n := range int64(100) {
		must(t, b.take("a", n*7000+1, n*7000+1))
	}
	if s.Len() != 3 {
		t.Errorf("%d keys, want two windows and the late views", s.Len())
	}
}

func TestTally(t *testing.T) {
	s := storm.NewMapState()
	b := &tally{into: ofRejected, pub: publisher{job: newJob(0, 1)}}
	must(t, b.Prepare(taskContext("rejects", 0, 1)))
	must(t, b.InitState(s))
	for _, reason := range []string{Malformed, UnknownAd, Malformed} {
		must(t, b.Execute(tuple(storm.String(reason), storm.String("x")), nil))
	}
	must(t, b.Cleanup())
	got, err := b.pub.job.counts()
	must(t, err)
	if want := map[string]int64{Malformed: 2, UnknownAd: 1}; !maps.Equal(got.Rejected, want) || len(got.Users) > 0 {
		t.Errorf("%v", got)
	}
	must(t, s.Put([]byte(Malformed), []byte("short")))
	if err := b.Execute(tuple(storm.String(Malformed)), nil); err == nil || !strings.Contains(err.Error(), "key malformed") {
		t.Errorf("got %v", err)
	}
	must(t, b.InitState(fullState{storm.NewMapState()}))
	if err := b.Execute(tuple(storm.String("x")), nil); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

func TestCounterErrors(t *testing.T) {
	b := newCounter(t, 0, fullState{storm.NewMapState()})
	for _, arrived := range []int64{1, 1_000_000} {
		if err := b.take("a", 1, arrived); !errors.Is(err, errFull) {
			t.Errorf("got %v", err)
		}
	}
	s := storm.NewMapState()
	must(t, b.InitState(s))
	must(t, b.take("a", 1, 1))
	must(t, b.take("a", 1, 1_000_000))
	for k := range s.All(nil) {
		must(t, s.Put(k, []byte("damaged")))
	}
	for _, arrived := range []int64{1, 1_000_000} {
		if err := b.take("a", 1, arrived); err == nil || !strings.Contains(err.Error(), "was it written with another codec?") {
			t.Errorf("got %v", err)
		}
	}
	if err := b.Cleanup(); err == nil {
		t.Error("a damaged state is handed over")
	}
}

func TestStateCodecs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := slot{rapid.String().Draw(t, "campaign"), rapid.Int64().Draw(t, "index")}
		b, err := slotCodec{}.Append(nil, s)
		must(t, err)
		if got, err := (slotCodec{}).Decode(b); got != s || err != nil {
			t.Fatalf("%+v is %+v, %v", s, got, err)
		}
		v := views{rapid.Int64().Draw(t, "start"), rapid.Int64().Draw(t, "n")}
		b, err = viewsCodec{}.Append(nil, v)
		must(t, err)
		if got, err := (viewsCodec{}).Decode(b); got != v || err != nil {
			t.Fatalf("%+v is %+v, %v", v, got, err)
		}
	})
	for n := range 20 {
		b := make([]byte, n)
		if _, err := (slotCodec{}).Decode(b); (err == nil) != (n >= 8) {
			t.Errorf("a key of %d bytes: %v", n, err)
		}
		if _, err := (viewsCodec{}).Decode(b); (err == nil) != (n == 16) {
			t.Errorf("a value of %d bytes: %v", n, err)
		}
	}
}
