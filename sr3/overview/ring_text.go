package overview

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
)

// Text is the ring for people.
func (r *Ring) Text() string {
	var b strings.Builder
	s, called := &r.Sums, r.names()
	fmt.Fprintf(&b, "nodes: %d living of %d, hosts: %d, racks: %d, positions: %d\n", s.Living, s.Nodes, s.Hosts, s.Racks, s.Positions)
	fmt.Fprintf(&b, "tasks with state: %d, copies of shards: %d, stored: %s, on disk: %s, streams of recoveries: %d\n",
		s.Owners, s.Shards, recovery.Size(s.Bytes), recovery.Size(s.DiskBytes), s.Recoveries)
	fmt.Fprintf(&b, "under-replicated: %d, repaired: %d, damaged: %d\n\n", s.UnderReplicated, s.Repaired, s.Damaged)
	rows := [][]string{{"NODE", "HOST", "RACK", "ADDRESS", "POSITIONS", "STATUS", "SHARDS", "STORED", "ON DISK", "UNDER-REPLICATED", "REPAIRED", "DAMAGED", "TROUBLE"}}
	for i := range r.Nodes {
		rows = append(rows, r.Nodes[i].row())
	}
	table(&b, rows)
	s.writePartial(&b)
	r.writeMissing(&b, called)
	for i, part := range r.Parts {
		if i == 0 {
			fmt.Fprintf(&b, "\nthese are %d rings that do not know of each other:\n", len(r.Parts))
		}
		fmt.Fprintf(&b, "  %s\n", list(called, part))
	}
	writeSilent(&b, r.Silent, called)
	return b.String()
}

func (n *Node) row() []string {
	cells := []string{n.ID, named(n.Host), named(n.Rack), n.Addr, strconv.Itoa(n.Positions), n.belief()}
	if !n.Answered {
		return append(cells, "?", "?", "?", "?", "?", "?", "")
	}
	return append(cells, strconv.Itoa(n.Shards), recovery.Size(n.Bytes), recovery.Size(n.DiskBytes), strconv.Itoa(n.UnderReplicated),
		strconv.FormatInt(n.Repaired, 10), strconv.FormatInt(n.Damaged, 10), n.Trouble)
}

// belief is the status, and who thinks otherwise.
func (n *Node) belief() string {
	var b strings.Builder
	b.WriteString(n.Status)
	for _, status := range slices.Sorted(maps.Keys(n.Seen)) {
		if status != n.Status {
			fmt.Fprintf(&b, " (%s to %d of %d)", status, n.Seen[status], n.voices())
		}
	}
	return b.String()
}

func (n *Node) voices() int {
	all := 0
	for _, k := range n.Seen {
		all += k
	}
	return all
}

// writePartial tells that copies are not made anew.
func (s *Sums) writePartial(b *strings.Builder) {
	if s.Partial == 0 {
		return
	}
	why := "some have just joined, or do not hear of each other"
	if most := ring.Default().FullView; s.Living > most {
		why = fmt.Sprintf("there are more than %d; make several clusters of these hosts", most)
	}
	fmt.Fprintf(b, "\n%d of %s that answered do not know the whole ring, and do not replace lost copies: %s\n",
		s.Partial, count(s.Answered, "node", "nodes"), why)
}

func (r *Ring) writeMissing(b *strings.Builder, called names) {
	rows := [][]string{{"UNDER-REPLICATED", "COPIES MISSING", "AT"}}
	for i := range r.Owners {
		if o := &r.Owners[i]; o.Missing > 0 {
			rows = append(rows, []string{o.Owner().String(), strconv.Itoa(o.Missing), list(called, o.At)})
		}
	}
	if len(rows) > 1 {
		b.WriteString("\n")
		table(b, rows)
	}
}
