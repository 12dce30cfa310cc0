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
	// Offer tells that a version exists which the node should know: OfferRequest,
	// nothing. It asks for the manifest itself.
	Offer
	// GetRecord reads a topology's commit record: TopologyRequest, Record.
	GetRecord
	// SwapRecord replaces it: SwapRequest, SwapAnswer.
	SwapRecord
	// PutReport leaves word of a task for people: TaskReport, nothing.
	PutReport
	// Vouch asks a node to keep what it has of an owner, on behalf of one that would
	// let its own copies go: VouchRequest, VouchAnswer.
	Vouch
	// Hello tells that a node has started, perhaps without what it had: HelloRequest,
	// nothing. It is offered what it should have.
	Hello
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
	// Ref and messages with its bytes, in order; see Put and
	// Assembler. The sender ends its side; the node's clean end says that all is safe.
	PutObjects byte = iota + 128
	// FetchShards asks for shards (FetchHeader, see SplitHeader), answered in frames (frame.go). The
	// chunks of a part come in order; chunks of several parts may alternate.
	FetchShards
	// FetchObject asks for one object as it is stored: a shard.Ref as header,
	// answered in chunks (Frame, of the zero Part), for repair.
	FetchObject
)

// Codes of errors, as transport carries them; those below 100 are its own.
const (
	// CodeFenced: a later placement of the owner is at work; stop.
	CodeFenced uint16 = iota + 10000
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

// OfferRequest tells of a version, and who tells.
type OfferRequest struct {
	Owner   shard.Owner   `json:"owner"`
	Version shard.Version `json:"version"`
	From    shard.NodeID  `json:"from"`
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

// HaveAnswer tells what a node has of a version, intact as far as it knows.
type HaveAnswer struct {
	Spans []Span `json:"spans"`
	// Streams are the streams of recoveries that it serves now.
	Streams int `json:"streams,omitempty"`
	// Link is what the node knows of its own host.
	Link Link `json:"link,omitzero"`
}

// Refs names objects.
type Refs struct {
	Refs []shard.Ref `json:"refs"`
}

// HaveObjectsAnswer has one answer for each of Refs.
type HaveObjectsAnswer struct {
	Have []bool `json:"have"`
}

// HelloRequest says who has started.
type HelloRequest struct {
	From shard.NodeID `json:"from"`
}

// VouchRequest asks for objects, and for the manifest of Version if that is not 0.
type VouchRequest struct {
	From    shard.NodeID  `json:"from"`
	Owner   shard.Owner   `json:"owner"`
	Version shard.Version `json:"version"`
	Refs    []shard.Ref   `json:"refs"`
}

// VouchAnswer says what the node has, since it is its own to keep, and will keep:
// Have has one answer for each of the refs.
type VouchAnswer struct {
	Manifest bool   `json:"manifest"`
	Have     []bool `json:"have"`
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
	// Count and Bytes are those of all objects, 0 if the sender, which makes
	// them while it sends, cannot tell.
	Count int   `json:"count"`
	Bytes int64 `json:"bytes"`
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
	// StallMillis is how long the receiver bears silence, in milliseconds; 0 is 3
	// seconds. A relay gives up those behind it somewhat earlier, so that it can
	// name them.
	StallMillis int64 `json:"stallMillis,omitempty"`
	// Urgent says that a task waits for it: it goes before all other bulk on the
	// connection.
	Urgent bool `json:"urgent,omitempty"`
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
