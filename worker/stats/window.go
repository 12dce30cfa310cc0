package stats

import "time"

// A window is not a row of buckets that are added up. All counters only grow;
// a mark is a copy of them at the end of a bucket, and what happened in a
// window is the difference between now and the mark at which the window
// began. So the writer touches one counter whatever the number of windows,
// and rotating is copying.

// mark holds the values of growing counters at a moment. It is never changed.
type mark[T any] struct {
	at   time.Duration // since the start of the executor
	vals []T
}

// baseIndex is the mark at which a window that reaches back to horizon begins:
// the newest that is not younger than horizon, or the oldest there is. marks
// is not empty and ordered by time.
func baseIndex[T any](marks []mark[T], horizon time.Duration) int {
	for i := len(marks) - 1; i > 0; i-- {
		if marks[i].at <= horizon {
			return i
		}
	}
	return 0
}

// due tells whether a bucket of length step has ended since the newest mark. A
// bucket ends at the first Tick at or after a multiple of step, so buckets do
// not drift.
func due[T any](marks []mark[T], now, step time.Duration) bool {
	newest := marks[len(marks)-1].at
	return now > newest && now/step != newest/step
}

// rotate adds a mark if one is due, and drops those that no window of the
// given length needs any more. take copies the counters. marks itself is left
// as it is, since readers may hold it.
//
// Ticks that come too late make buckets longer, hence windows: nothing ever
// leaves a window too early.
func rotate[T any](marks []mark[T], now, length, step time.Duration, take func() []T) []mark[T] {
	if !due(marks, now, step) {
		return marks
	}
	kept := marks[baseIndex(marks, now-length):]
	next := make([]mark[T], 0, len(kept)+1)
	next = append(next, kept...)
	return append(next, mark[T]{at: now, vals: take()})
}
