// Package stats counts what the executors of a worker do, in the shape in
// which Storm reports it: per output stream, per input stream, over the last
// ten minutes, three hours, day and all time.
//
// Start at [Executor]: the executor's goroutine feeds one by index, once a
// batch; the worker calls [Executor.Tick] every few seconds; whoever reports
// takes a [Snapshot]. [Aggregate], [ByComponent] and [Topology] add snapshots
// up as Storm's UI shows them.
//
// Counts are exact: every tuple counts. Latencies are made of those tuples
// that the executor chose to time; their means are per stream, their
// percentiles per executor.
//
// The package reads no clock, starts no goroutine and takes no lock.
package stats

import (
	"fmt"
	"time"
)

// The names under which Storm reports the windows; the numbers are seconds.
const (
	TenMinutes = "600"
	ThreeHours = "10800"
	OneDay     = "86400"
	AllTime    = ":all-time"
)

// windows are the lengths of the rotating windows. bucketsPerWindow is Storm's
// number and sets how precisely a window ends.
const (
	shortWindow      = 10 * time.Minute
	middleWindow     = 3 * time.Hour
	longWindow       = 24 * time.Hour
	bucketsPerWindow = 20
)

type window struct {
	name   string
	length time.Duration
}

// rotating are the windows besides AllTime, shortest first. The order is that
// of history.windows.
func rotating() [3]window {
	return [3]window{{TenMinutes, shortWindow}, {ThreeHours, middleWindow}, {OneDay, longWindow}}
}

// Windows are the names of all windows, shortest first, AllTime last.
func Windows() []string { return []string{TenMinutes, ThreeHours, OneDay, AllTime} }

// Input names a stream that a bolt subscribes to.
type Input struct {
	Component string // who emits it
	Stream    string
}

// String shows the input as "component:stream".
func (i Input) String() string { return i.Component + ":" + i.Stream }

// Spec says what there is to count in an executor. Positions in Outputs and
// Inputs are the indices that the methods of Executor take.
type Spec struct {
	Component string
	// Spout tells that tuple trees start here: then complete latency is kept,
	// otherwise execute and process latency.
	Spout   bool
	Outputs []string // stream ids, each once
	Inputs  []Input  // each once
}

// check panics if two indices would count under the same name: the worker
// makes Specs from a checked topology.
func (s *Spec) check() {
	outs := make(map[string]bool, len(s.Outputs))
	for _, o := range s.Outputs {
		if outs[o] {
			panic(fmt.Sprintf("stats: output stream %q of component %q is listed twice", o, s.Component))
		}
		outs[o] = true
	}
	ins := make(map[Input]bool, len(s.Inputs))
	for _, in := range s.Inputs {
		if ins[in] {
			panic(fmt.Sprintf("stats: input %q of component %q is listed twice", in, s.Component))
		}
		ins[in] = true
	}
}
