package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The names of the files that Render and its caller make.
const (
	PageName = "compare-storm.md"
	JSONName = "compare-storm.json"
)

// Render makes the files that people read, by name: the page and the plots.
func Render(r Report) (map[string][]byte, error) {
	files, err := plots(r)
	if err != nil {
		return nil, err
	}
	files[PageName] = []byte(page(r, slices.Sorted(maps.Keys(files))))
	return files, nil
}

// page is the page.
func page(r Report, plots []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Stormring beside stock Apache Storm\n\n%s\n%s\nMade by `scripts/compare-storm`; the figures, with those of the single runs, are in [%s](%s).\n\n",
		about(r), settings(r), JSONName, JSONName)
	b.WriteString(`Both have one nimbus and one supervisor, over one and the same ZooKeeper, one system at a time, and all share
the cores of one machine with what measures them. Each runs with its own defaults; Storm's daemons have the heaps
that its start script gives them. *storm* is stock Storm: its daemons and workers. *stormring, same jar* is
Stormring's nimbus and supervisor with the very same jar, submitted by the same client of Storm's and run by Storm's
own worker class in a JVM; *stormring, Go* is the same topology in Go, which is another program and is there to
show what that is worth. Tuples are counted, and times are taken, by the components themselves, in the same way in
both languages.

`)
	for _, s := range Shapes() {
		fmt.Fprintf(&b, "- **%s**: %s", s.Name, s.Title)
		if s.Slow > 1 {
			fmt.Fprintf(&b, "; latency at a rate of 1/%d", s.Slow)
		}
		b.WriteString("\n")
	}
	b.WriteString(`
The Python splitter uses Storm's own Python module in the jar, and ours in Go. Storm's waits for the ids of tasks after
each word, and keeps all lines that it reads meanwhile; nothing bounds them if they are not acked.
`)
	for _, s := range sections() {
		rows := s.rows(r)
		if len(rows) == 1 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.text)
		for i, row := range rows {
			fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
			if i == 0 {
				b.WriteString("| --- | --- |" + strings.Repeat(" ---: |", len(row)-2) + "\n")
			}
		}
		if said := verdict(r, s.state); said != "" && (s.state || s.title == "Control plane") {
			b.WriteString("\n" + said)
		}
	}
	if len(r.Failures) > 0 {
		b.WriteString("\n## What failed\n\n")
	}
	for _, f := range r.Failures {
		fmt.Fprintf(&b, "- %s\n", f)
	}
	if len(plots) > 0 {
		b.WriteString("\n## Plots\n")
	}
	for _, name := range plots {
		fmt.Fprintf(&b, "\n![%s](%s)\n", strings.TrimSuffix(name, ".svg"), name)
	}
	return b.String()
}

// controls are the times of the control plane that must not be longer than Storm's.
func controls() map[string]func(Measures) float64 {
	return map[string]func(Measures) float64{
		"submission to first tuple": func(m Measures) float64 { return m.First },
		"death to first tuple":      func(m Measures) float64 { return m.Death },
		"kill to gone":              func(m Measures) float64 { return m.Gone },
	}
}

// verdict says in which rows, those of the state or the others, the control plane is
// slower with the same jar.
func verdict(r Report, state bool) string {
	var slower []string
	compared := 0
	of := controls()
	for _, ours := range r.Results {
		theirs, ok := r.find(key{ours.Topology, ours.Ack, Storm})
		if ours.System != SameJar || !ok || (ours.Topology == StateShape) != state {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(of)) {
			a, b := of[name](ours.Measures), of[name](theirs.Measures)
			if a == 0 || b == 0 {
				continue
			}
			compared++
			if a > b {
				slower = append(slower, fmt.Sprintf("- %s, %s: %s s, Storm %s s", rowName(ours.Topology, ours.Ack), name, short(a), short(b)))
			}
		}
	}
	switch {
	case compared == 0:
		return ""
	case len(slower) == 0:
		return fmt.Sprintf("With the same jar, none of these %d times is longer than Storm's.\n", compared)
	}
	return fmt.Sprintf("With the same jar, %d of these %d times are longer than Storm's:\n\n%s\n", len(slower), compared, strings.Join(slower, "\n"))
}
