package recovery

import (
	"slices"

	sr3 "github.com/stormring/stormring/sr3/recovery"
)

// Setup is what recoveries are measured in.
type Setup struct {
	Name string `json:"name"`
	// Title and Text tell people what it is.
	Title string `json:"title"`
	Text  string `json:"text"`
	// Cause is why line or tree may be faster than star here, "" if nothing is.
	Cause string `json:"cause,omitempty"`
	// Nodes are the holders, each with a Link; Receiver is that of each host that
	// rebuilds.
	Nodes    int  `json:"nodes"`
	Link     Link `json:"link"`
	Receiver Link `json:"receiver"`
	// Racks divides the holders; the first two of each have Gateway as link, if
	// that is set.
	Racks   int  `json:"racks,omitempty"`
	Gateway Link `json:"gateway,omitzero"`
	// Shared is the rate of the path that all holders share, in Mbit/s.
	Shared int `json:"shared,omitempty"`
	// Replicas of each object, and the size that shards are kept near, 0 for the
	// default.
	Replicas int `json:"replicas"`
	ShardKiB int `json:"shardKiB,omitempty"`
	// Deltas of Share of the keys follow the base. Scattered says that each
	// version was saved by other hosts, so that nobody has a whole chain.
	Deltas    int     `json:"deltas,omitempty"`
	Share     float64 `json:"share,omitempty"`
	Scattered bool    `json:"scattered,omitempty"`
	// What is not zero here takes the place of the default.
	StarFanin  int `json:"starFanin,omitempty"`
	LineLength int `json:"lineLength,omitempty"`
	TreeFanin  int `json:"treeFanin,omitempty"`

	// MiB are the sizes of state, Full those that a full run has besides.
	MiB  []int `json:"-"`
	Full []int `json:"-"`
	// Redis says to compare with one Redis server behind a link like a holder's.
	Redis bool `json:"-"`
	// Owners and Killed are series of their own, of MiB[0], in all modes: so many
	// recover at once, so many holders are unplugged on the way.
	Owners []int `json:"-"`
	Killed []int `json:"-"`
}

// LoopbackName is what Run calls the measurement without links.
const LoopbackName = "loopback"

// Setups are all set-ups.
func Setups() []Setup { return slices.Concat(plain(), merging(), failing()) }

// plain have states whose chains are whole, so that no mode can save bytes.
func plain() []Setup {
	even, uneven := Link{200, 200}, Link{50, 400}
	return []Setup{
		{
			Name: "even", Title: "200 Mbit/s up and down",
			Text:  "The receiver's downlink is the limit; nothing can be saved, so that all modes should take the same time.",
			Nodes: 12, Link: even, Receiver: even, Replicas: 3,
			MiB: []int{1, 8, 32, 128}, Full: []int{256, 1024}, Redis: true,
		},
		{
			Name: "uneven", Title: "50 Mbit/s up, 400 Mbit/s down",
			Text:  "The holders' uplinks are the limit: star adds them up, line is bound by one of them.",
			Nodes: 12, Link: uneven, Receiver: uneven, Replicas: 3,
			MiB: []int{1, 8, 32, 128}, Full: []int{256, 1024}, Redis: true,
		},
		{
			Name: "uneven8", Title: "50 Mbit/s up, 400 Mbit/s down, 8 holders",
			Text:  "As many holders as fill the receiver's downlink, beside one Redis server behind the same links.",
			Nodes: 8, Link: uneven, Receiver: uneven, Replicas: 3,
			MiB: []int{64}, Full: []int{256}, Redis: true,
		},
		{
			Name: "chain", Title: "base and 8 deltas, 200 Mbit/s",
			Text:  "Each delta writes the same twentieth of the keys anew. Holders fold what they have in every mode, so no mode sends more than the base.",
			Nodes: 12, Link: even, Receiver: even, Replicas: 3, Deltas: 8, Share: 0.05,
			MiB: []int{64}, Full: []int{256},
		},
	}
}

