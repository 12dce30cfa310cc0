package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

// NodeID names a node of the ring.
type NodeID = shard.NodeID

// Mode is a way of recovering.
type Mode string

// The modes, as topology.sr3.recovery names them.
const (
	Star Mode = "star"
	Line Mode = "line"
	Tree Mode = "tree"
	Auto Mode = "auto"
)

// ParseMode reads a mode; "" is Auto.
func ParseMode(s string) (Mode, error) {
	switch m := Mode(s); m {
	case "":
		return Auto, nil
	case Star, Line, Tree, Auto:
		return m, nil
	default:
		return "", fmt.Errorf("recovery mode %q: want star, line, tree or auto", s)
	}
}

// Object is one member of a shard's chain.
type Object struct {
	// Bytes is its stored size.
	Bytes int64 `json:"bytes"`
	// Holders are the nodes that have it and live.
	Holders []NodeID `json:"holders"`
}

// Piece is one shard of the version to recover.
type Piece struct {
	Shard int `json:"shard"`
	// Bytes is the estimated size of the folded chain; 0 takes the largest object.
	Bytes int64 `json:"bytes"`
	// Chain is the base and its deltas, oldest first.
	Chain []Object `json:"chain"`
}

// Whole is the piece of a shard whose chain of the given length and stored size
// lies in whole at each of the holders: the usual case.
func Whole(shard int, folded, stored int64, length int, holders ...NodeID) Piece {
	length = max(length, 1)
	p := Piece{Shard: shard, Bytes: folded, Chain: make([]Object, length)}
	for i := range p.Chain {
		p.Chain[i] = Object{Bytes: stored / int64(length), Holders: holders}
	}
	p.Chain[0].Bytes += stored % int64(length)
	return p
}

// Node is what is known of one node. A zero rate is one not measured.
type Node struct {
	ID NodeID `json:"id"`
	// Site groups nodes behind one shared path (rack, room); "" is none.
	Site string `json:"site,omitempty"`
	// Up and Down are its link in bytes a second.
	Up   int64 `json:"up,omitempty"`
	Down int64 `json:"down,omitempty"`
	// RTT is the round trip between it and the receiver.
	RTT time.Duration `json:"rtt,omitempty"`
	// Fold is how many stored bytes a second it folds or merges, with all cores.
	Fold int64 `json:"fold,omitempty"`
	// Streams are the streams that other recoveries draw from it now (of a
	// receiver: that they bring to it); a link is shared with them evenly.
	Streams int `json:"streams,omitempty"`
}

// Receiver is the node that rebuilds.
type Receiver struct {
	Node
	// Install is how many bytes a second it checks and indexes, with all cores.
	Install int64 `json:"install,omitempty"`
	// Load is the same for what a tree has merged; 0 is Install.
	Load int64 `json:"load,omitempty"`
	// MaxStreams bounds its inbound streams in every mode; 0 is no bound.
	MaxStreams int `json:"maxStreams,omitempty"`
	// Incast is the part of its downlink that each stream after the first costs:
	// n streams share Down / (1 + Incast*(n-1)).
	Incast float64 `json:"incast,omitempty"`
}

// Site is a shared path: all that leaves the site, in bytes a second, and the
// round trip within it.
type Site struct {
	Name string        `json:"name"`
	Up   int64         `json:"up"`
	RTT  time.Duration `json:"rtt"`
}

// Params are the keys of the topology and what was agreed on the wire.
type Params struct {
	StarFanin        int   `json:"starFanin"`        // topology.sr3.star.fanin
	LineLength       int   `json:"lineLength"`       // topology.sr3.line.length
	TreeFanin        int   `json:"treeFanin"`        // topology.sr3.tree.fanin
	StarMaxBytes     int64 `json:"starMaxBytes"`     // topology.sr3.star.max.bytes
	LatencySensitive bool  `json:"latencySensitive"` // topology.sr3.latency.sensitive
	Chunk            int64 `json:"chunk"`            // bytes of one chunk
	Window           int64 `json:"window"`           // bytes in flight on one connection
	// Stall is how long a stream may be silent before it is given up, in a network
	// of which nothing is known. Where rates were measured, they say (stall.go).
	Stall time.Duration `json:"stall"`
	// Hold is how long everything else waits for the first shard that a task wants,
	// in a recovery on demand; 0 is not at all. See Proceed.
	Hold time.Duration `json:"hold,omitempty"`
}

// DefaultParams are the defaults of the keys.
func DefaultParams() Params {
	return Params{
		StarFanin: 16, LineLength: 8, TreeFanin: 4, StarMaxBytes: 16 << 20,
		LatencySensitive: true, Chunk: 256 << 10, Window: 4 << 20, Stall: 3 * time.Second,
	}
}

// Input is all that a plan depends on.
type Input struct {
	Owner    string        `json:"owner"`
	Version  shard.Version `json:"version"`
	Mode     Mode          `json:"mode"`
	Receiver Receiver      `json:"receiver"`
	// Pieces are the shards, each once.
	Pieces []Piece `json:"pieces"`
	// Nodes are the holders of which anything is known; others get the median.
	Nodes  []Node `json:"nodes"`
	Sites  []Site `json:"sites,omitempty"`
	Params Params `json:"params"`
}

