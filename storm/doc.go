// Package storm is what the author of a topology touches.
//
// A topology is a graph of spouts, which emit tuples, and bolts, which process
// them. Put it together with a TopologyBuilder, beginning at SetSpout and
// SetBolt; write bolts as BasicBolt unless they join, window or ack later.
// The package example is a whole topology. Names and meanings are those of
// Apache Storm, so that its documentation holds here too; where Go wants it
// otherwise the comment says so.
//
// # Values and tuples
//
// A Tuple is a struct of Values, passed by value. Keep a copy as long as you
// like: nothing in it changes. Make values with String, Int, Float, Bool,
// Bytes, List and Map; Any takes everything else and is slower.
//
// # Threads
//
// All methods of one component instance run on one goroutine, and collectors
// belong to it. From any other goroutine, hand a function to the collector's
// Do: it runs where Execute runs.
//
// # Reliability
//
// A tuple that a spout emits with EmitTracked starts a tree. Tuples that bolts
// emit anchored to it join the tree. When all are acked the spout's Ack is
// called; when one is failed, or the message time-out passes, Fail is called
// and the spout may emit it again: every tracked tuple is processed at least
// once.
package storm