// merging have a cause for line or tree to be faster; crossing is there to compare.
func merging() []Setup {
	even := Link{200, 200}
	return []Setup{
		{
			Name: "scattered", Title: "scattered chains, 200 Mbit/s",
			Text: "The ring was in three parts, one after the other, when the base and two deltas of 45 % of the keys were saved; " +
				"the whole ring is back when the task fails. Nobody has a whole chain: star brings all of them to the receiver, which folds; line and tree merge on the way.",
			Cause: "merging on the way leaves fewer bytes for the receiver's downlink",
			Nodes: 12, Link: even, Receiver: even, Replicas: 3, Deltas: 2, Share: 0.45, Scattered: true, LineLength: 16,
			MiB: []int{32}, Full: []int{128},
		},
		{
			Name: "shared", Title: "scattered chains behind a shared path of 100 Mbit/s",
			Text: "As before, and all holders are on a site whose path to the receiver carries 100 Mbit/s: " +
				"what is merged before it need not cross it.",
			Cause: "merging before the shared path leaves fewer bytes to cross it",
			Nodes: 12, Link: even, Receiver: even, Replicas: 3, Deltas: 2, Share: 0.45, Scattered: true, LineLength: 16, Shared: 100,
			MiB: []int{32}, Full: []int{128},
		},
		{
			Name: "crossing", Title: "base only behind a shared path of 100 Mbit/s",
			Text:  "All holders are on a site whose path to the receiver carries 100 Mbit/s. All bytes must cross it in every mode.",
			Nodes: 12, Link: even, Receiver: even, Replicas: 3, Shared: 100,
			MiB: []int{32}, Full: []int{128},
		},
		{
			Name: "gateways", Title: "three streams, two fast hosts a rack",
			Text: "The receiver takes three streams at a time (topology.sr3.star.fanin and tree.fanin are 3). Of the four hosts in each of three racks two have " +
				"200 Mbit/s up, the others 15. Star draws from three hosts at a time, slow ones among them; the heads of a tree's branches gather what the slow ones send." +
				" A tree whose heads are not the fast hosts takes twice as long.",
			Cause: "the receiver takes few streams, and a fast head gathers those of several slow holders",
			Nodes: 12, Link: Link{15, 200}, Receiver: even, Racks: 3, Gateway: even, Replicas: 1, ShardKiB: 1024, StarFanin: 3, TreeFanin: 3,
			MiB: []int{32}, Full: []int{128},
		},
	}
}

// failing are about several failures.
func failing() []Setup {
	even := Link{200, 200}
	return []Setup{
		{
			Name: "owners", Title: "several owners at once, 200 Mbit/s",
			Text:  "So many tasks fail at once and come back on as many hosts; the holders share their uplinks among them.",
			Nodes: 12, Link: even, Receiver: even, Replicas: 3,
			MiB: []int{32}, Owners: []int{1, 2, 4},
		},
		{
			Name: "killed", Title: "holders lost on the way, 200 Mbit/s",
			Text: "When a third of the shards is there, so many holders are unplugged, first those that have sent most: they are silent from then on. " +
				"A stream is given up when it is silent for as long as eight chunks take at its share of the link (about a second here), at least half a second; " +
				"relays give up those behind them a little sooner.",
			Nodes: 12, Link: even, Receiver: even, Replicas: 3,
			MiB: []int{64}, Killed: []int{0, 1, 2},
		},
	}
}

func (s *Setup) params() sr3.Params {
	return sr3.Params{StarFanin: s.StarFanin, LineLength: s.LineLength, TreeFanin: s.TreeFanin, LatencySensitive: true}
}

// floor is what the links need for the bytes of one owner of several, in seconds.
func (s *Setup) floor(bytes int64, owners int) float64 {
	up := 0
	for i := range s.Nodes {
		up += s.link(i).Up
	}
	mbit := min(float64(s.Receiver.Down), float64(up)/float64(owners))
	if s.Shared > 0 {
		mbit = min(mbit, float64(s.Shared)/float64(owners))
	}
	return float64(bytes) * 8 / (mbit * 1e6)
}

// perRack is how many holders a rack has.
func (s *Setup) perRack() int { return (s.Nodes + s.Racks - 1) / s.Racks }

// link is that of the holder i.
func (s *Setup) link(i int) Link {
	if s.Racks > 0 && s.Gateway.Up > 0 && i%s.perRack() < 2 {
		return s.Gateway
	}
	return s.Link
}