// What stands for a rate if nobody was measured: a gigabit link in one room, and
// what one ordinary core does.
const (
	guessLink    = 125_000_000
	guessRTT     = 500 * time.Microsecond
	guessFold    = 200_000_000
	guessInstall = 2_000_000_000
)

// world is a normalised input: every rate known, everything sorted.
type world struct {
	Input
	nodes    map[NodeID]Node
	sites    map[string]Site
	measured bool
}

func newWorld(in Input) (*world, error) {
	w := &world{Input: in, nodes: map[NodeID]Node{}, sites: map[string]Site{}}
	if err := w.check(); err != nil {
		return nil, err
	}
	w.defaults()
	w.Pieces = slices.Clone(in.Pieces)
	slices.SortFunc(w.Pieces, func(a, b Piece) int { return cmp.Compare(a.Shard, b.Shard) })
	for i := range w.Pieces {
		w.tidy(&w.Pieces[i])
	}
	for _, s := range in.Sites {
		w.sites[s.Name] = s
	}
	w.rates()
	return w, nil
}

func (w *world) check() error {
	seen := map[int]bool{}
	for _, p := range w.Pieces {
		switch {
		case seen[p.Shard]:
			return fmt.Errorf("recovery of %s: shard %d is listed twice", w.Owner, p.Shard)
		case len(p.Chain) == 0:
			return fmt.Errorf("recovery of %s: the chain of shard %d is empty; its manifest is damaged", w.Owner, p.Shard)
		}
		seen[p.Shard] = true
		for _, o := range p.Chain {
			if o.Bytes < 0 || p.Bytes < 0 {
				return fmt.Errorf("recovery of %s: shard %d has a negative size", w.Owner, p.Shard)
			}
		}
	}
	_, err := ParseMode(string(w.Mode))
	return err
}

func (w *world) defaults() {
	d := DefaultParams()
	p := &w.Params
	p.StarFanin = positive(p.StarFanin, d.StarFanin)
	p.LineLength = positive(p.LineLength, d.LineLength)
	p.TreeFanin = positive(p.TreeFanin, d.TreeFanin)
	p.StarMaxBytes = positive(p.StarMaxBytes, d.StarMaxBytes)
	p.Chunk = positive(p.Chunk, d.Chunk)
	p.Window = positive(p.Window, d.Window)
	p.Stall = positive(p.Stall, d.Stall)
	w.Mode = cmp.Or(w.Mode, Auto)
}

func positive[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// tidy sorts the holders of a piece and fills in its size.
func (w *world) tidy(p *Piece) {
	p.Chain = slices.Clone(p.Chain)
	largest := int64(0)
	for i := range p.Chain {
		o := &p.Chain[i]
		o.Holders = slices.Clone(o.Holders)
		slices.Sort(o.Holders)
		o.Holders = slices.Compact(o.Holders)
		largest = max(largest, o.Bytes)
		for _, id := range o.Holders {
			w.nodes[id] = Node{ID: id}
		}
	}
	p.Bytes = cmp.Or(p.Bytes, largest)
}

// rates gives every node rates: its own, else the median of the measured ones,
// else a guess.
func (w *world) rates() {
	w.nodes[w.Receiver.ID] = w.Receiver.Node
	var ups, downs, folds []int64
	var rtts []time.Duration
	known := 0
	for _, n := range w.Nodes {
		if n.Up > 0 {
			ups = append(ups, n.Up)
		}
		if n.Down > 0 {
			downs = append(downs, n.Down)
		}
		if n.Fold > 0 {
			folds = append(folds, n.Fold)
		}
		if n.RTT > 0 {
			rtts = append(rtts, n.RTT)
		}
		if _, holds := w.nodes[n.ID]; holds && n.ID != w.Receiver.ID {
			w.nodes[n.ID] = n
			known += min(1, int(min(n.Up, 1)))
		}
	}
	w.measured = w.Receiver.Down > 0 || known > 0
	up := median(ups, positive(w.Receiver.Down, guessLink))
	down, fold, rtt := median(downs, up), median(folds, guessFold), median(rtts, guessRTT)
	for id, n := range w.nodes {
		n.Up = positive(n.Up, up)
		n.Down = positive(n.Down, down)
		n.Fold = positive(n.Fold, fold)
		n.RTT = positive(n.RTT, rtt)
		w.nodes[id] = n
	}
	r := &w.Receiver
	r.Node = w.nodes[r.ID]
	r.Install = positive(r.Install, guessInstall)
	r.Load = positive(r.Load, r.Install)
}

func median[T int64 | time.Duration](values []T, otherwise T) T {
	if len(values) == 0 {
		return otherwise
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// slots is how many streams may come in at a time, of which a mode wants want.
func (w *world) slots(want int) int {
	if w.Receiver.MaxStreams > 0 {
		want = min(want, w.Receiver.MaxStreams)
	}
	return max(want, 1)
}
