package recovery

import (
	"github.com/stormring/stormring/sr3/protocol"
	sr3 "github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
)

// role is what a child is told first: one of its fields says what to be.
type role struct {
	Node   *nodeRole   `json:"node,omitempty"`
	Worker *workerRole `json:"worker,omitempty"`
	Source *sourceRole `json:"source,omitempty"`
}

// nodeRole is a ring node.
type nodeRole struct {
	ID      string `json:"id"`
	Addr    string `json:"addr"`
	Rack    string `json:"rack,omitempty"`
	Dir     string `json:"dir"`
	Records string `json:"records"` // the folder of the commit records
	Upkeep  bool   `json:"upkeep,omitempty"`
}

// workerRole is a worker: Nodes are ring nodes, that of its host first.
type workerRole struct {
	Nodes []string `json:"nodes"`
}

// sourceRole sends bytes over plain TCP to whoever asks.
type sourceRole struct {
	Addr string `json:"addr"`
}

// request asks a child for one thing: the first of its fields that is set.
type request struct {
	Seeds  []ring.Node   `json:"seeds,omitempty"` // of a node
	Status bool          `json:"status,omitempty"`
	Fill   *fillRequest  `json:"fill,omitempty"` // of a worker
	Load   *loadRequest  `json:"load,omitempty"`
	Store  *storeRequest `json:"store,omitempty"`
	Floor  *floorRequest `json:"floor,omitempty"`
}

// state names a state and says how to make it.
type state struct {
	Task  int32  `json:"task"`
	Bytes int64  `json:"bytes"`
	Seed  uint64 `json:"seed"`
}

// fillRequest has a state written and saved. Version 1 has all keys, later ones
// write Share of them anew. The task stays for the next version.
type fillRequest struct {
	state
	Version  int64   `json:"version"`
	Share    float64 `json:"share"`
	Replicas int     `json:"replicas"`
	// ShardKiB is the size that shards are kept near, 0 for the default.
	ShardKiB int `json:"shardKiB,omitempty"`
}

// loadRequest has a state brought back.
type loadRequest struct {
	state
	Version  int64      `json:"version"`
	Epoch    int64      `json:"epoch"`
	Replicas int        `json:"replicas"`
	Mode     sr3.Mode   `json:"mode"`
	Params   sr3.Params `json:"params"`
	// Mark, if above 0, has word sent when so much of the shards is installed.
	Mark float64 `json:"mark,omitempty"`
	// First has one key read as soon as possible, by a client that is made anew,
	// before all else comes.
	First bool `json:"first,omitempty"`
}

// storeRequest has a state put into the remote store, or brought back from there.
type storeRequest struct {
	state
	Addr string `json:"addr"`
	Put  bool   `json:"put"`
}

// floorRequest has bytes fetched into memory over several plain connections.
type floorRequest struct {
	Addr        string `json:"addr"`
	Bytes       int64  `json:"bytes"`
	Connections int    `json:"connections"`
}

// reply is a child's answer; with Mark it is not the answer, but word on the way to
// it, with those who have sent, most first.
type reply struct {
	Error  string             `json:"error,omitempty"`
	Mark   bool               `json:"mark,omitempty"`
	Sent   []string           `json:"sent,omitempty"`
	Self   ring.Node          `json:"self,omitzero"`
	Living int                `json:"living,omitempty"`
	Digest string             `json:"digest,omitempty"`
	Stored int64              `json:"stored,omitempty"`
	Took   float64            `json:"took,omitempty"` // seconds
	Entry  *protocol.Recovery `json:"entry,omitempty"`
}
