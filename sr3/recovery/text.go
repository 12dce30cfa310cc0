package recovery

import (
	"fmt"
	"strings"
)

// String is the plan for people: the decision, the modes beside each other, and
// who sends what to whom.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Recovery of %s, version %v, at %s: %s\n", p.Owner, p.Version, p.Receiver, p.Mode)
	fmt.Fprintf(&b, "%s\n", p.Reason)
	fmt.Fprintf(&b, "%d shards, %s over links", p.Shards, Size(p.Bytes))
	if p.LocalBytes > 0 {
		fmt.Fprintf(&b, ", %s from the own disk", Size(p.LocalBytes))
	}
	fmt.Fprintf(&b, "; at most %d streams at a time\n\n", p.Streams)
	fmt.Fprintf(&b, "%-5s %10s %10s %10s %8s %6s  %s\n", "mode", "predicted", "received", "moved", "streams", "depth", "limit")
	for _, m := range p.Modes {
		fmt.Fprintf(&b, "%-5s %10s %10s %10s %8d %6d  %s\n", m.Mode, Millis(m.TotalMS), Size(m.Bytes), Size(m.Moved), m.Streams, m.Depth, m.Limit)
	}
	b.WriteString("\n")
	scattered := map[int]bool{}
	for _, f := range p.Flows {
		f.walk(func(g *Flow) {
			for _, own := range g.Own {
				scattered[own.Shard] = scattered[own.Shard] || own.First > 0
			}
		})
	}
	for _, f := range p.Flows {
		f.write(&b, scattered, 0)
	}
	if len(p.Lost) > 0 {
		fmt.Fprintf(&b, "no living copy is known of shards %s\n", ranges(p.Lost))
	}
	return b.String()
}

func (f *Flow) write(b *strings.Builder, scattered map[int]bool, depth int) {
	indent := strings.Repeat("  ", depth)
	fmt.Fprintf(b, "%s%s -> %s: %s", indent, f.Node, f.To, Size(f.Bytes))
	if len(f.Own) > 0 {
		fmt.Fprintf(b, ", own %s", listing(f.Own, scattered))
	}
	if n := len(f.From); n > 0 {
		does := "passes on"
		if f.Merges || f.Bytes < total(f.Own)+inflow(f) {
			does = "merges"
		}
		fmt.Fprintf(b, ", %s what %d below send", does, n)
	}
	b.WriteString("\n")
	for _, from := range f.From {
		from.write(b, scattered, depth+1)
	}
}

func inflow(f *Flow) int64 {
	sum := int64(0)
	for _, from := range f.From {
		sum += from.Bytes
	}
	return sum
}

// listing names parts: shards as ranges, those of scattered chains with the members
// that the part has.
func listing(parts []Part, scattered map[int]bool) string {
	var shards []int
	var rest []string
	for _, p := range parts {
		if !scattered[p.Shard] {
			shards = append(shards, p.Shard)
			continue
		}
		rest = append(rest, fmt.Sprintf("%d[%d:%d]", p.Shard, p.First, p.Until))
	}
	if len(shards) > 0 {
		rest = append([]string{ranges(shards)}, rest...)
	}
	return strings.Join(rest, ",")
}

// ranges writes sorted numbers as 0-3,7.
func ranges(sorted []int) string {
	var out []string
	for i := 0; i < len(sorted); {
		j := i
		for j+1 < len(sorted) && sorted[j+1] == sorted[j]+1 {
			j++
		}
		if i == j {
			out = append(out, fmt.Sprint(sorted[i]))
		} else {
			out = append(out, fmt.Sprintf("%d-%d", sorted[i], sorted[j]))
		}
		i = j + 1
	}
	return strings.Join(out, ",")
}
