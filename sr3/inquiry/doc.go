// Package inquiry asks the nodes of the ring what people want to know, and has
// package overview make pictures of the answers. It changes nothing.
//
// Start at Open (inquiry.go). Any one address will do to begin with: whom a node
// names is asked too (crawl.go), each with a time limit of its own, so that a node
// that is away costs no more than that.
package inquiry
