package demo

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Result is what a demonstration has shown. Times are milliseconds.
type Result struct {
	Hosts    int `json:"hosts"`
	Replicas int `json:"replicas"`
	// Corpus says what text was counted.
	Corpus string `json:"text"`
	// Keys and StateBytes are the state before the first loss.
	Keys       int64   `json:"keys"`
	StateBytes int64   `json:"stateBytes"`
	Rounds     []Round `json:"rounds"`
	Proof      Proof   `json:"proof"`
	TookMS     float64 `json:"tookMs"`
}

// Round is one recovery. The five steps are one after another; FirstMS is their
// sum.
type Round struct {
	Mode string `json:"mode"`
	// Reason and Receiver are those of the plan.
	Reason   string `json:"reason"`
	Receiver string `json:"receiver"`
	// Killed are the hosts, Processes all processes that were killed.
	Killed    []string `json:"killed"`
	Processes []int    `json:"processes"`
	// DetectMS is from the kill until nimbus had given the work to another host,
	// PlaceMS until that had started a worker, found the manifest and made the
	// plan. FetchMS and RebuildMS overlap, the second is what comes after the last
	// byte. ResumeMS is until the first word was counted.
	DetectMS  float64 `json:"detectMs"`
	PlaceMS   float64 `json:"placeMs"`
	FetchMS   float64 `json:"fetchMs"`
	RebuildMS float64 `json:"rebuildMs"`
	ResumeMS  float64 `json:"resumeMs"`
	FirstMS   float64 `json:"firstMs"`
	// PredictedMS stands beside FetchMS + RebuildMS.
	PredictedMS float64 `json:"predictedMs"`
	// Bytes came in for the state, of StateBytes in memory.
	Bytes      int64 `json:"bytes"`
	Shards     int   `json:"shards"`
	Keys       int64 `json:"keys"`
	StateBytes int64 `json:"stateBytes"`
	// Words were in the last commit, and are in the state that came back.
	Words int64 `json:"words"`
	// RepairMS is from the return of the hosts until no copy was missing.
	RepairMS float64 `json:"repairMs"`
}

// Proof is the comparison of all counts with those of the demonstration's own.
type Proof struct {
	// Made is false if it did not come to that.
	Made  bool  `json:"made"`
	Keys  int64 `json:"keys"`
	Words int64 `json:"words"`
	Wrong int64 `json:"wrong"`
	// Examples are some of the wrong ones.
	Examples []string `json:"examples,omitempty"`
}

// Text writes the table for people.
func (r Result) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "MODE\tDETECT\tPLACE\tFETCH\tREBUILD\tRESUME\tFIRST TUPLE\tBYTES\tSTATE\tPREDICTED\tREPAIR\t")
	for _, d := range r.Rounds {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", d.Mode, seconds(d.DetectMS), seconds(d.PlaceMS), seconds(d.FetchMS),
			seconds(d.RebuildMS), seconds(d.ResumeMS), seconds(d.FirstMS), size(d.Bytes), size(d.StateBytes), seconds(d.PredictedMS), seconds(d.RepairMS))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if !r.Proof.Made {
		return nil
	}
	if r.Proof.Wrong > 0 {
		fmt.Fprintf(w, "\n%d of %s counts are WRONG:\n", r.Proof.Wrong, count(r.Proof.Keys))
		for _, e := range r.Proof.Examples {
			fmt.Fprintf(w, "  %s\n", e)
		}
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s keys, all counts right (%s words, counted again by this process)\n", count(r.Proof.Keys), count(r.Proof.Words))
	return err
}

func seconds(ms float64) string { return fmt.Sprintf("%.2f s", ms/1000) }

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	default:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
}

// count is a number with its thousands apart.
func count(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
