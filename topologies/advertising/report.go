package advertising

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// maxDifferences is how many differences --check tells.
const maxDifferences = 10

// report prints the counts, and checks them if that was asked for.
func (o *options) report(j *job, w io.Writer, partial bool) error {
	c, err := j.counts()
	if err != nil {
		return err
	}
	if o.format == formatJSON {
		err = writeLines(w, nil, c)
	} else {
		err = writeTable(w, c)
	}
	if err != nil {
		return fmt.Errorf("advertising: print the result: %w", err)
	}
	if !o.check {
		return nil
	}
	if partial {
		return errors.New("advertising: the run was stopped before its end, so that --check cannot tell whether the counts are right")
	}
	if wrong := c.Diff(o.data.Expected(), maxDifferences); len(wrong) > 0 {
		return fmt.Errorf("advertising: the counts are wrong:\n  %s", strings.Join(wrong, "\n  "))
	}
	if o.format == formatTable {
		fmt.Fprintf(w, "OK: %d events, all counts are right\n", o.data.Events)
	}
	return nil
}

// windows are the windows, sorted by time and campaign.
func (c Counts) windows() []Window {
	return slices.SortedFunc(maps.Keys(c.Views), compareWindows)
}

// writeTable is for people: a row a window, with all campaigns together.
func writeTable(w io.Writer, c Counts) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "WINDOW\tCAMPAIGNS\tVIEWS\tMOST VIEWED\tVIEWS\t")
	var campaigns, views, total int64
	var best Window
	all := c.windows()
	for i, win := range all {
		campaigns++
		views += c.Views[win]
		if campaigns == 1 || c.Views[win] > c.Views[best] {
			best = win
		}
		if i+1 < len(all) && all[i+1].Start == win.Start {
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%d\t\n", time.UnixMilli(win.Start).UTC().Format(time.DateTime), campaigns, views, best.Campaign, c.Views[best])
		total += views
		campaigns, views = 0, 0
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "%d views in time, %d late\n", total, sum(c.Late)); err != nil {
		return err
	}
	for _, reason := range sorted(c.Rejected) {
		if _, err := fmt.Fprintf(w, "%d lines rejected: %s\n", c.Rejected[reason], reason); err != nil {
			return err
		}
	}
	if len(c.Users) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%d users with %d views\n", len(c.Users), sum(c.Users))
	return err
}

func sum(m map[string]int64) int64 {
	total := int64(0)
	for _, n := range m {
		total += n
	}
	return total
}
