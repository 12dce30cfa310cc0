package advertising

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

// lineSpout emits the given lines, all of which came in at the same moment.
type lineSpout struct {
	storm.BaseSpout
	lines []string
	out   *storm.SpoutOutputCollector
}

const arrival = 1000

func (s *lineSpout) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("line", "arrived") }

func (s *lineSpout) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *lineSpout) NextTuple() error {
	if len(s.lines) > 0 {
		s.out.EmitTracked(storm.Int(int64(len(s.lines))), storm.String(s.lines[0]), storm.Int(arrival))
		s.lines = s.lines[1:]
	}
	return nil
}

func (s *lineSpout) Exhausted() bool { return len(s.lines) == 0 }

// recorder keeps what it gets, by stream.
type recorder struct {
	storm.BaseBasicBolt
	mu  *sync.Mutex
	got map[string]int
}

func (b *recorder) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got[fmt.Sprint(t.SourceComponent(), " ", t.SourceStream(), " ", t.Fields(), " ", t.Values())]++
	return nil
}

// TestStatelessBolts runs the bolts between spout and states, with sound lines
// and bad ones.
func TestStatelessBolts(t *testing.T) {
	data := Data{Seed: 4, Campaigns: 2, Ads: 2, PerSecond: 1}
	g := newGenerator(data)
	line := func(user, ad, eventType string) string {
		return fmt.Sprintf(`{"user":%q,"page":"p","ad":%q,"ad_type":"mail","event_type":%q,"event_time":77,"ip":"1.2.3.4"}`, user, ad, eventType)
	}
	lines := []string{
		line("u", g.ads[0], view), line("u", g.ads[3], view), line("v", g.ads[2], view), line("v", g.ads[2], "click"),
		line("w", "nobody's", view), line("w", "nobody's", "purchase"), line("w", g.ads[1], "hover"), "{", "",
	}
	var mu sync.Mutex
	got := map[string]int{}
	record := func() storm.BasicBolt { return &recorder{mu: &mu, got: got} }
	b := storm.NewTopologyBuilder()
	b.SetSpout("events", func() storm.Spout { return &lineSpout{lines: lines} }, 1)
	b.SetBasicBolt("parse", func() storm.BasicBolt { return &parser{} }, 2).ShuffleGrouping("events")
	b.SetBasicBolt("filter", func() storm.BasicBolt { return &viewFilter{} }, 1).ShuffleGrouping("parse")
	b.SetBasicBolt("project", func() storm.BasicBolt { return &projector{} }, 1).ShuffleGrouping("filter")
	b.SetBasicBolt("join", func() storm.BasicBolt { return &joiner{data: data} }, 1).ShuffleGrouping("project")
	shuffle := storm.Grouping{Kind: storm.GroupShuffle}
	b.SetBasicBolt("record", record, 1).ShuffleGrouping("project").ShuffleGrouping("join").
		Grouping("parse", rejectedStream, shuffle).Grouping("join", rejectedStream, shuffle)
	top, err := b.Build()
	must(t, err)
	l, err := local.New(local.Options{Name: "ads", Instance: &storm.Instance{Topology: top, Conf: storm.Config{}}})
	must(t, err)
	res, err := l.Run(t.Context())
	if err != nil || res.Partial || res.Totals.Failed != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	projected := func(user, ad string) string {
		return fmt.Sprintf("project default [user ad time arrived] [%s %s 77 1000]", user, ad)
	}
	joined := func(i int) string {
		return fmt.Sprintf("join default [campaign time arrived] [%s 77 1000]", g.id(campaignID, i))
	}
	rejected := func(by, reason, what string) string {
		return fmt.Sprintf("%s rejected [reason what] [%s %s]", by, reason, what)
	}
	want := []string{
		projected("u", g.ads[0]), projected("u", g.ads[3]), projected("v", g.ads[2]), projected("w", "nobody's"),
		joined(0), joined(1), joined(1), rejected("join", UnknownAd, "nobody's"),
		rejected("parse", UnknownType, lines[6]), rejected("parse", Malformed, "{"), rejected("parse", Malformed, ""),
	}
	for _, w := range want {
		got[w]--
	}
	for what, n := range got {
		if n != 0 {
			t.Errorf("%d too many of %s", n, what)
		}
	}
}
