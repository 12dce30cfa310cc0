package recovery

import (
	"fmt"
	"slices"
)

// worthwhile is what line or tree must save to be taken: predictions are not
// better than this, and star has the fewest parts that can fail.
const worthwhile = 0.95

// choose takes the mode asked for or, for auto, the fastest; and says why.
func (w *world) choose(modes []Prediction, scattered bool) (Mode, string) {
	star, line, tree := modes[0], modes[1], modes[2]
	switch {
	case w.Mode == Star:
		return Star, fmt.Sprintf("star was asked for; %s.", forecast(star))
	case w.Mode == Line:
		return Line, fmt.Sprintf("line was asked for; %s, star %s.", forecast(line), Millis(star.TotalMS))
	case w.Mode == Tree:
		return Tree, fmt.Sprintf("tree was asked for; %s, star %s.", forecast(tree), Millis(star.TotalMS))
	case !w.measured:
		return w.unmeasured(star, scattered)
	}
	best, cause := star, ""
	for _, m := range []Prediction{line, tree} {
		if m.TotalMS >= worthwhile*star.TotalMS || m.TotalMS >= best.TotalMS {
			continue
		}
		if why := causeOf(star, m); why != "" {
			best, cause = m, why
		}
	}
	if cause != "" {
		return best.Mode, fmt.Sprintf("auto took %s: %s; predicted %s, star %s.", best.Mode, cause, Millis(best.TotalMS), Millis(star.TotalMS))
	}
	return Star, fmt.Sprintf("auto took star: nothing to gain by merging or relaying (line %s, tree %s); %s.",
		Millis(line.TotalMS), Millis(tree.TotalMS), forecast(star))
}

// causeOf names what makes m faster than star, or "" if none of the four causes
// that physics allows is there.
func causeOf(star, m Prediction) string {
	fewer := float64(m.Bytes) < worthwhile*float64(star.Bytes)
	switch {
	case star.Limit == "path" && m.PathMS < worthwhile*star.PathMS:
		return fmt.Sprintf("the path between sites is shared and merging before it saves %s of its time", percent(m.PathMS, star.PathMS))
	case fewer:
		return fmt.Sprintf("merging on the way leaves %s of %s for the receiver", Size(m.Bytes), Size(star.Bytes))
	case star.Limit == "receiver" && m.ReceiverMS < worthwhile*star.ReceiverMS:
		return fmt.Sprintf("the receiver's processors are the limit and merging elsewhere spares them %s", percent(m.ReceiverMS, star.ReceiverMS))
	case star.incast && m.Streams < star.Streams:
		return fmt.Sprintf("%d connections into the receiver hold each other up, %d do not", star.Streams, m.Streams)
	case star.incast:
		return fmt.Sprintf("the receiver takes only %d connections at a time, and star would open them one after another", star.Streams)
	}
	return ""
}

// scattered tells whether some shard's chain lies nowhere as a whole.
func (w *world) scattered(items []item) bool {
	return slices.ContainsFunc(items, func(it item) bool {
		return it.Until-it.First < len(w.piece(it.Shard).Chain)
	})
}

// unmeasured is the rule for networks of which nothing is known: star, unless much
// is to be merged, for which size decides.
func (w *world) unmeasured(star Prediction, scattered bool) (Mode, string) {
	bytes := star.Bytes
	switch limit := w.Params.StarMaxBytes; {
	case !scattered:
		return Star, "auto took star: nothing measured, and no chain is scattered, so that nothing is to be merged."
	case bytes <= limit:
		return Star, fmt.Sprintf("auto took star by size, with nothing measured: chains are scattered, but %s is not above %s.", Size(bytes), Size(limit))
	case !w.Params.LatencySensitive:
		return Line, fmt.Sprintf("auto took line by size, with nothing measured: chains are scattered, %s is above %s, and the topology is not sensitive to latency.", Size(bytes), Size(limit))
	default:
		return Tree, fmt.Sprintf("auto took tree by size, with nothing measured: chains are scattered, %s is above %s, and the topology is sensitive to latency.", Size(bytes), Size(limit))
	}
}

func forecast(p Prediction) string {
	limits := map[string]string{
		"links": "the links", "holders": "folding at the holders", "receiver": "the receiver's processors",
		"path": "the path between sites", "setup": "round trips",
	}
	return fmt.Sprintf("predicted %s, limited by %s", Millis(p.TotalMS), limits[p.Limit])
}

func percent(less, more float64) string { return fmt.Sprintf("%.0f %%", 100*(1-less/more)) }
