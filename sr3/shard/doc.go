// Package shard knows what the state of one task is made of: keys that fall
// into slots, slots that form shards, shards whose versions are stored as
// objects, and the manifest that names the objects of a version. It is pure:
// bytes in, bytes out; storing and sending them is for others.
//
// Where to start: [Table] is the state in memory. [Table.Freeze] gives a
// [Frozen], whose objects are what a checkpoint stores; [Manifest.Next] makes
// the manifest that names them. The way back is [Open] (and [Verify]), [Fold]
// and [Table.Load]. slot.go has the arithmetic of slots and ranges, names.go
// the nouns, entry.go and object.go the layout of bytes.
//
// # Life of a table
//
//	f := t.Freeze()                       // the task's goroutine; microseconds
//	f.Objects(codec, version, epoch, …)   // any goroutine, the task goes on
//	f.Release()                           // the task's goroutine again
//	t.Commit(f) or t.Rollback()           // as the topology decided
//
// A shard's entries are in cells, each with an append-only log, which is at once
// the arena that values live in, the list of what is dirty (its tail) and the
// undo log (what a rollback cuts off). See table.go and cell.go.
package shard
