package command

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stormring/stormring/local"
)

// progressLine tells what a run has done, and how fast since last.
func progressLine(p, last local.Progress) string {
	var parts []string
	if p.Read >= 0 {
		parts = append(parts, fmt.Sprintf("%3.0f %% read", math.Floor(100*p.Read)))
	}
	rate := 0.0
	// A worker that is started anew counts from 0 again.
	if span := (p.Elapsed - last.Elapsed).Seconds(); span > 0 && p.Executed > last.Executed {
		rate = float64(p.Executed-last.Executed) / span
	}
	parts = append(parts, perSecond(rate), fmt.Sprintf("%d pending", p.Pending))
	if p.P50 > 0 {
		parts = append(parts, fmt.Sprintf("latency p50 %s p99 %s", round(p.P50), round(p.P99)))
	}
	if p.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", p.Failed))
	}
	return strings.Join(parts, ", ")
}

// summary is progress at the end of a run.
func summary(res local.Result) string {
	p := res.Totals
	text := fmt.Sprintf("%d tuples executed in %s", p.Executed, round(res.Took))
	if s := res.Took.Seconds(); s > 0 {
		text += ", " + perSecond(float64(p.Executed)/s)
	}
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d trees failed", p.Failed)
	}
	if res.Restarts > 0 {
		text += fmt.Sprintf(", workers restarted %d times", res.Restarts)
	}
	return text
}

// perSecond shows a rate with three digits.
func perSecond(rate float64) string {
	switch {
	case rate >= 999.5e3:
		return significant(rate/1e6) + " M tuples/s"
	case rate >= 9999.5:
		return significant(rate/1e3) + " k tuples/s"
	default:
		return fmt.Sprintf("%.0f tuples/s", rate)
	}
}

// significant shows x, at least 1, with three digits, or as a whole number if
// it has more.
func significant(x float64) string {
	switch {
	case x < 9.995:
		return fmt.Sprintf("%.2f", x)
	case x < 99.95:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.0f", x)
	}
}

// round keeps three digits or so of a duration.
func round(d time.Duration) time.Duration {
	for unit := time.Second; unit >= time.Microsecond; unit /= 10 {
		if d >= unit*10 {
			return d.Round(unit / 10)
		}
	}
	return d.Round(10 * time.Nanosecond)
}
