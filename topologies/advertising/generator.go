package advertising

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strconv"
)

// Data says which events there are. It and nothing else decides what the
// counts must be.
type Data struct {
	Seed   uint64
	Events int64 // 0 is no end
	// Campaigns have Ads ads each.
	Campaigns, Ads int
	// Users are counted one by one; 0 counts none.
	Users int
	// PerSecond is how many events come in a second of event time.
	PerSecond int
}

// DefaultData are the events of a topology without flags but --seed and
// --events.
func DefaultData(seed uint64, events int64) Data {
	return Data{Seed: seed, Events: events, Campaigns: 100, Ads: 10, PerSecond: 10_000}
}

const (
	// firstMillis is when event 0 comes in: the begin of 2026.
	firstMillis = 1_767_225_600_000
	// pages is how many pages show ads.
	pages = 1000
	// anonymous is how many users there are if they are not counted.
	anonymous = 1000
)

// The kinds of ids. They and an index are the second half of a seed, where
// events have their number.
const (
	campaignID uint64 = (iota + 1) << 56
	adID
	userID
	pageID
	strangeID // an ad of no campaign
)

// What can be wrong with a line.
const (
	sound = iota
	cut
	strangeType
	strangeAd
)

// draw is an event before it is put into words: indexes and times.
type draw struct {
	ad, user, page, adType, eventType int
	arrived, time                     int64 // milliseconds of the Unix epoch
	ip                                uint32
	defect                            int
}

// generator makes events. Each task has its own.
type generator struct {
	data Data
	pcg  *rand.PCG
	rand *rand.Rand // draws from pcg
	ads  []string
	line []byte
}

func newGenerator(d Data) *generator {
	pcg := rand.NewPCG(0, 0)
	g := &generator{data: d, pcg: pcg, rand: rand.New(pcg)} //nolint:gosec // not for secrets
	g.ads = make([]string, d.Campaigns*d.Ads)
	for i := range g.ads {
		g.ads[i] = g.id(adID, i)
	}
	return g
}

// table is the campaign of every ad.
func (d Data) table() map[string]string {
	g := newGenerator(d)
	t := make(map[string]string, len(g.ads))
	for i, ad := range g.ads {
		t[ad] = g.id(campaignID, i/d.Ads)
	}
	return t
}

// id is the id of the i-th thing of a kind.
func (g *generator) id(kind uint64, i int) string {
	g.pcg.Seed(g.data.Seed, kind|uint64(i))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], g.pcg.Uint64())
	return hex.EncodeToString(b[:])
}

// draw draws event n. The order of the draws must not change.
func (g *generator) draw(n int64) draw {
	g.pcg.Seed(g.data.Seed, uint64(n))
	users := g.data.Users
	if users == 0 {
		users = anonymous
	}
	d := draw{
		ad:        g.rand.IntN(len(g.ads)),
		user:      g.rand.IntN(users),
		page:      g.rand.IntN(pages),
		adType:    g.rand.IntN(len(adTypes)),
		eventType: g.rand.IntN(len(eventTypes)),
		ip:        g.rand.Uint32(),
		arrived:   firstMillis + n/int64(g.data.PerSecond)*1000 + n%int64(g.data.PerSecond)*1000/int64(g.data.PerSecond),
	}
	d.time = d.arrived - g.delay()
	if defect := g.rand.IntN(2048); defect <= strangeAd {
		d.defect = defect
	}
	return d
}

// delay is how long an event was on its way, in milliseconds: mostly less than
// a second, seldom more than a minute.
func (g *generator) delay() int64 {
	switch luck := g.rand.IntN(1000); {
	case luck < 2:
		return 10_000 + g.rand.Int64N(60_000)
	case luck < 50:
		return g.rand.Int64N(10_000)
	default:
		return g.rand.Int64N(1000)
	}
}

// next is the line of event n, and when it came in, in milliseconds of the Unix
// epoch.
func (g *generator) next(n int64) (line string, arrived int64) {
	d := g.draw(n)
	e := event{
		User: g.id(userID, d.user), Page: g.id(pageID, d.page), Ad: g.ads[d.ad], AdType: adTypes[d.adType],
		Type: eventTypes[d.eventType], Time: d.time,
	}
	switch d.defect {
	case strangeType:
		e.Type = "hover"
	case strangeAd:
		e.Ad = g.id(strangeID, d.ad)
	}
	g.line = appendLine(g.line[:0], e, d.ip)
	if d.defect == cut {
		g.line = g.line[:len(g.line)/2]
	}
	return string(g.line), d.arrived
}

// appendLine writes e as JSON. Nothing in it needs to be escaped.
func appendLine(b []byte, e event, ip uint32) []byte {
	for _, f := range [...][2]string{
		{`{"user":"`, e.User}, {`","page":"`, e.Page}, {`","ad":"`, e.Ad},
		{`","ad_type":"`, e.AdType}, {`","event_type":"`, e.Type},
	} {
		b = append(b, f[0]...)
		b = append(b, f[1]...)
	}
	b = append(b, `","event_time":`...)
	b = strconv.AppendInt(b, e.Time, 10)
	b = append(b, `,"ip":"`...)
	for shift := 24; shift >= 0; shift -= 8 {
		b = strconv.AppendUint(b, uint64(ip>>shift&0xff), 10)
		if shift > 0 {
			b = append(b, '.')
		}
	}
	return append(b, `"}`...)
}
