// Package worker runs the share of a topology that one slot has been given:
// its executors, the connections to the topology's other workers, the timers
// of time-outs and ticks, the statistics and the error reports.
//
// Begin at New and Worker.Run. build.go joins executors with each other from a
// layout, remote.go joins them with those of other workers, pulse.go is the
// only clock.
package worker
