package compare

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// none stands where nothing was measured.
const none = "-"

// column is a figure of a table.
type column struct {
	head string
	cell func(m Measures) string
}

// section is a table: the rows that have been measured of some columns.
type section struct {
	title string
	// text says what the figures are.
	text    string
	state   bool // for the state, or for all else
	columns []column
}

func sections() []section {
	return []section{
		{
			title: "Throughput",
			text: "Tuples a second at the last bolt, with its processes at full speed; processor time and resident memory are those of all\n" +
				"processes of the system, daemons (nimbus, supervisor) and workers (with all that the supervisor starts) apart.",
			columns: []column{
				{"tuples/s", func(m Measures) string { return whole(m.TuplesPerSec) }},
				{"cores", func(m Measures) string { return short(m.Cores) }},
				{"CPU µs/tuple", func(m Measures) string { return short(m.CPUMicros) }},
				{"daemons MiB", func(m Measures) string { return whole(m.DaemonsMiB) }},
				{"workers MiB", func(m Measures) string { return whole(m.WorkersMiB) }},
				{"others' cores", func(m Measures) string { return short(m.OtherCores) }},
			},
		},
		{
			title: "Latency",
			text:  "From emission to the ack in the spout, at a fixed rate.",
			columns: []column{
				{"p50 ms", func(m Measures) string { return short(m.P50Micros / 1e3) }},
				{"p99 ms", func(m Measures) string { return short(m.P99Micros / 1e3) }},
			},
		},
		{
			title: "Control plane",
			text: "Seconds. The submission is the submitting command; the first tuple, in the last bolt, counts from the start of that command.\n" +
				"The death is a worker's, by kill -9, and ends with the first tuple in the last bolt of the next one. A killed topology is gone\n" +
				"when none of its processes is left and nimbus does not know it. The load is the machine's load average over the minute before; above\n" +
				"its cores, the figures are those of a busy machine.",
			columns: []column{
				{"submission", func(m Measures) string { return short(m.Submit) }},
				{"to first tuple", func(m Measures) string { return short(m.First) }},
				{"death to first tuple", func(m Measures) string { return short(m.Death) }},
				{"kill to gone", func(m Measures) string { return short(m.Gone) }},
				{"load before", func(m Measures) string { return short(m.Load) }},
			},
		},
		{
			title: "State",
			text: "Seconds. Filling ends with the checkpoint that holds all values; the death, by kill -9, with the first value read by the next\n" +
				"worker, and the whole state is there when each value has been read once. Storm keeps it in one Redis server, and reads each\n" +
				"value from there; Stormring keeps it in the supervisor's ring node, and the bolt has it in memory.",
			state: true,
			columns: []column{
				{"fill", func(m Measures) string { return short(m.Fill) }},
				{"death to first value", func(m Measures) string { return short(m.Death) }},
				{"to whole state", func(m Measures) string { return short(m.Whole) }},
				{"daemons MiB", func(m Measures) string { return whole(m.DaemonsMiB) }},
				{"workers MiB", func(m Measures) string { return whole(m.WorkersMiB) }},
				{"Redis MiB", func(m Measures) string { return whole(m.StoreMiB) }},
				{"to first tuple", func(m Measures) string { return short(m.First) }},
				{"kill to gone", func(m Measures) string { return short(m.Gone) }},
			},
		},
	}
}

// rows are the cells of a section, the first two columns being topology and system.
func (s section) rows(r Report) [][]string {
	head := []string{"topology", "system"}
	for _, c := range s.columns {
		head = append(head, c.head)
	}
	rows := [][]string{head}
	last := ""
	for _, x := range r.Results {
		if (x.Topology == StateShape) != s.state {
			continue
		}
		name := rowName(x.Topology, x.Ack)
		row, some := []string{name, string(x.System)}, false
		for _, c := range s.columns {
			text := c.cell(x.Measures)
			some = some || text != none
			row = append(row, text)
		}
		if !some {
			continue
		}
		if name == last {
			row[0] = ""
		}
		last = name
		rows = append(rows, row)
	}
	return rows
}

// Print writes the tables as text.
func Print(w io.Writer, r Report) error {
	fmt.Fprintf(w, "%s\n%s\n", about(r), settings(r))
	for _, s := range sections() {
		rows := s.rows(r)
		if len(rows) == 1 {
			continue
		}
		fmt.Fprintf(w, "\n%s\n\n", s.title)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		for _, row := range rows {
			fmt.Fprintf(t, "%s\t\n", strings.Join(row, "\t"))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	for _, f := range r.Failures {
		fmt.Fprintf(w, "\nfailed: %s\n", f)
	}
	return nil
}

// about names the machine and the versions.
func about(r Report) string {
	m, v := r.Machine, r.Versions
	return fmt.Sprintf("%s, %d cores, %s %s. Storm %s, Java %s, ZooKeeper %s, Redis %s, Python %s; Stormring %s, %s.",
		m.CPU, m.Cores, m.OS, m.Kernel, v.Storm, v.Java, v.ZooKeeper, v.Redis, v.Python, v.Stormring, m.Go)
}

// settings names what all systems were given alike.
func settings(r Report) string {
	s := r.Settings
	return fmt.Sprintf("Medians of %d runs of %.3g s after %.3g s; %d worker, %d executors a component, max spout pending %d where tuples are acked; latency at %d tuples/s; a state of %d values of %d bytes.",
		s.Runs, s.Seconds, s.WarmUpSeconds, s.Workers, s.Executors, s.Pending, s.Rate, s.Keys, s.Size)
}

// short shows three digits.
func short(v float64) string {
	switch {
	case v == 0:
		return none
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// whole shows a whole number, with commas between thousands.
func whole(v float64) string {
	if v == 0 {
		return none
	}
	text := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
