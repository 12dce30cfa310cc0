package recovery

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	sr3 "github.com/stormring/stormring/sr3/recovery"
)

const (
	// near is how near to the fastest mode auto must come.
	near = 1.1
	// clearly is what counts as faster and not as chance.
	clearly = 0.95
)

// Render makes the files that people read, by name: README.md and the plots.
func Render(r Report) (map[string][]byte, error) {
	files, err := plots(r)
	if err != nil {
		return nil, err
	}
	files["README.md"] = []byte(page(r, slices.Sorted(maps.Keys(files))))
	return files, nil
}

// table is what the results of one set-up and one size are looked up in.
type table struct {
	setup Setup
	mib   int
	by    map[key]Result
}

// tables gives one for each set-up and size, in order.
func tables(r Report) []table {
	var all []table
	for _, s := range r.Setups {
		sizes := make(map[int]map[key]Result)
		for _, x := range r.Results {
			if x.Setup != s.Name {
				continue
			}
			if sizes[x.MiB] == nil {
				sizes[x.MiB] = make(map[key]Result)
			}
			sizes[x.MiB][x.key()] = x
		}
		for _, mib := range slices.Sorted(maps.Keys(sizes)) {
			all = append(all, table{s, mib, sizes[mib]})
		}
	}
	return all
}

// get gives one result; ok is false if it was not measured.
func (t table) get(mode sr3.Mode, cold bool, owners, killed int) (Result, bool) {
	r, ok := t.by[key{t.setup.Name, t.mib, mode, cold, owners, killed}]
	return r, ok
}

func (t table) one(mode sr3.Mode) Result {
	r, _ := t.get(mode, false, 1, 0)
	return r
}

// isSeries tells that the set-up is about more than one mode after the other.
func (t table) isSeries() bool { return len(t.by) > 0 && t.one(sr3.Star).Seconds == 0 }

// fastest is the fastest of star, line and tree.
func (t table) fastest() Result {
	best := t.one(sr3.Star)
	for _, m := range []sr3.Mode{sr3.Line, sr3.Tree} {
		if r := t.one(m); r.Seconds > 0 && r.Seconds < best.Seconds {
			best = r
		}
	}
	return best
}

// isTie tells that all modes are as good as the fastest.
func (t table) isTie() bool {
	for _, m := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree} {
		if t.one(m).Seconds > near*t.fastest().Seconds {
			return false
		}
	}
	return true
}

// verdict tells of a choice whether the mode taken was measured as good as the
// fastest.
func (t table) verdict(r Result) (good bool, text string) {
	if r.Seconds == 0 {
		return false, "–"
	}
	best := t.fastest()
	is := t.one(r.Taken)
	good = is.Seconds <= near*best.Seconds
	text = fmt.Sprintf("%s, yes", r.Taken)
	if !good {
		text = fmt.Sprintf("%s, **no**: %s is %.2f times faster", r.Taken, best.Mode, is.Seconds/best.Seconds)
	}
	return good, text
}

// page is README.md.
func page(r Report, plots []string) string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "# Recovery, measured\n\n%s, %d cores, %s %s, %s; %s. Made by `scripts/recovery-bench`; the figures are in\n[recovery.json](recovery.json). "+
		"Throughput and more beside stock Apache Storm: [compare-storm.md](compare-storm.md).\n\n",
		m.CPU, m.Cores, m.OS, m.Kernel, m.Go, dates(r))
	b.WriteString("Each ring node is a process in a network namespace of its own, whose link is shaped with tbf;\nall of them share the cores of one machine. " +
		"Times are seconds from the plan to the resumed task.\nThe floor is the state's bytes at rest divided by the rate of the narrowest link; " +
		"headers of TCP/IP\nand Ethernet alone cost 4.6 % more. After a rest each shaper lets 128 KiB pass at once (5 ms at 200 Mbit/s), of which\nno prediction knows: with 1 MiB that is a seventh of the whole. Every state that came back was compared with what was saved.\n\n" +
		"Before, a task on each host has saved 8 MiB over these links, and on each host that rebuilds one of 32 MiB has\ncome back: so nodes know their hosts' links, as those of a cluster at work do. *auto, new worker* is the first recovery\nof a worker process, which knows what nodes tell it; *auto* the one of a worker that has recovered over the same links\nbefore. Figures are medians; `all` in the JSON has the single runs. States from 128 MiB on were measured once.\n")
	busy(&b, r)
	b.WriteString("\n")
	if len(r.Results) > 0 {
		sizes(&b, r)
		summary(&b, r)
		faster(&b, r)
		against(&b, r)
		several(&b, r)
	}
	loopback(&b, r)
	if len(plots) > 0 {
		b.WriteString("## Plots\n\n")
	}
	for _, name := range plots {
		fmt.Fprintf(&b, "![%s](%s)\n\n", strings.TrimSuffix(name, ".svg"), name)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// busy says how much else ran on the machine, if that is known.
func busy(b *strings.Builder, r Report) {
	var loads []float64
	for _, x := range r.Results {
		if x.Load > 0 {
			loads = append(loads, x.Load)
		}
	}
	if len(loads) > 0 {
		fmt.Fprintf(b, "Load averages meanwhile were from %.0f to %.0f; above %d, figures are those of a busy machine.\n", slices.Min(loads), slices.Max(loads), r.Machine.Cores)
	}
}

// dates is when the results were measured.
func dates(r Report) string {
	seen := make(map[string]bool)
	for _, x := range r.Results {
		seen[x.Date] = true
	}
	for _, l := range r.Loopback {
		seen[l.Date] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(seen)), ", ")
}

