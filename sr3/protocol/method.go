package protocol

import (
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// The methods that a node answers, each with its request and answer. Those of
// workers and nodes:
const (
	// GetView asks who is on the ring: nothing, View.
	GetView byte = iota + 1
	// Fence refuses older epochs from now on: FenceRequest, nothing.
	Fence
	// ListManifests asks what versions are here: OwnerRequest, ManifestList.
	ListManifests
	// GetManifest asks for one: VersionRequest, the manifest as shard.Manifest
	// encodes it.
	GetManifest
	// PutManifest stores one for good: the manifest as it is encoded, nothing.
	PutManifest
	// Have asks which objects of a version are here: VersionRequest, HaveAnswer.
	Have
	// HaveObjects asks the same of named objects: Refs, HaveObjectsAnswer.
	HaveObjects
	// Fold asks to fold a chain and keep the base beside it: Refs (the chain, base
	// first), the base's shard.Ref without holders.
	Fold
	// Offer tells that a version exists which the node should know: VersionRequest,
	// nothing. It asks for the manifest itself.
	Offer
	// GetRecord reads a topology's commit record: TopologyRequest, Record.
	GetRecord
	// SwapRecord replaces it: SwapRequest, SwapAnswer.
	SwapRecord
	// PutReport leaves word of a task for people: TaskReport, nothing.
	PutReport
)

// The methods of people and their tools:
const (
	// GetStatus asks for a node's own account: nothing, NodeStatus.
	GetStatus byte = iota + 64
	// LookupKey searches the successor of a key: LookupRequest, LookupAnswer.
	LookupKey
	// GetReports asks for what tasks of a topology reported here: TopologyRequest,
	// Reports.
	GetReports
)

// The streams that a node serves.
const (
	// PutObjects brings objects (PutHeader): for each a message with its encoded
	// Ref and messages with its bytes, in order; see Putter. The node's clean end
	// says that all is safe.
	PutObjects byte = iota + 128
	// FetchShards asks for shards (FetchHeader); see frame.go.
	FetchShards
	// FetchObject asks for one object as it is stored: a shard.Ref as header,
	// answered in chunks (Frame), for repair.
	FetchObject
)

// Codes of errors, as transport carries them.
const (
	// CodeFenced: a later placement of the owner is at work; stop.
	CodeFenced uint16 = iota + 1
	// CodeNotFound: it is not here; ask another node.
	CodeNotFound
	// CodeConflict: there is another one of this name already.
	CodeConflict
	// CodeFull: the node cannot write; take another one.
	CodeFull
	// CodeUnavailable: the node cannot tell now, the coordination store is away
	// say; try again.
	CodeUnavailable
	// CodeInvalid: the request makes no sense.
	CodeInvalid
)

// View is the ring as a node sees it.
type View struct {
	Self  ring.Node   `json:"self"`
	Nodes []ring.Node `json:"nodes"`
	// Complete tells whether Nodes are all.
	Complete bool `json:"complete"`
}

// OwnerRequest names a task.
type OwnerRequest struct {
	Owner shard.Owner `json:"owner"`
}

// FenceRequest asks to refuse what is older than Epoch.
type FenceRequest struct {
	Owner shard.Owner `json:"owner"`
	Epoch shard.Epoch `json:"epoch"`
}

// VersionRequest names a version of a task's state. Version 0 is the one that
// the commit record names.
type VersionRequest struct {
	Owner   shard.Owner   `json:"owner"`
	Version shard.Version `json:"version"`
}

// ManifestList are the versions of which a node has manifests, ascending.
type ManifestList struct {
	Versions []shard.Version `json:"versions"`
}

// Span is a run of a shard's chain: members First up to but without Until.
type Span struct {
	Shard int `json:"shard"`
	First int `json:"first"`
	Until int `json:"until"`
}

// HaveAnswer tells what a node has of a version.
type HaveAnswer struct {
	Spans []Span `json:"spans"`
}

// Refs names objects.
type Refs struct {
	Refs []shard.Ref `json:"refs"`
}

// HaveObjectsAnswer has one answer for each of Refs.
type HaveObjectsAnswer struct {
	Have []bool `json:"have"`
}

// TopologyRequest names a topology by its id.
type TopologyRequest struct {
	Topology string `json:"topology"`
}

// Record is the one durable word about a topology's checkpoints; the zero Record
// stands for none.
type Record struct {
	// Committed is what a recovery restores.
	Committed shard.Version `json:"committed"`
	// Last is the newest epoch that was begun.
	Last shard.Epoch `json:"last"`
	// Claimant is the placement of the checkpoint task that began it.
	Claimant uint64 `json:"claimant"`
}

// SwapRequest wants Next in place of Expect.
type SwapRequest struct {
	Topology string `json:"topology"`
	Expect   Record `json:"expect"`
	Next     Record `json:"next"`
}

// SwapAnswer tells whether it was: false means that another record was there. An
// error of the call leaves it open.
type SwapAnswer struct {
	Written bool `json:"written"`
}

// PutHeader begins PutObjects.
type PutHeader struct {
	Owner shard.Owner `json:"owner"`
	Epoch shard.Epoch `json:"epoch"`
	Count int         `json:"count"`
	Bytes int64       `json:"bytes"`
	// Committed is the newest version that the owner knows to be committed.
	Committed shard.Version `json:"committed"`
}

// FetchHeader begins FetchShards. The node sends the orders, in their order. What
// it has to take in from others first stands in Flow.
type FetchHeader struct {
	Owner   shard.Owner      `json:"owner"`
	Version shard.Version    `json:"version"`
	Flow    *recovery.Flow   `json:"flow"`
	Orders  []recovery.Order `json:"orders"`
	// Addrs are the addresses of all nodes in Flow.
	Addrs map[recovery.NodeID]string `json:"addrs"`
}

// LookupRequest asks for the successor of Key, or of the position of Name if that
// is set (ring.Key).
type LookupRequest struct {
	Key  uint64 `json:"key"`
	Name string `json:"name,omitempty"`
}

// LookupAnswer is the way to a key.
type LookupAnswer struct {
	Key  uint64      `json:"key"`
	Path []ring.Node `json:"path"`
	// Nodes are the first nodes at or after Key: its successor and those that
	// follow.
	Nodes []ring.Node `json:"nodes"`
}
