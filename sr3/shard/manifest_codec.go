package shard

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// A manifest is stored as magic, format version, a table of all nodes, the
// shards, and last the xxhash64 of all before it (8 bytes, little endian).
// Numbers are varints, strings have their length before them. Refs name nodes
// by their place in the table; owner, range and kind of a ref follow from where
// it stands.
const (
	manifestMagic  = "SR3m"
	manifestFormat = 1
	// maxObjects bounds a chain, maxHolders the holders of an object.
	maxObjects = 1 << 12
	maxHolders = 1 << 8
	maxName    = 1 << 12
)

// Encode gives the manifest's bytes, the same for the same manifest. It fails
// if Check does.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	b := append([]byte(manifestMagic), manifestFormat)
	b = appendString(b, m.Owner.Topology)
	b = appendString(b, m.Owner.Component)
	b = binary.AppendVarint(b, int64(m.Owner.Task))
	b = binary.AppendVarint(b, int64(m.Version))
	b = binary.AppendVarint(b, int64(m.Epoch))
	b = binary.AppendVarint(b, m.CreatedMillis)
	b = binary.AppendUvarint(b, uint64(m.Replicas))
	nodes, places := m.nodes()
	b = binary.AppendUvarint(b, uint64(len(nodes)))
	for _, n := range nodes {
		b = appendString(b, string(n))
	}
	b = binary.AppendUvarint(b, uint64(len(m.Shards)))
	for _, chain := range m.Shards {
		if len(chain) > maxObjects {
			return nil, fmt.Errorf("manifest of %v: a chain of %d objects, more than %d; fold it", m.Owner, len(chain), maxObjects)
		}
		b = binary.AppendUvarint(b, uint64(chain[0].Range.First))
		b = binary.AppendUvarint(b, uint64(chain[0].Range.Slots))
		b = binary.AppendUvarint(b, uint64(len(chain)))
		for i := range chain {
			if len(chain[i].Holders) > maxHolders {
				return nil, fmt.Errorf("manifest of %v: %d holders of an object, more than %d", m.Owner, len(chain[i].Holders), maxHolders)
			}
			b = appendRef(b, &chain[i], places)
		}
	}
	return binary.LittleEndian.AppendUint64(b, xxhash.Sum64(b)), m.checkNames(nodes)
}

// checkNames keeps what the decoder would refuse from being written.
func (m *Manifest) checkNames(nodes []NodeID) error {
	longest := max(len(m.Owner.Topology), len(m.Owner.Component))
	for _, n := range nodes {
		longest = max(longest, len(n))
	}
	if longest > maxName {
		return fmt.Errorf("manifest of %.100v: a name of %d bytes, more than %d", m.Owner, longest, maxName)
	}
	return nil
}

// nodes are all nodes that refs name, in order of their first use.
func (m *Manifest) nodes() ([]NodeID, map[NodeID]uint64) {
	var nodes []NodeID
	places := make(map[NodeID]uint64)
	for _, chain := range m.Shards {
		for i := range chain {
			for _, n := range chain[i].Holders {
				if _, ok := places[n]; !ok {
					places[n] = uint64(len(nodes))
					nodes = append(nodes, n)
				}
			}
		}
	}
	return nodes, places
}

