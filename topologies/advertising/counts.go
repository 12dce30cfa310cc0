package advertising

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// WindowMillis is the length of a window; windows begin at multiples of it.
	WindowMillis = 10_000
	// LatenessMillis is how long after its end a window is open.
	LatenessMillis = 10_000
	// maxTime is the last event time, the end of the year 9999: later ones
	// cannot be printed as RFC 3339 wants it.
	maxTime = 253_402_300_799_999
)

// windowStart is the begin of the window of a moment, both in milliseconds.
func windowStart(time int64) int64 { return time - time%WindowMillis }

// isLate tells whether the window that begins at start was closed when an event
// came in.
func isLate(start, arrived int64) bool { return arrived-start >= WindowMillis+LatenessMillis }

// Window is ten seconds of a campaign.
type Window struct {
	Campaign string
	Start    int64 // milliseconds of the Unix epoch
}

// Counts are what the topology finds out.
type Counts struct {
	Views    map[Window]int64
	Late     map[string]int64 // views that came too late, by campaign
	Users    map[string]int64 // views by user, late ones too
	Rejected map[string]int64 // lines by reason
}

// NewCounts are none.
func NewCounts() Counts {
	return Counts{Views: map[Window]int64{}, Late: map[string]int64{}, Users: map[string]int64{}, Rejected: map[string]int64{}}
}

// Expected is what a topology counts that has no flags but --seed and --events.
func Expected(seed uint64, events int64) Counts { return DefaultData(seed, events).Expected() }

// Expected is what a topology counts that keeps all windows. It has nothing in
// common with the topology but the numbers that were drawn, no line is written
// or read.
func (d Data) Expected() Counts {
	c := NewCounts()
	g := newGenerator(d)
	for n := range d.Events {
		e := g.draw(n)
		isView := eventTypes[e.eventType] == view
		switch {
		case e.defect == cut:
			c.Rejected[Malformed]++
			continue
		case e.defect == strangeType:
			c.Rejected[UnknownType]++
			continue
		case !isView:
			continue
		}
		if d.Users > 0 {
			c.Users[g.id(userID, e.user)]++
		}
		if e.defect == strangeAd {
			c.Rejected[UnknownAd]++
			continue
		}
		campaign := g.id(campaignID, e.ad/d.Ads)
		start := e.time / WindowMillis * WindowMillis
		if closed := start + WindowMillis + LatenessMillis; e.arrived >= closed {
			c.Late[campaign]++
		} else {
			c.Views[Window{campaign, start}]++
		}
	}
	return c
}

// Diff tells in words where c is not as want, at most limit differences, in the
// order of their keys; nil if there is none.
func (c Counts) Diff(want Counts, limit int) []string {
	found := slices.Concat(
		diff("views of", c.Views, want.Views, compareWindows),
		diff("late views of campaign", c.Late, want.Late, strings.Compare),
		diff("views of user", c.Users, want.Users, strings.Compare),
		diff("lines rejected as", c.Rejected, want.Rejected, strings.Compare),
	)
	if len(found) > limit {
		found = append(found[:limit:limit], fmt.Sprintf("and %d more", len(found)-limit))
	}
	return found
}

func diff[K comparable](what string, got, want map[K]int64, compare func(a, b K) int) []string {
	var wrong []K
	for k, n := range want {
		if got[k] != n {
			wrong = append(wrong, k)
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			wrong = append(wrong, k)
		}
	}
	slices.SortFunc(wrong, compare)
	var words []string
	for _, k := range wrong {
		words = append(words, fmt.Sprintf("%s %v: %d, not %d", what, k, got[k], want[k]))
	}
	return words
}

func compareWindows(a, b Window) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), strings.Compare(a.Campaign, b.Campaign))
}

// add adds what another task counted.
func (c Counts) add(more Counts) {
	addAll(c.Views, more.Views)
	addAll(c.Late, more.Late)
	addAll(c.Users, more.Users)
	addAll(c.Rejected, more.Rejected)
}

func addAll[K comparable](to, from map[K]int64) {
	for k, n := range from {
		to[k] += n
	}
}

// sorted are the keys of a map, in order.
func sorted(m map[string]int64) []string { return slices.Sorted(maps.Keys(m)) }
