// Package client is the worker's side of the ring: it saves the state of a
// worker's tasks at the holders and brings it back.
//
// Start at [Client] (client.go), which a worker has one of, and at [Task]
// (task.go), the state of one task: a table in memory that the task reads and
// writes, frozen by Save and replaced by Load. What decides lies elsewhere: shard
// makes objects and manifests, ring says where they belong, recovery who sends
// what. Here is what talks to the nodes:
//
//   - save.go, deliver.go, putter.go: objects to their holders, as they are made;
//     then the manifest. A holder that fails is passed over for the next host.
//   - fold.go: after a commit, holders fold chains that became long.
//   - load.go: fence, find the manifest (find.go), ask who has what (survey.go),
//     plan, fetch.
//   - fetch.go: the tracker of the recovery, executed; inflow.go: one stream of it,
//     whose bytes land where they stay; install.go: parts to shards of a table;
//     hurry.go: a shard that the task waits for goes before all else.
//   - view.go: who is on the ring, asked every second; rates.go: what this worker has
//     measured of links. Package evidence makes of that and of what nodes say the
//     input of a plan.
//
// # Goroutines
//
// Methods of a Task are called on the task's goroutine and never wait for the
// network, but for Get, Put, Delete, All and Len of a state that resumes on demand,
// which wait for the shards that they need. All else runs on goroutines that belong
// to the Task or the Client and end with them. What they have for the task's
// goroutine, they hand over through TaskOptions.Post, or to a Get that waits.
//
// # What a save is worth
//
// A version is safe when each of its objects, and its manifest, are on the disks of
// as many different hosts as there are replicas wanted, or as there are hosts that
// answer. Nobody needs to agree on a manifest: a node never takes another one of
// the same owner and version, and versions name their era.
package client
