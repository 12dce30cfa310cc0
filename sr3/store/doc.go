// Package store keeps what one ring node holds on disk: objects, manifests and
// fences, in one goleveldb database. What it has acknowledged is fsynced.
//
// Where to start: [Open], then Store.Put and Store.Get. record.go has the
// layout of bytes.
//
// # A log inside leveldb
//
// All that is written is a record: a run of keys that start with a number that
// only grows, chunks of 256 KiB first, a head last. A record without a head is
// none. Deleting writes a record too, one that lists numbers. So keys come in
// ascending order, the tables of leveldb never overlap, and its compaction moves
// them down without reading them: every byte is written twice, to the journal
// and to a table, and never again while its neighbourhood lives. The price is
// that garbage must be looked for: clean.go takes away the stretches of the log
// that are dead for the most part.
//
// What is where is known in memory (index.go), about 200 bytes an object.
//
// # One writer
//
// A single goroutine, the committer (commit.go), decides and writes; callers of
// writing methods wait for it. It takes whatever waits into one batch with one
// fsync. Readers never wait for it.
//
// # Trouble
//
// After a failed write goleveldb writes nothing more until it is opened anew.
// The committer does that (heal.go), as soon as a trial file can be written; until
// then writes fail with a reason, and reads go on.
//
// On a full disk even deletions need room at first. It comes from a reserve
// (reserve.go), up to 96 MiB of files that hold nothing: with them gone, what deletes
// is written, and garbage is cleaned away, until the reserve is whole again and all
// others may write.
package store
