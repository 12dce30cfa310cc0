package scheduler

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/stormring/stormring/internal/cluster"
)

// Explain writes the plan for people: for each topology a table of its workers
// with what becomes of each, then what is not placed or not as wished, and why.
// It returns w's error.
func (p Plan) Explain(w io.Writer) error {
	var b strings.Builder
	for i, t := range p.Topologies {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.explain(&b, p.hosts)
	}
	if len(p.Topologies) == 0 {
		b.WriteString("no topologies\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// line is a worker in the table.
type line struct {
	slot       cluster.Slot
	components map[string]int
	stay, move int
	reasons    map[string]int
}

func (t TopologyPlan) explain(b *strings.Builder, hosts map[cluster.SupervisorID]string) {
	lines := t.lines()
	fmt.Fprintf(b, "%s: %s, %s stay, %d placed, %d not placed\n", t.ID, count(len(lines), "worker"), count(len(t.Stay), "executor"), len(t.Moves), len(t.Unplaced))
	if len(lines) > 0 {
		tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(tw, "  HOST\tSLOT\tEXECUTORS\tCHANGE")
		for _, l := range lines {
			fmt.Fprintf(tw, "  %s\t%s\t%s\t%s\n", cmp.Or(hosts[l.slot.Supervisor], "?"), l.slot, tally(l.components, " "), l.change())
		}
		// A strings.Builder takes everything.
		_ = tw.Flush()
	}
	if len(t.Unplaced) > 0 {
		fmt.Fprintf(b, "  not placed: %s: %s\n", span(t.Unplaced), t.WhyNot)
	}
	for _, n := range t.Notes {
		fmt.Fprintf(b, "  note: %s\n", n)
	}
}

func (t TopologyPlan) lines() []*line {
	bySlot := map[cluster.Slot]*line{}
	var out []*line
	for i, pl := range t.Assignment {
		l := bySlot[pl.Slot]
		if l == nil {
			l = &line{slot: pl.Slot, components: map[string]int{}, reasons: map[string]int{}}
			bySlot[pl.Slot] = l
			out = append(out, l)
		}
		l.components[t.components[i]]++
		l.stay++
	}
	for _, m := range t.Moves {
		l := bySlot[m.To]
		l.stay--
		l.move++
		l.reasons[m.Why]++
	}
	slices.SortFunc(out, func(x, y *line) int { return x.slot.Compare(y.slot) })
	return out
}

func (l *line) change() string {
	switch {
	case l.move == 0:
		return "stays"
	case l.stay == 0 && len(l.reasons) == 1:
		for why := range l.reasons {
			return why
		}
	case l.stay == 0:
		return tally(l.reasons, ": ")
	}
	return fmt.Sprintf("%d stay; %s", l.stay, tally(l.reasons, ": "))
}

// tally is "2 a, 1 b", sorted by name.
func tally(of map[string]int, sep string) string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%d%s%s", of[name], sep, name)
	}
	return strings.Join(names, ", ")
}

// span names executors, the first few of many.
func span(execs []cluster.Executor) string {
	var names []string
	for _, e := range execs[:min(len(execs), namedHosts)] {
		names = append(names, e.String())
	}
	rest := ""
	if more := len(execs) - namedHosts; more > 0 {
		rest = fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, " ") + rest
}
