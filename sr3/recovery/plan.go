package recovery

import (
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

// Plan says how one owner comes back. The same input gives the same plan.
type Plan struct {
	Owner    string        `json:"owner"`
	Version  shard.Version `json:"version"`
	Receiver NodeID        `json:"receiver"`
	// Asked is the mode that was asked for, Mode the one taken, Reason why, as a
	// sentence.
	Asked  Mode   `json:"asked"`
	Mode   Mode   `json:"mode"`
	Reason string `json:"reason"`
	// Measured says that the rates behind the prediction were measured.
	Measured bool `json:"measured"`
	// Shards is their number, Bytes what comes into the receiver over links.
	Shards int   `json:"shards"`
	Bytes  int64 `json:"bytes"`
	// LocalBytes is what the receiver has on its own disk.
	LocalBytes int64 `json:"localBytes"`
	// Predicted is that of Mode; Modes has one for each mode: star, line, tree.
	Predicted Prediction   `json:"predicted"`
	Modes     []Prediction `json:"modes"`
	// Flows are the streams into the receiver in the order in which they are
	// opened, at most Streams at a time. A flow of the receiver itself is its disk.
	Flows   []*Flow `json:"flows"`
	Streams int     `json:"streams"`
	// Lost are the shards of which no living copy is known.
	Lost []int `json:"lost,omitempty"`
}

// PredictedTime is how long the plan is expected to take.
func (p *Plan) PredictedTime() time.Duration { return p.Predicted.Total() }

// Make plans a recovery. It fails only if the input contradicts itself: a shard
// listed twice, an empty chain, a negative size, an unknown mode.
func Make(in Input) (*Plan, error) {
	w, err := newWorld(in)
	if err != nil {
		return nil, err
	}
	return w.plan(), nil
}

func (w *world) plan() *Plan {
	items, lost := w.items()
	p := &Plan{
		Owner: w.Owner, Version: w.Version, Receiver: w.Receiver.ID, Asked: w.Mode,
		Measured: w.measured, Shards: len(w.Pieces), Lost: lost,
	}
	flows := map[Mode][]*Flow{}
	for _, m := range []Mode{Star, Line, Tree} {
		flows[m] = w.build(m, items, nil)
		p.Modes = append(p.Modes, w.predict(m, flows[m]))
	}
	p.Mode, p.Reason = w.choose(p.Modes, w.scattered(items))
	p.Flows = flows[p.Mode]
	p.Predicted = p.Modes[slices.Index([]Mode{Star, Line, Tree}, p.Mode)]
	p.Bytes = p.Predicted.Bytes
	p.Streams = p.Predicted.Streams
	for _, f := range p.Flows {
		if f.Node == w.Receiver.ID {
			p.LocalBytes += f.Bytes
		}
	}
	return p
}

// build makes the flows of a mode for the items.
func (w *world) build(m Mode, items []item, busy map[NodeID]float64) []*Flow {
	switch m {
	case Line:
		return w.line(items, busy)
	case Tree:
		return w.tree(items, busy)
	default:
		return w.star(items, busy)
	}
}
