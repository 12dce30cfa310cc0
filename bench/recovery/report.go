package recovery

import (
	"cmp"
	"slices"

	"github.com/stormring/stormring/bench"
	sr3 "github.com/stormring/stormring/sr3/recovery"
)

// Report is what Run returns, and what is kept as JSON.
type Report struct {
	Machine bench.Machine `json:"machine"`
	// Setups are those that were measured.
	Setups  []Setup  `json:"setups"`
	Results []Result `json:"results"`
	// Loopback is without links.
	Loopback []Loopback `json:"loopback"`
}

// Redis is the Mode of a Result that was restored from one Redis server.
const Redis sr3.Mode = "redis"

// Result is one mode in one set-up: the median of the runs, with its parts. Times
// are seconds, rates and bytes those of one owner.
type Result struct {
	Setup string   `json:"setup"`
	MiB   int      `json:"mib"`
	Mode  sr3.Mode `json:"mode"`
	// Cold says that the worker was new and had not measured any link itself, which is of
	// interest to auto.
	Cold bool `json:"cold,omitempty"`
	// Owners recovered at once, each on a host of its own; Killed holders were
	// unplugged when a third was there.
	Owners int    `json:"owners"`
	Killed int    `json:"killed"`
	Date   string `json:"date"`
	// Taken is the mode that was taken, Reason why.
	Taken  sr3.Mode `json:"taken,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Seconds are from the plan to the resumed task, of the last owner; All are
	// those of the runs.
	Seconds float64   `json:"seconds"`
	All     []float64 `json:"all"`
	Place   float64   `json:"place"`
	Fetch   float64   `json:"fetch"`
	Rebuild float64   `json:"rebuild"`
	Resume  float64   `json:"resume"`
	// Predicted is what the cost model said of it, Floor what the links allow.
	Predicted float64 `json:"predicted,omitempty"`
	Floor     float64 `json:"floor"`
	// Bytes came in, of which Wasted twice or in vain; Stored is what the folded
	// state has at rest.
	Bytes   int64 `json:"bytes"`
	Wasted  int64 `json:"wasted,omitempty"`
	Stored  int64 `json:"stored"`
	Replans int   `json:"replans,omitempty"`
	Streams int   `json:"streams,omitempty"`
	// Load is the machine's load average over the minute before.
	Load float64 `json:"load,omitempty"`
}

// Loopback is a recovery over the loopback device, by nodes that are processes of
// the same machine.
type Loopback struct {
	MiB  int    `json:"mib"`
	Date string `json:"date"`
	// Load is the machine's load average over the minute before the measurement.
	Load float64 `json:"load"`
	// Seconds are from the plan to the resumed task, Floor from the first
	// connection to the last byte of as many bytes over plain TCP into memory.
	Seconds float64   `json:"seconds"`
	All     []float64 `json:"all"`
	Bytes   int64     `json:"bytes"`
	Floor   float64   `json:"floor"`
	// First is from making the client to the first value read, on demand.
	First float64 `json:"first"`
	// Ready is the part of First until the task could execute; the rest is waiting
	// for the shard of that value.
	Ready    float64   `json:"ready"`
	AllFirst []float64 `json:"all_first"`
	// Target and FirstTarget are what they should stay below.
	Target      float64 `json:"target,omitempty"`
	FirstTarget float64 `json:"first_target"`
}

// key is what results of the same thing share.
type key struct {
	setup          string
	mib            int
	mode           sr3.Mode
	cold           bool
	owners, killed int
}

func (r *Result) key() key { return key{r.Setup, r.MiB, r.Mode, r.Cold, r.Owners, r.Killed} }

// Merge puts newer results over older ones.
func Merge(older, newer Report) Report {
	r := Report{Machine: newer.Machine}
	fresh := make(map[key]bool)
	for i := range newer.Results {
		fresh[newer.Results[i].key()] = true
	}
	for _, old := range older.Results {
		if !fresh[old.key()] {
			r.Results = append(r.Results, old)
		}
	}
	r.Results = append(r.Results, newer.Results...)
	for _, s := range Setups() {
		measured := func(x Setup) bool { return x.Name == s.Name }
		if slices.ContainsFunc(older.Setups, measured) || slices.ContainsFunc(newer.Setups, measured) {
			r.Setups = append(r.Setups, s)
		}
	}
	for _, old := range older.Loopback {
		if !slices.ContainsFunc(newer.Loopback, func(l Loopback) bool { return l.MiB == old.MiB }) {
			r.Loopback = append(r.Loopback, old)
		}
	}
	r.Loopback = append(r.Loopback, newer.Loopback...)
	slices.SortFunc(r.Loopback, func(a, b Loopback) int { return cmp.Compare(a.MiB, b.MiB) })
	r.sort()
	return r
}

// modeOrder is the order in which modes are shown.
func modeOrder(m sr3.Mode) int {
	return slices.Index([]sr3.Mode{sr3.Star, sr3.Line, sr3.Tree, sr3.Auto, Redis}, m)
}

func (r *Report) sort() {
	place := make(map[string]int)
	for i, s := range Setups() {
		place[s.Name] = i
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int {
		return cmp.Or(
			cmp.Compare(place[a.Setup], place[b.Setup]), cmp.Compare(a.MiB, b.MiB), cmp.Compare(a.Owners, b.Owners),
			cmp.Compare(a.Killed, b.Killed), cmp.Compare(modeOrder(a.Mode), modeOrder(b.Mode)), cold(b)-cold(a))
	})
}

func cold(r Result) int {
	if r.Cold {
		return 1
	}
	return 0
}

// medianOf gives the run with the median time.
func medianOf(runs []Result) Result {
	slices.SortFunc(runs, func(a, b Result) int { return cmp.Compare(a.Seconds, b.Seconds) })
	m := runs[(len(runs)-1)/2]
	m.All = nil
	for _, r := range runs {
		m.All = append(m.All, r.Seconds)
	}
	return m
}
