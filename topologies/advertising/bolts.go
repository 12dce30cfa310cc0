package advertising

import "github.com/stormring/stormring/storm"

// rejectedStream takes what is wrong, and why, to the component rejects.
const rejectedStream = "rejected"

// The values of what parse and filter emit.
const (
	valUser = iota
	_       // page
	valAd
	_ // ad type
	valType
	valTime
	_ // ip
	valArrived
)

// parser takes lines apart.
type parser struct{ storm.BaseBasicBolt }

func (b *parser) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("user", "page", "ad", "adType", "eventType", "time", "ip", "arrived")
	d.DeclareStream(rejectedStream, "reason", "what")
}

func (b *parser) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	e, reason := parse(t.String(0))
	if reason != "" {
		out.EmitStream(rejectedStream, storm.String(reason), t.Value(0))
		return nil
	}
	out.Emit(storm.String(e.User), storm.String(e.Page), storm.String(e.Ad), storm.String(e.AdType),
		storm.String(e.Type), storm.Int(e.Time), storm.String(e.IP), t.Value(1))
	return nil
}

// viewFilter passes views on.
type viewFilter struct {
	storm.BaseBasicBolt
	vals []storm.Value // reused
}

func (b *viewFilter) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("user", "page", "ad", "adType", "eventType", "time", "ip", "arrived")
}

func (b *viewFilter) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	if t.String(valType) == view {
		b.vals = t.AppendValues(b.vals[:0])
		out.Emit(b.vals...)
	}
	return nil
}

// projector keeps what is needed.
type projector struct{ storm.BaseBasicBolt }

func (b *projector) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("user", "ad", "time", "arrived")
}

func (b *projector) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	out.Emit(t.Value(valUser), t.Value(valAd), t.Value(valTime), t.Value(valArrived))
	return nil
}

// joiner puts campaigns in the place of ads.
type joiner struct {
	storm.BaseBasicBolt
	data      Data
	campaigns map[string]string // by ad
}

func (b *joiner) DeclareOutputFields(d *storm.OutputFieldsDeclarer) {
	d.Declare("campaign", "time", "arrived")
	d.DeclareStream(rejectedStream, "reason", "what")
}

func (b *joiner) Prepare(*storm.TopologyContext) error {
	b.campaigns = b.data.table()
	return nil
}

func (b *joiner) Execute(t storm.Tuple, out *storm.BasicOutputCollector) error {
	campaign, ok := b.campaigns[t.String(1)]
	if !ok {
		out.EmitStream(rejectedStream, storm.String(UnknownAd), t.Value(1))
		return nil
	}
	out.Emit(storm.String(campaign), t.Value(2), t.Value(3))
	return nil
}
