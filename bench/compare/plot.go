package compare

import (
	"bytes"
	"fmt"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const (
	plotWidth, plotHeight = 24 * vg.Centimeter, 11 * vg.Centimeter
	barWidth              = 0.5 * vg.Centimeter
)

// chart is a plot of bars: one group a topology, one bar a system.
type chart struct {
	file, title, label string
	of                 func(Measures) float64
}

func charts() []chart {
	return []chart{
		{"compare-throughput.svg", "throughput", "million tuples/s", func(m Measures) float64 { return m.TuplesPerSec / 1e6 }},
		{"compare-cpu.svg", "processor time of all processes", "µs a tuple", func(m Measures) float64 { return m.CPUMicros }},
		{"compare-memory.svg", "resident memory of all processes", "MiB", func(m Measures) float64 { return m.DaemonsMiB + m.WorkersMiB + m.StoreMiB }},
		{"compare-latency.svg", "latency at a fixed rate, 99th percentile", "ms", func(m Measures) float64 { return m.P99Micros / 1e3 }},
		{"compare-submit.svg", "submission to first tuple", "s", func(m Measures) float64 { return m.First }},
		{"compare-death.svg", "death of a worker to first tuple", "s", func(m Measures) float64 { return m.Death }},
		{"compare-kill.svg", "kill to gone", "s", func(m Measures) float64 { return m.Gone }},
	}
}

// plots makes all plots that there are results for, by file name.
func plots(r Report) (map[string][]byte, error) {
	files := map[string][]byte{}
	for _, c := range charts() {
		p, err := c.draw(r)
		if err != nil {
			return nil, fmt.Errorf("plot %s: %w", c.file, err)
		}
		if p == nil {
			continue
		}
		canvas := vgsvg.New(plotWidth, plotHeight)
		p.Draw(draw.New(canvas))
		var b bytes.Buffer
		if _, err := canvas.WriteTo(&b); err != nil {
			return nil, fmt.Errorf("plot %s: %w", c.file, err)
		}
		files[c.file] = b.Bytes()
	}
	return files, nil
}

// groups are the topologies that have the figure, by name, and its values for each
// system.
func (c chart) groups(r Report) (names []string, values [][]float64) {
	for _, x := range r.Results {
		v := c.of(x.Measures)
		if v == 0 {
			continue
		}
		name := rowName(x.Topology, x.Ack)
		if len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
			values = append(values, make([]float64, len(Systems())))
		}
		for i, s := range Systems() {
			if s == x.System {
				values[len(values)-1][i] = v
			}
		}
	}
	return names, values
}

// draw makes the plot; nil if nothing was measured.
func (c chart) draw(r Report) (*plot.Plot, error) {
	names, values := c.groups(r)
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to draw, and nothing wrong
	}
	p := plot.New()
	p.Title.Text, p.Y.Label.Text, p.Y.Min = c.title, c.label, 0
	p.Title.Padding = vg.Points(6)
	p.Legend.Top = true
	for i, s := range Systems() {
		heights := make(plotter.Values, len(names))
		for g := range names {
			heights[g] = values[g][i]
		}
		bars, err := plotter.NewBarChart(heights, barWidth)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.LineStyle.Width = plotutil.Color(i), 0
		bars.Offset = barWidth * vg.Length(i-len(Systems())/2)
		p.Add(bars)
		p.Legend.Add(string(s), bars)
	}
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, ", ", "\n")
	}
	p.NominalX(names...)
	// Room for the last group, and for the legend above the bars.
	p.X.Max += 0.5
	p.Y.Max *= 1.3
	return p, nil
}
