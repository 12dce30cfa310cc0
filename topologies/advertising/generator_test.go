package advertising

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestGolden pins events: a change would make the counts of a seed others.
func TestGolden(t *testing.T) {
	g := newGenerator(DefaultData(1, 0))
	for n, want := range map[int64]string{
		0:      `1767225600000 {"user":"091a545a46381dd7","page":"621f57a06176f116","ad":"04b81d2e2c1b7b9f","ad_type":"banner","event_type":"purchase","event_time":1767225599410,"ip":"142.50.82.139"}`,
		1:      `1767225600000 {"user":"9e85c12abbb45efe","page":"098aec3a448be150","ad":"d797b3ac65b4dc5c","ad_type":"mobile","event_type":"view","event_time":1767225599895,"ip":"239.30.125.167"}`,
		12_345: `1767225601234 {"user":"2867e0076752cc74","page":"3042730706aea9d6","ad":"d7c97169b08337d3","ad_type":"sponsored-search","event_type":"click","event_time":1767225600904,"ip":"42.148.84.235"}`,
	} {
		line, arrived := g.next(n)
		if got := fmt.Sprint(arrived, " ", line); got != want {
			t.Errorf("event %d:\n%s\nwant\n%s", n, got, want)
		}
	}
}

// TestAnyOrder has an event be the same whatever was made before it, and differ
// with the seed.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Data{
			Seed: rapid.Uint64().Draw(t, "seed"), Campaigns: rapid.IntRange(1, 5).Draw(t, "campaigns"), Ads: rapid.IntRange(1, 5).Draw(t, "ads"),
			Users: rapid.IntRange(0, 9).Draw(t, "users"), PerSecond: rapid.IntRange(1, 2000).Draw(t, "per second"),
		}
		a, b := newGenerator(d), newGenerator(d)
		for _, n := range rapid.SliceOfN(rapid.Int64Range(0, 1<<40), 1, 20).Draw(t, "events") {
			line, arrived := a.next(n)
			again, arrivedAgain := b.next(n)
			if line != again || arrived != arrivedAgain {
				t.Fatalf("event %d is %d %s and %d %s", n, arrived, line, arrivedAgain, again)
			}
			if line2, _ := a.next(n + 1); line2 == line {
				t.Fatalf("events %d and %d are both %s", n, n+1, line)
			}
			b.next(n / 2)
			if want := firstMillis + n*1000/int64(d.PerSecond); arrived != want {
				t.Fatalf("event %d came in at %d, want %d", n, arrived, want)
			}
		}
		d.Seed++
		if a.id(adID, 0) == newGenerator(d).id(adID, 0) {
			t.Fatal("two seeds have the same ads")
		}
	})
}

func TestLinesAreEvents(t *testing.T) {
	d := DefaultData(3, 0)
	g := newGenerator(d)
	table := d.table()
	if len(table) != 1000 {
		t.Fatalf("%d ads", len(table))
	}
	for n := range int64(20_000) {
		line, _ := g.next(n)
		w := g.draw(n)
		if json.Valid([]byte(line)) == (w.defect == cut) {
			t.Fatalf("event %d, defect %d, is %s", n, w.defect, line)
		}
		if w.defect == cut {
			continue
		}
		var e event
		must(t, json.Unmarshal([]byte(line), &e))
		campaign, known := table[e.Ad]
		ok := e.User == g.id(userID, w.user) && e.Page == g.id(pageID, w.page) && e.AdType == adTypes[w.adType] && e.Time == w.time &&
			e.IP == fmt.Sprintf("%d.%d.%d.%d", w.ip>>24, w.ip>>16&255, w.ip>>8&255, w.ip&255) &&
			(e.Type == eventTypes[w.eventType]) == (w.defect != strangeType) &&
			known == (w.defect != strangeAd) && (!known || campaign == g.id(campaignID, w.ad/d.Ads))
		if !ok {
			t.Fatalf("event %d, %+v, is %s", n, w, line)
		}
	}
}

// TestSpread has numbers that follow each other in seeds make no patterns.
func TestSpread(t *testing.T) {
	d := DefaultData(1, 300_000)
	g := newGenerator(d)
	ads, pairs := map[int]int{}, map[[2]int]int{}
	var late, bad, last int
	for n := range d.Events {
		e := g.draw(n)
		campaign := e.ad / d.Ads
		ads[campaign]++
		pairs[[2]int{last % 10, campaign % 10}]++
		last = campaign
		if isLate(windowStart(e.time), e.arrived) {
			late++
		}
		if e.defect != sound {
			bad++
		}
	}
	for campaign := range d.Campaigns { // 3000 each, with a deviation of 55
		if n := ads[campaign]; n < 2700 || n > 3300 {
			t.Errorf("campaign %d has %d of 300000 events", campaign, n)
		}
	}
	for pair, n := range pairs {
		if n < 2700 || n > 3300 {
			t.Errorf("campaigns %v follow each other %d times in 300000", pair, n)
		}
	}
	if late < 400 || late > 700 || bad < 350 || bad > 530 {
		t.Errorf("%d events are late, %d defect", late, bad)
	}
}

func BenchmarkNext(b *testing.B) {
	g := newGenerator(DefaultData(1, 0))
	b.ReportAllocs()
	for n := int64(0); b.Loop(); n++ {
		g.next(n)
	}
}

func BenchmarkParse(b *testing.B) {
	line, _ := newGenerator(DefaultData(1, 0)).next(0)
	b.ReportAllocs()
	for b.Loop() {
		parse(line)
	}
}

func TestParse(t *testing.T) {
	const good = `{"user":"u","page":"p","ad":"a","ad_type":"mail","event_type":"view","event_time":5,"ip":"1.2.3.4"}`
	want := event{"u", "p", "a", "mail", "view", 5, "1.2.3.4"}
	if e, reason := parse(good); e != want || reason != "" {
		t.Errorf("%+v, %q", e, reason)
	}
	for _, c := range []struct{ old, new, reason string }{
		{"view", "click", ""},
		{"view", "purchase", ""},
		{"view", "hover", UnknownType},
		{"view", "", UnknownType},
		{"5", "253402300799999", ""},
		{"5", "253402300800000", Malformed},
		{"5", "0", Malformed},
		{"5", "-1", Malformed},
		{"5", "1.5", Malformed},
		{"5", `"5"`, Malformed},
		{`"u"`, `""`, Malformed},
		{`"a"`, `""`, Malformed},
		{`"ad"`, `"da"`, Malformed},
		{`"1.2.3.4"}`, `"1.2`, Malformed},
		{good, "", Malformed},
		{good, "null", Malformed},
		{good, "[]", Malformed},
		{good, good + good, Malformed},
	} {
		line := strings.Replace(good, c.old, c.new, 1)
		if e, reason := parse(line); reason != c.reason || reason != "" && e != (event{}) {
			t.Errorf("%s: %+v, %q, want %q", line, e, reason, c.reason)
		}
	}
}

func FuzzParse(f *testing.F) {
	g := newGenerator(DefaultData(1, 0))
	for n := range int64(20) {
		line, _ := g.next(n)
		f.Add(line)
		f.Add(line[:len(line)/2])
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, reason := parse(line)
		if reason != "" {
			return
		}
		b, err := json.Marshal(e)
		must(t, err)
		if again, reason := parse(string(b)); again != e || reason != "" {
			t.Errorf("%s is %+v, and then %+v, %q", line, e, again, reason)
		}
	})
}
