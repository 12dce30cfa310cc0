// Package blobstore keeps blobs on a nimbus's disk: the jars, code and
// configuration of topologies and what users put beside them.
//
// Begin at [Open] and [Store]. There are four ways in:
//
//   - direct.go: what nimbus itself does: Put, Get, Delete and so on.
//   - session.go: what clients do over Thrift in small steps: create, update,
//     download, list.
//   - inbox.go: jars of topologies that are about to be submitted.
//   - replicator.go: blobs of other nimbuses; what is to be done is decided in
//     plan.go.
//
// On disk, Dir/blobs has two files for each blob: <name>.meta, which says all
// about it, and <name>.<version>.blob, its content. The rename of the meta
// file is what makes a change: before it the old blob is there, after it the
// new one (commit.go). What a crash leaves behind is swept by Open.
//
// A change that fails with [ErrUncertain] can be seen; with any other error it
// has not happened.
//
// The package starts no goroutine. Nimbus calls [Store.Sweep] now and then.
package blobstore
