package shard

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/cespare/xxhash/v2"
)

// Owner is one stateful task.
type Owner struct {
	Topology  string
	Component string
	Task      int32
}

// String is topology/component/task.
func (o Owner) String() string {
	return fmt.Sprintf("%s/%s/%d", o.Topology, o.Component, o.Task)
}

// Hash is where the owner's manifests lie on the ring. It is fixed for ever.
func (o Owner) Hash() uint64 { return xxhash.Sum64(o.bytes()) }

// ShardHash is where the owner's shard that starts at first lies on the ring.
// The left half of a split stays in its place. It is fixed for ever.
func (o Owner) ShardHash(first Slot) uint64 {
	return xxhash.Sum64(binary.BigEndian.AppendUint16(o.bytes(), uint16(first)))
}

// bytes has lengths in it, so that no two owners look alike.
func (o Owner) bytes() []byte {
	b := binary.AppendUvarint(nil, uint64(len(o.Topology)))
	b = append(b, o.Topology...)
	b = binary.AppendUvarint(b, uint64(len(o.Component)))
	b = append(b, o.Component...)
	return binary.BigEndian.AppendUint32(b, uint32(o.Task))
}

// NodeID names a node of the ring.
type NodeID string

// Version is the checkpoint that made it. It only grows: its upper bits are the
// epoch, the lower ones the number of the checkpoint.
type Version int64

// numberBits is how many bits of a version are the checkpoint's.
const numberBits = 40

// MakeVersion is the version of a checkpoint, by its number, in an epoch.
func MakeVersion(e Epoch, number int64) Version {
	return Version(int64(e)<<numberBits | number&(1<<numberBits-1))
}

// Epoch is the one in which the version was made.
func (v Version) Epoch() Epoch { return Epoch(v >> numberBits) }

// Number is the checkpoint's.
func (v Version) Number() int64 { return int64(v) & (1<<numberBits - 1) }

// String is the number, and the epoch if there is one, as 17 of epoch 3.
func (v Version) String() string {
	if v.Epoch() == 0 {
		return strconv.FormatInt(v.Number(), 10)
	}
	return fmt.Sprintf("%d of epoch %d", v.Number(), v.Epoch())
}

// Epoch is the number of an owner's placement; holders refuse older ones.
type Epoch int64

// Kind is what an object holds.
type Kind uint8

// A base has all entries of a shard, a delta those that were changed or
// deleted since the version before it in its chain.
const (
	Base  Kind = 1
	Delta Kind = 2
)

// String is base or delta.
func (k Kind) String() string {
	switch k {
	case Base:
		return "base"
	case Delta:
		return "delta"
	default:
		return fmt.Sprintf("kind %d", uint8(k))
	}
}

// ObjectID names an object: the bytes of one shard at one version.
type ObjectID struct {
	Owner   Owner
	Range   Range
	Version Version
	Epoch   Epoch
	Kind    Kind
}

// String is owner, slots, version, epoch and kind, for people.
func (id ObjectID) String() string {
	return fmt.Sprintf("%v slots %v version %v epoch %d %v", id.Owner, id.Range, id.Version, id.Epoch, id.Kind)
}

// Ref is an object as a manifest names it.
type Ref struct {
	ObjectID
	// Size is the bytes of its entries, Stored the bytes at rest, with header
	// and after compression.
	Size, Stored int64
	// Checksum is the xxhash64 of the stored bytes.
	Checksum uint64
	// Holders are the nodes that had it when the manifest was written.
	Holders []NodeID
}
