package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// Text is the plans for people: all tasks beside each other, then each.
func (p *Plans) Text() string {
	var b strings.Builder
	if len(p.Failed) == 0 {
		fmt.Fprintf(&b, "%s, if workers are lost and no host is\n\n", p.Topology)
	} else {
		fmt.Fprintf(&b, "%s, if %s %s lost\n\n", p.Topology, list(p.called, p.Failed), isAre(len(p.Failed)))
	}
	rows := [][]string{{"TASK", "RUNS ON", "WOULD RUN ON", "VERSION", "SHARDS", "STORED", "OVER LINKS", "MODE", "STAR", "LINE", "TREE", "LOST"}}
	for i := range p.Tasks {
		rows = append(rows, p.Tasks[i].row(p.called))
	}
	table(&b, rows)
	for i := range p.Tasks {
		p.Tasks[i].write(&b, p.called)
	}
	p.writeLost(&b)
	writeSilent(&b, p.Silent, p.called)
	return b.String()
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func (t *TaskPlan) name() string { return fmt.Sprintf("%s/%d", t.Component, t.Task) }

func (t *TaskPlan) row(called names) []string {
	now := named(called.of(t.Now))
	if t.Fails {
		now += " (lost)"
	}
	cells := []string{t.name(), now}
	switch {
	case t.Version == 0:
		return append(cells, "-", "none", "", "", "", "", "", "", "", "")
	case t.NoManifest:
		return append(cells, "-", fmt.Sprint(t.Version), "", "", "", "", "", "", "", "all")
	}
	first := t.Plans[0]
	cells = append(cells, called.of(t.On), fmt.Sprint(t.Version), strconv.Itoa(t.Shards), recovery.Size(t.Stored), recovery.Size(first.Bytes), string(first.Mode))
	for _, m := range []recovery.Mode{recovery.Star, recovery.Line, recovery.Tree} {
		cells = append(cells, t.predicted(m))
	}
	return append(cells, strconv.Itoa(len(t.Lost)))
}

// predicted is how long a mode would take.
func (t *TaskPlan) predicted(m recovery.Mode) string {
	for _, other := range t.Plans[0].Modes {
		if other.Mode == m {
			return recovery.Millis(other.TotalMS)
		}
	}
	return "-"
}

func (t *TaskPlan) write(b *strings.Builder, called names) {
	for i, plan := range t.Plans {
		if i > 0 && plan.Bytes == 0 {
			continue // nothing is sent, in whatever mode
		}
		plan = rename(plan, called)
		if i == 0 {
			fmt.Fprintf(b, "\n%s", plan.String())
			continue
		}
		fmt.Fprintf(b, "\n%s by %s instead:\n%s", t.name(), plan.Mode, flows(plan))
	}
}

func (p *Plans) writeLost(b *strings.Builder) {
	if p.LostTasks == 0 {
		return
	}
	b.WriteString("\nLost:\n")
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.NoManifest {
			fmt.Fprintf(b, "  %s: all of its state: nobody who is left and answered has the manifest of version %v\n", t.name(), t.Version)
		}
		lost := slices.SortedFunc(slices.Values(t.Lost), func(a, b LostShard) int { return cmp.Compare(a.Shard, b.Shard) })
		for _, l := range lost {
			fmt.Fprintf(b, "  %s: shard %d (slots %s), which was at %s\n", t.name(), l.Shard, l.Slots, list(p.called, l.Named))
		}
	}
}

// rename is the plan with other names of nodes.
func rename(p *recovery.Plan, called names) *recovery.Plan {
	out := *p
	out.Receiver = shard.NodeID(called.of(string(p.Receiver)))
	out.Flows = renameFlows(p.Flows, called)
	return &out
}

func renameFlows(all []*recovery.Flow, called names) []*recovery.Flow {
	out := make([]*recovery.Flow, len(all))
	for i, f := range all {
		g := *f
		g.Node, g.To = shard.NodeID(called.of(string(f.Node))), shard.NodeID(called.of(string(f.To)))
		g.From = renameFlows(f.From, called)
		out[i] = &g
	}
	return out
}

// flows is the part of a plan's text that says who sends what to whom: what comes
// after its decision and its table of modes.
func flows(p *recovery.Plan) string {
	paragraphs := strings.SplitN(p.String(), "\n\n", 3)
	return paragraphs[len(paragraphs)-1]
}