// sizes are the tables of modes beside each other.
func sizes(b *strings.Builder, r Report) {
	last := ""
	for _, t := range tables(r) {
		if t.isSeries() {
			continue
		}
		if t.setup.Name != last {
			if last != "" {
				b.WriteString("\n")
			}
			last = t.setup.Name
			fmt.Fprintf(b, "## %s: %s\n\n%s\n\n", t.setup.Name, t.setup.Title, t.setup.Text)
			b.WriteString("| MiB | floor | star | line | tree | auto | auto, new worker | Redis | auto took, as good as the fastest | new worker took |\n")
			b.WriteString("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |\n")
		}
		cold, _ := t.get(sr3.Auto, true, 1, 0)
		warm := t.one(sr3.Auto)
		_, took := t.verdict(warm)
		_, tookCold := t.verdict(cold)
		fmt.Fprintf(b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", t.mib, seconds(t.one(sr3.Star).Floor),
			seconds(t.one(sr3.Star).Seconds), seconds(t.one(sr3.Line).Seconds), seconds(t.one(sr3.Tree).Seconds),
			seconds(warm.Seconds), seconds(cold.Seconds), seconds(t.one(Redis).Seconds), took, tookCold)
	}
	if last != "" {
		b.WriteString("\n")
	}
}

// summary says how well auto chose and predicted.
func summary(b *strings.Builder, r Report) {
	all, good, goodCold, ties := 0, 0, 0, 0
	errors := make(map[sr3.Mode][]float64)
	for _, t := range tables(r) {
		if t.isSeries() {
			continue
		}
		all++
		if t.isTie() {
			ties++
		}
		if ok, _ := t.verdict(t.one(sr3.Auto)); ok {
			good++
		}
		cold, _ := t.get(sr3.Auto, true, 1, 0)
		if ok, _ := t.verdict(cold); ok {
			goodCold++
		}
		for _, m := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree} {
			if x := t.one(m); x.Seconds > 0 {
				errors[m] = append(errors[m], x.Predicted/x.Seconds)
			}
		}
	}
	if all == 0 {
		return
	}
	fmt.Fprintf(b, "## What auto chose\n\nThe fastest mode, or one within 10 %% of it: in %d of %d cases above; by a new worker in %d of %d.\nIn %d of them star, line and tree are all within 10 %%, so that no choice is wrong.\n\n", good, all, goodCold, all, ties)
	b.WriteString("## Prediction against measurement\n\nPredicted time divided by measured time, over the cases above:\n\n| mode | least | median | most |\n| --- | ---: | ---: | ---: |\n")
	for _, m := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree} {
		if e := errors[m]; len(e) > 0 {
			slices.Sort(e)
			fmt.Fprintf(b, "| %s | %.2f | %.2f | %.2f |\n", m, e[0], e[(len(e)-1)/2], e[len(e)-1])
		}
	}
	b.WriteString("\n")
}

