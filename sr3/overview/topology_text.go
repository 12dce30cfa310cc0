package overview

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stormring/stormring/sr3/recovery"
)

// Text is the topology's state for people.
func (t *Topology) Text() string {
	var b strings.Builder
	tasks := 0
	for i := range t.Components {
		tasks += len(t.Components[i].Tasks)
	}
	fmt.Fprintf(&b, "%s: %s with state, %s, ", t.ID, count(tasks, "task", "tasks"), count(len(t.Components), "component", "components"))
	if t.Committed == 0 {
		b.WriteString("nothing is committed yet\n")
	} else {
		fmt.Fprintf(&b, "version %v is committed\n", t.Committed)
	}
	for i := range t.Components {
		b.WriteString("\n")
		t.Components[i].write(&b, t.called)
	}
	writeSilent(&b, t.Silent, t.called)
	return b.String()
}

func (c *Component) write(b *strings.Builder, called names) {
	fmt.Fprintf(b, "%s: %s, %s, %s in memory, %s on the ring", c.Name,
		count(len(c.Tasks), "task", "tasks"), count(int(c.Keys), "key", "keys"), recovery.Size(c.Bytes), recovery.Size(c.Stored))
	if c.Running > 0 {
		fmt.Fprintf(b, ", recovering: %d", c.Running)
	}
	if c.Waiting > 0 {
		fmt.Fprintf(b, ", waiting for holders: %d", c.Waiting)
	}
	b.WriteString("\n")
	states := [][]string{{"TASK", "ON", "HEARD", "MODE", "RESUME", "KEYS", "IN MEMORY", "VERSION", "SAVED", "TOOK", "FROZEN", "WRITTEN", "ON THE RING", "SHARDS"}}
	holders := [][]string{{"TASK", "COPIES", "MISSING", "AT"}}
	recoveries := [][]string{{
		"TASK", "BEGAN", "MODE", "AT", "SHARDS", "BYTES", "DETECT", "PLACE", "FETCH", "REBUILD", "RESUME", "FIRST", "PREDICTED", "MEASURED", "STATE",
	}}
	var notes []string
	for i := range c.Tasks {
		k := &c.Tasks[i]
		states = append(states, k.row(called))
		holders = append(holders, k.holderRow(called))
		for j := range k.Recoveries {
			recoveries = append(recoveries, k.Recoveries[j].row(k.Task, called))
		}
		notes = append(notes, k.notes()...)
	}
	for i, rows := range [][][]string{states, holders, recoveries} {
		if len(rows) == 1 {
			continue
		}
		if i > 0 {
			b.WriteString("\n")
		}
		table(b, rows)
	}
	for i, n := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s\n", n)
	}
}

func (k *Task) row(called names) []string {
	cells := []string{strconv.Itoa(int(k.Task))}
	if !k.Reported {
		return append(cells, "?", "never", "?", "?", "?", "?", "?", "?", "?", "?", "?", "?", "?")
	}
	cells = append(cells, called.of(k.Node), ago(k.AgeMillis)+" ago", string(k.Mode), k.Resume, strconv.FormatInt(k.Keys, 10), recovery.Size(k.Bytes))
	p := &k.Checkpoint
	if p.Version == 0 {
		return append(cells, "none", "", "", "", "", "", "")
	}
	return append(cells, fmt.Sprint(p.Version), ago(p.AgeMillis)+" ago", recovery.Millis(p.DurationMS), recovery.Millis(p.FreezeMS), recovery.Size(p.Bytes), recovery.Size(p.Stored), strconv.Itoa(p.Shards))
}

func (k *Task) holderRow(called names) []string {
	copies := "?"
	if k.Reported {
		copies = strconv.Itoa(k.Replicas)
	}
	if k.Checkpoint.Short > 0 {
		copies += fmt.Sprintf(", fewer of %s", count(k.Checkpoint.Short, "shard", "shards"))
	}
	return []string{strconv.Itoa(int(k.Task)), copies, strconv.Itoa(k.Missing), listHolders(k.Holders, called)}
}

func listHolders(all []Holder, called names) string {
	if len(all) == 0 {
		return "nobody"
	}
	parts := make([]string, len(all))
	for i, h := range all {
		has := recovery.Size(h.Has)
		if h.Has < 0 {
			has = "?"
		}
		parts[i] = fmt.Sprintf("%s %s", called.of(h.Node), has)
		if h.Status != "alive" {
			parts[i] += " (" + h.Status + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// notes are sentences on what is wrong.
func (k *Task) notes() []string {
	var out []string
	if k.Failed != "" {
		out = append(out, fmt.Sprintf("task %d: the newest checkpoint was not saved: %s", k.Task, k.Failed))
	}
	if n := len(k.Recoveries); n > 0 && k.Recoveries[n-1].Running {
		v := &k.Recoveries[n-1]
		if len(v.Waiting) > 0 {
			out = append(out, fmt.Sprintf("task %d: no living copy is known of shards %s; it waits for a holder to return", k.Task, ranges(v.Waiting)))
		}
		for _, note := range v.Notes {
			out = append(out, fmt.Sprintf("task %d: %s", k.Task, note))
		}
	}
	return out
}

func (v *Recovery) row(task int32, called names) []string {
	return []string{
		strconv.Itoa(int(task)), ago(v.AgeMillis) + " ago", named(string(v.Mode)), named(called.of(string(v.Receiver))), strconv.Itoa(v.Shards), recovery.Size(v.Bytes),
		took(v.DetectMS), took(v.PlaceMS), took(v.FetchMS), took(v.RebuildMS), took(v.ResumeMS), took(v.FirstMS),
		took(v.PredictedMS), took(v.MeasuredMS), v.state(),
	}
}

// state tells how far it is, or how it ended.
func (v *Recovery) state() string {
	switch {
	case v.Abandoned:
		return fmt.Sprintf("abandoned at %.0f %%", 100*v.Progress)
	case v.Running && v.WaitsFor != "":
		return "waits for " + v.WaitsFor
	case v.Running && len(v.Waiting) > 0:
		return fmt.Sprintf("%.0f %%, waits for %s", 100*v.Progress, count(len(v.Waiting), "shard", "shards"))
	case v.Running:
		return fmt.Sprintf("%.0f %%", 100*v.Progress)
	case len(v.Emptied) > 0:
		return fmt.Sprintf("done, %s started empty", count(len(v.Emptied), "shard", "shards"))
	default:
		return "done"
	}
}
