// Package peers tests multilang with the libraries that authors have: Storm's
// own storm.py, storm.js and storm.rb, out of the jars of two releases, and
// pystorm from PyPI. They are taken as they are and run in their real
// interpreters.
//
// Begin at peers_test.go, which says what there is, and storm_test.go. The
// components that the tests run are in testdata; rig_test.go is a task that
// records what they do, and words_test.go has them in whole topologies.
// scripts/peers fetches the libraries. If it cannot, tests are skipped, or fail
// if CI is set.
package peers