// faster lists where line or tree beat star, with the cause.
func faster(b *strings.Builder, r Report) {
	b.WriteString("## Where line or tree is faster than star\n\n")
	n := 0
	for _, t := range tables(r) {
		star := t.one(sr3.Star)
		for _, m := range []sr3.Mode{sr3.Line, sr3.Tree} {
			if x := t.one(m); t.setup.Cause != "" && x.Seconds > 0 && x.Seconds < clearly*star.Seconds {
				n++
				fmt.Fprintf(b, "- %s, %d MiB: %s takes %s s, star %s s (%.0f %% less; %s and %s MiB reach the receiver): %s.\n", t.setup.Name, t.mib, m,
					seconds(x.Seconds), seconds(star.Seconds), 100*(1-x.Seconds/star.Seconds), mebi(x.Bytes), mebi(star.Bytes), t.setup.Cause)
			}
		}
	}
	if n == 0 {
		b.WriteString("Nowhere.\n")
	}
	b.WriteString("\n")
}

// against compares with the remote store.
func against(b *strings.Builder, r Report) {
	b.WriteString("## Against one Redis server\n\nThe same objects, fetched with four connections and installed by the same code.\n\n" +
		"| set-up | MiB | Redis | star | times faster |\n| --- | ---: | ---: | ---: | ---: |\n")
	for _, t := range tables(r) {
		if x := t.one(Redis); x.Seconds > 0 {
			star := t.one(sr3.Star)
			fmt.Fprintf(b, "| %s | %d | %s | %s | %.1f |\n", t.setup.Name, t.mib, seconds(x.Seconds), seconds(star.Seconds), x.Seconds/star.Seconds)
		}
	}
	b.WriteString("\n")
}

// several are the tables of owners at once and of holders lost.
func several(b *strings.Builder, r Report) {
	for _, t := range tables(r) {
		if !t.isSeries() {
			continue
		}
		what, of := "owners", func(r Result) int { return r.Owners }
		if t.setup.Name == "killed" {
			what, of = "holders lost", func(r Result) int { return r.Killed }
		}
		numbers := make(map[int]map[sr3.Mode]Result)
		for _, x := range t.by {
			if numbers[of(x)] == nil {
				numbers[of(x)] = make(map[sr3.Mode]Result)
			}
			numbers[of(x)][x.Mode] = x
		}
		fmt.Fprintf(b, "## %s: %s, %d MiB each\n\n%s\n\n| %s | floor | star | line | tree |\n| ---: | ---: | ---: | ---: | ---: |\n", t.setup.Name, t.setup.Title, t.mib, t.setup.Text, what)
		for _, n := range slices.Sorted(maps.Keys(numbers)) {
			x := numbers[n]
			fmt.Fprintf(b, "| %d | %s | %s | %s | %s |\n", n, seconds(x[sr3.Star].Floor), seconds(x[sr3.Star].Seconds), seconds(x[sr3.Line].Seconds), seconds(x[sr3.Tree].Seconds))
		}
		b.WriteString("\n")
	}
}

// loopback is the table of runs without links.
func loopback(b *strings.Builder, r Report) {
	if len(r.Loopback) == 0 {
		return
	}
	fmt.Fprintf(b, "## loopback: no links\n\nStar from %d nodes that are processes of the same machine, beside as many bytes over %d plain TCP connections into memory; "+
		"and the first value read on demand, from making the client on. Load is the machine's load average over the minute before; above its %d cores, figures are those of a busy machine.\n\n| MiB | load | plain TCP | star | target | task may run | first read | target |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n", loopbackNodes, loopbackNodes, r.Machine.Cores)
	for _, l := range r.Loopback {
		fmt.Fprintf(b, "| %d | %.1f | %s | %s | %s | %s | %s | %s |\n", l.MiB, l.Load, seconds(l.Floor), seconds(l.Seconds), target(l.Seconds, l.Target), seconds(l.Ready), seconds(l.First), target(l.First, l.FirstTarget))
	}
	b.WriteString("\n")
}

// target shows a target and whether it was met.
func target(is, below float64) string {
	switch {
	case below == 0:
		return "–"
	case is < below:
		return fmt.Sprintf("< %g, met", below)
	default:
		return fmt.Sprintf("< %g, **missed**", below)
	}
}

// seconds shows a time with three digits, or a dash if there is none.
func seconds(s float64) string {
	switch {
	case s == 0:
		return "–"
	case s < 1:
		return fmt.Sprintf("%.3f", s)
	case s < 10:
		return fmt.Sprintf("%.2f", s)
	default:
		return fmt.Sprintf("%.1f", s)
	}
}

func mebi(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/(1<<20)) }
