package recovery

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	sr3 "github.com/stormring/stormring/sr3/recovery"
)

const (
	plotWidth, plotHeight = 16 * vg.Centimeter, 11 * vg.Centimeter
	lineWidth             = 1.5
)

// series is one line of a plot.
type series struct {
	name   string
	points plotter.XYs
}

// plots makes all plots that there are results for, by file name.
func plots(r Report) (map[string][]byte, error) {
	files := make(map[string][]byte)
	for _, s := range r.Setups {
		var p *plot.Plot
		var name string
		switch s.Name {
		case "even", "uneven":
			p, name = sizePlot(r, s), "size-"+s.Name+".svg"
		case "owners":
			p, name = countPlot(r, s, "owners that recover at once", func(r Result) int { return r.Owners }), "owners.svg"
		case "killed":
			p, name = countPlot(r, s, "holders lost on the way", func(r Result) int { return r.Killed }), "killed.svg"
		default:
			continue
		}
		if p == nil {
			continue
		}
		var err error
		if files[name], err = draws(p); err != nil {
			return nil, fmt.Errorf("plot %s: %w", name, err)
		}
	}
	if p := predictionPlot(r); p != nil {
		var err error
		if files["prediction.svg"], err = draws(p); err != nil {
			return nil, fmt.Errorf("plot of predictions: %w", err)
		}
	}
	return files, nil
}

// draws makes an SVG file.
func draws(p *plot.Plot) ([]byte, error) {
	c := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(c))
	var b bytes.Buffer
	_, err := c.WriteTo(&b)
	return b.Bytes(), err
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = vg.Points(6)
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	return p
}

// decades marks 1, 2 and 5 of each power of ten.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(least, most float64) []plot.Tick {
	var ticks []plot.Tick
	for power := 1e-3; power <= 1e4; power *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if v := n * power; v >= least && v <= most {
				ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 3, 64)})
			}
		}
	}
	return ticks
}

// powers marks powers of two.
type powers struct{}

// Ticks implements plot.Ticker.
func (powers) Ticks(least, most float64) []plot.Tick {
	var ticks []plot.Tick
	for v := 1.; v <= most; v *= 2 {
		if v >= least {
			ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'g', 4, 64)})
		}
	}
	return ticks
}

// add puts lines into a plot, which it returns if there are any.
func add(p *plot.Plot, all []series) *plot.Plot {
	var drawn *plot.Plot
	for i, s := range all {
		if len(s.points) == 0 {
			continue
		}
		drawn = p
		line, dots := &plotter.Line{XYs: s.points, LineStyle: plotter.DefaultLineStyle}, &plotter.Scatter{XYs: s.points, GlyphStyle: plotter.DefaultGlyphStyle}
		line.Color, line.Width = plotutil.Color(i), vg.Points(lineWidth)
		dots.Color, dots.Shape, dots.Radius = plotutil.Color(i), plotutil.Shape(i), vg.Points(3)
		if s.name == floorName {
			line.Dashes = plotutil.Dashes(1)
		}
		p.Add(line, dots)
		p.Legend.Add(s.name, line, dots)
	}
	return drawn
}

const floorName = "floor"

// sizePlot shows time against size of state, one line a mode; nil if nothing was
// measured.
func sizePlot(r Report, s Setup) *plot.Plot {
	p := newPlot(s.Title, "state, MiB", "from plan to resumed, s")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powers{}, decades{}
	p.Legend.Top, p.Legend.Left = false, false
	all := []series{{name: floorName}}
	for _, mode := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree, sr3.Auto, Redis} {
		one := series{name: string(mode)}
		for _, x := range r.Results {
			if x.Setup != s.Name || x.Mode != mode || x.Cold {
				continue
			}
			one.points = append(one.points, plotter.XY{X: float64(x.MiB), Y: x.Seconds})
			if mode == sr3.Star {
				all[0].points = append(all[0].points, plotter.XY{X: float64(x.MiB), Y: x.Floor})
			}
		}
		all = append(all, one)
	}
	return add(p, all)
}

// countPlot shows time against a number of failures, one line a mode; nil if
// nothing was measured.
func countPlot(r Report, s Setup, label string, of func(Result) int) *plot.Plot {
	p := newPlot(s.Title, label, "from plan to resumed, s")
	all := []series{{name: floorName}}
	ticks := make(plot.ConstantTicks, 0)
	for _, mode := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree} {
		one := series{name: string(mode)}
		for _, x := range r.Results {
			if x.Setup != s.Name || x.Mode != mode {
				continue
			}
			n := float64(of(x))
			one.points = append(one.points, plotter.XY{X: n, Y: x.Seconds})
			if mode == sr3.Star {
				ticks = append(ticks, plot.Tick{Value: n, Label: strconv.Itoa(of(x))})
				all[0].points = append(all[0].points, plotter.XY{X: n, Y: x.Floor})
			}
		}
		all = append(all, one)
	}
	p.X.Tick.Marker = ticks
	if add(p, all) == nil {
		return nil
	}
	p.Y.Min = 0
	return p
}

// predictionPlot shows predicted against measured time, one dot a result; nil if
// there is none.
func predictionPlot(r Report) *plot.Plot {
	p := newPlot("prediction against measurement", "measured, s", "predicted, s")
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	var ends []float64
	for i, mode := range []sr3.Mode{sr3.Star, sr3.Line, sr3.Tree} {
		dots := &plotter.Scatter{GlyphStyle: plotter.DefaultGlyphStyle}
		dots.Color, dots.Shape, dots.Radius = plotutil.Color(i+1), plotutil.Shape(i+1), vg.Points(3)
		for _, x := range r.Results {
			if x.Mode == mode && !x.Cold && x.Predicted > 0 && x.Seconds > 0 {
				dots.XYs = append(dots.XYs, plotter.XY{X: x.Seconds, Y: x.Predicted})
				ends = append(ends, x.Seconds, x.Predicted)
			}
		}
		if len(dots.XYs) > 0 {
			p.Add(dots)
			p.Legend.Add(string(mode), dots)
		}
	}
	if len(ends) == 0 {
		return nil
	}
	same := &plotter.Line{LineStyle: plotter.DefaultLineStyle, XYs: plotter.XYs{
		{X: slices.Min(ends), Y: slices.Min(ends)}, {X: slices.Max(ends), Y: slices.Max(ends)},
	}}
	same.Dashes = plotutil.Dashes(1)
	p.Add(same)
	p.Legend.Add("equal", same)
	return p
}
