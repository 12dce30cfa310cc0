// Package adapters tests the adapters for other languages, which lie beside it
// in python, node, ruby and posix, each with its real interpreter. A test plays
// the worker: it speaks the protocol over pipes and compares every message.
//
// Begin at language_test.go, which says what there is, and bolt_test.go. The
// components that the tests run are in testdata. Interpreters that are missing
// are installed by scripts/interpreters; if they cannot be, tests are skipped,
// or fail if CI is set.
package adapters
