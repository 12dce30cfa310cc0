package overview

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/stormring/stormring/sr3/recovery"
)

// table writes rows in columns; the first is the head.
func table(b *strings.Builder, rows [][]string) {
	var columns strings.Builder
	w := tabwriter.NewWriter(&columns, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // a builder takes all
	for line := range strings.Lines(columns.String()) {
		b.WriteString(strings.TrimRight(line, " \n"))
		b.WriteString("\n")
	}
}

// names are what nodes are called in texts, by id: an id is long.
type names map[string]string

// names calls living nodes by their hosts or, if there are several on one, by their
// addresses; dead ones by their hosts if nobody lives there.
func (r *Ring) names() names {
	living, dead := map[string]int{}, map[string]int{}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Living() {
			living[n.Host]++
		} else {
			dead[n.Host]++
		}
	}
	all := names{}
	for i := range r.Nodes {
		switch n := &r.Nodes[i]; {
		case n.Host == "":
			all[n.ID] = n.ID
		case n.Living() && living[n.Host] == 1, living[n.Host] == 0 && dead[n.Host] == 1:
			all[n.ID] = n.Host
		case n.Living():
			all[n.ID] = n.Addr
		}
	}
	return all
}

// of is what a node is called.
func (n names) of(id string) string {
	if name, ok := n[id]; ok {
		return name
	}
	return id
}

// list names nodes, or nobody.
func list[ID ~string](n names, ids []ID) string {
	if len(ids) == 0 {
		return "nobody"
	}
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = n.of(string(id))
	}
	return strings.Join(out, ", ")
}

// took is a duration in milliseconds, or a dash for none.
func took(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return recovery.Millis(ms)
}

// ago is for how long something has been, of which the milliseconds are no news.
func ago(ms int64) string {
	switch {
	case ms < 0:
		ms = 0 // clocks differ
	case ms >= 10_000:
		return (time.Duration(ms) * time.Millisecond).Round(time.Second).String()
	}
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
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

// named is a name, or a dash.
func named(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// writeSilent names those that did not answer.
func writeSilent(b *strings.Builder, all []Silent, called names) {
	if len(all) > 0 {
		b.WriteString("\n")
	}
	for _, s := range all {
		who := s.Addr
		if s.ID != "" {
			who = fmt.Sprintf("%s (%s)", called.of(s.ID), s.Addr)
		}
		fmt.Fprintf(b, "no answer from %s: %s\n", who, s.Cause)
	}
}