func appendRef(b []byte, r *Ref, places map[NodeID]uint64) []byte {
	b = binary.AppendVarint(b, int64(r.Version))
	b = binary.AppendVarint(b, int64(r.Epoch))
	b = binary.AppendUvarint(b, uint64(r.Size))
	b = binary.AppendUvarint(b, uint64(r.Stored))
	b = binary.LittleEndian.AppendUint64(b, r.Checksum)
	b = binary.AppendUvarint(b, uint64(len(r.Holders)))
	for _, n := range r.Holders {
		b = binary.AppendUvarint(b, places[n])
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// DecodeManifest reads what Encode wrote, and allocates no more than a small
// multiple of its length. Errors wrap ErrDamaged, unless the format version is
// unknown.
func DecodeManifest(b []byte) (*Manifest, error) {
	const least = len(manifestMagic) + 1 + 8
	if len(b) < least || string(b[:4]) != manifestMagic {
		return nil, damaged("manifest of %d bytes: it does not start as a manifest does", len(b))
	}
	if v := b[4]; v != manifestFormat {
		return nil, fmt.Errorf("manifest of format version %d: this program knows version %d; update it", v, manifestFormat)
	}
	body, sum := b[:len(b)-8], binary.LittleEndian.Uint64(b[len(b)-8:])
	if got := xxhash.Sum64(body); got != sum {
		return nil, damaged("manifest of %d bytes: checksum %016x where it says %016x", len(b), got, sum)
	}
	r := reader{b: body, off: 5}
	m := r.manifest()
	if r.err == nil && r.off != len(body) {
		r.fail("%d bytes too many", len(body)-r.off)
	}
	if r.err != nil {
		return nil, damaged("manifest of %d bytes: at byte %d: %v", len(b), r.off, r.err)
	}
	if err := m.Check(); err != nil {
		return nil, damaged("%v", err)
	}
	return m, nil
}

// reader reads numbers and strings until the first error.
type reader struct {
	b   []byte
	off int
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.b[r.off:])
	if n <= 0 {
		r.err = errors.New("it ends within a number, or the number is too long")
		return 0
	}
	r.off += n
	return v
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads how many things follow, each of which has at least size bytes.
func (r *reader) count(limit, size int, what string) int {
	n := r.uvarint()
	if r.err == nil && (n > uint64(limit) || n*uint64(size) > uint64(len(r.b)-r.off)) {
		r.fail("%d %s cannot be", n, what)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

func (r *reader) str() string {
	n := r.count(maxName, 1, "bytes of a name")
	s := string(r.b[r.off : r.off+n])
	r.off += n
	return s
}

func (r *reader) uint64() uint64 {
	if r.err != nil || len(r.b)-r.off < 8 {
		r.fail("it ends within a checksum")
		return 0
	}
	r.off += 8
	return binary.LittleEndian.Uint64(r.b[r.off-8:])
}

func (r *reader) manifest() *Manifest {
	m := &Manifest{Owner: Owner{Topology: r.str(), Component: r.str()}}
	task := r.varint()
	m.Owner.Task = int32(task)
	if int64(m.Owner.Task) != task {
		r.fail("task %d", task)
	}
	m.Version, m.Epoch, m.CreatedMillis = Version(r.varint()), Epoch(r.varint()), r.varint()
	m.Replicas = r.count(maxHolders, 0, "replicas")
	nodes := make([]NodeID, r.count(len(r.b), 1, "nodes"))
	for i := range nodes {
		nodes[i] = NodeID(r.str())
	}
	shards := r.count(MaxShards, 1, "shards")
	for range shards {
		first, slots := r.uvarint(), r.uvarint()
		if first >= NumSlots || slots > NumSlots {
			r.fail("a shard of %d slots from %d", slots, first)
		}
		chain := make([]Ref, r.count(maxObjects, 13, "objects of a shard"))
		for i := range chain {
			id := ObjectID{Owner: m.Owner, Range: Range{Slot(first), uint16(slots)}, Kind: Delta}
			if i == 0 {
				id.Kind = Base
			}
			r.ref(&chain[i], id, nodes)
		}
		m.Shards = append(m.Shards, chain)
	}
	return m
}

func (r *reader) ref(ref *Ref, id ObjectID, nodes []NodeID) {
	id.Version, id.Epoch = Version(r.varint()), Epoch(r.varint())
	ref.ObjectID = id
	ref.Size, ref.Stored = int64(r.uvarint()), int64(r.uvarint())
	ref.Checksum = r.uint64()
	if n := r.count(maxHolders, 1, "holders"); n > 0 {
		ref.Holders = make([]NodeID, n)
	}
	for i := range ref.Holders {
		at := r.uvarint()
		if at >= uint64(len(nodes)) {
			r.fail("node %d of %d", at, len(nodes))
			return
		}
		ref.Holders[i] = nodes[at]
	}
}
