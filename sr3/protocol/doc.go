// Package protocol is what nodes and workers of SR3 say to each other: the
// methods, their requests and answers, and the frames of a stream of shards. It
// only writes and reads bytes; package transport carries them, sr3/node answers,
// sr3/client asks.
//
// Start at method.go. What is said once a checkpoint or less is JSON, whose fields
// may be added to; shards travel in frames (frame.go) whose bytes nobody copies.
package protocol
