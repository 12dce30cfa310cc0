// Package advertising is the well-known streaming benchmark about advertising:
// it counts how often the ads of each campaign were viewed in each ten seconds,
// and keeps the counts as state, so that they are exact whatever dies.
//
// Begin at Definition and build. The way of an event:
//
//	events ─► parse ─► filter ─► project ─┬─► join ─► count      by campaign
//	 spout      │      views              └─► users              by user, with --users
//	            └─► rejects ◄── (join)                           by reason
//
// events makes the lines (generator.go); event n of a seed is always the same,
// so the spout's state is only a position, and going back means to set it
// (spout.go). count, users and rejects are stateful bolts (count.go, tally.go).
// All state is saved in the same checkpoints, so each event has its effect once:
// what was counted after the last checkpoint is forgotten, and its events come
// again.
//
// Time is event time. A view belongs to the window in which it happened, and a
// window ends LatenessMillis after its last moment, by the time at which the
// source took the event in. As both times are part of the event, it does not
// depend on speed, parallelism or failures whether a view is late; late ones
// are counted too, for their campaign.
//
// How to run it:
//
//	stormring local advertising --events 1000000 --check
//	stormring local advertising --users 1000000 --format json
//	stormring submit advertising --events 0 --rate 50000 --output /shared/counts
//
// Expected says what the counts must be, and ReadCounts what a topology with
// --output has written, so that tests may kill what they like and compare.
package advertising
