package protocol

import (
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// NodeStatus is a node's account of itself.
type NodeStatus struct {
	Node      ring.Node `json:"node"`
	Joined    bool      `json:"joined"`
	Complete  bool      `json:"complete"`
	Positions []uint64  `json:"positions"`
	// Members are the nodes that it knows, the dead that are remembered included.
	Members []MemberStatus `json:"members"`
	Owners  []OwnerStatus  `json:"owners"`
	// Objects, Bytes and DiskBytes are what the store has and takes.
	Objects   int   `json:"objects"`
	Bytes     int64 `json:"bytes"`
	DiskBytes int64 `json:"diskBytes"`
	// UnderReplicated are copies that should be here and are not yet, and shards
	// that the ring has too few hosts for.
	UnderReplicated int `json:"underReplicated"`
	// Repaired and Damaged count objects since the start: fetched from others,
	// and found damaged here.
	Repaired int64 `json:"repaired"`
	Damaged  int64 `json:"damaged"`
	// Recoveries are the streams of recoveries that it serves now.
	Recoveries int `json:"recoveries"`
	// Dropped counts messages of the ring that there was no room for; they are
	// repeated.
	Dropped int64 `json:"dropped"`
	// Trouble says what is wrong with the store, "" if nothing.
	Trouble string       `json:"trouble,omitempty"`
	Peers   []PeerStatus `json:"peers"`
	// Link is what the node and the workers of its host have measured.
	Link Link `json:"link,omitzero"`
}

// MemberStatus is what a node believes of another.
type MemberStatus struct {
	ring.Node
	Status      string  `json:"status"`
	RoundTripMS float64 `json:"roundTripMs"`
}

// PeerStatus is what was measured on the way to another node; 0 is unknown.
type PeerStatus struct {
	Addr  string  `json:"addr"`
	RTTMS float64 `json:"rttMs"`
	// SendRate and ReceiveRate are bytes a second.
	SendRate    float64 `json:"sendRate"`
	ReceiveRate float64 `json:"receiveRate"`
	// ReceiveBest is the best that came in the last minutes, ReceiveTotal what came
	// from all others together in the same moment.
	ReceiveBest  float64 `json:"receiveBest,omitempty"`
	ReceiveTotal float64 `json:"receiveTotal,omitempty"`
}

// OwnerStatus is what a node has of one task's state.
type OwnerStatus struct {
	Owner shard.Owner `json:"owner"`
	// Version is the newest that it has a manifest of, Committed what the commit
	// record says.
	Version   shard.Version `json:"version"`
	Committed shard.Version `json:"committed"`
	Shards    int           `json:"shards"`
	Objects   int           `json:"objects"`
	Bytes     int64         `json:"bytes"`
	// Missing are copies that should be here and are not.
	Missing int `json:"missing"`
}

// TaskReport is what a worker says of the state of one of its tasks. Times are
// unix milliseconds and milliseconds.
type TaskReport struct {
	Owner    shard.Owner   `json:"owner"`
	AtMillis int64         `json:"atMillis"`
	Mode     recovery.Mode `json:"mode"`
	Resume   string        `json:"resume"`
	Replicas int           `json:"replicas"`
	// Keys and Bytes are the state in memory.
	Keys  int64 `json:"keys"`
	Bytes int64 `json:"bytes"`
	// Checkpoint is the last one that was saved, Failed why the newest was not,
	// "" if it was.
	Checkpoint Checkpoint `json:"checkpoint"`
	Failed     string     `json:"failed,omitempty"`
	// Recoveries are the last ones, the newest last.
	Recoveries []Recovery `json:"recoveries"`
	// Link is what the worker has measured of its host.
	Link Link `json:"link,omitzero"`
}

// Checkpoint is one saved version of one task.
type Checkpoint struct {
	Version    shard.Version `json:"version"`
	AtMillis   int64         `json:"atMillis"`
	DurationMS float64       `json:"durationMs"`
	FreezeMS   float64       `json:"freezeMs"`
	Objects    int           `json:"objects"`
	// Bytes were written once, to each of the holders.
	Bytes int64 `json:"bytes"`
	// Shards and Stored are those of the whole version.
	Shards int   `json:"shards"`
	Stored int64 `json:"stored"`
	// Nodes have something of it, and how many bytes.
	Nodes map[shard.NodeID]int64 `json:"nodes"`
	// Short counts shards with fewer copies than wanted.
	Short int `json:"short"`
}

// Recovery is one recovery of one task.
type Recovery struct {
	AtMillis int64 `json:"atMillis"`
	// Running tells that it is under way.
	Running bool `json:"running"`
	// WaitsFor says what it waits for that nobody has, "" if nothing.
	WaitsFor string `json:"waitsFor,omitempty"`
	recovery.Report
	// FirstMS is from its start until the task could execute.
	FirstMS float64 `json:"firstMs"`
}

// Reports are those of one topology.
type Reports struct {
	Reports []TaskReport `json:"reports"`
}
