package shard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Manifest names all objects of an owner's state at one version. It is
// immutable once it is stored.
type Manifest struct {
	Owner   Owner
	Version Version
	Epoch   Epoch
	// CreatedMillis is when it was made, in unix milliseconds.
	CreatedMillis int64
	// Replicas is on how many hosts each object and the manifest should be, which
	// may be more than there were.
	Replicas int
	// Shards has a chain, base first, for each shard, by first slot. Slots
	// that no chain covers are empty. Shards of one owner may differ in width.
	Shards [][]Ref
}

// Bytes are the sums of Size and Stored over all objects.
func (m *Manifest) Bytes() (size, stored int64) {
	for _, chain := range m.Shards {
		for i := range chain {
			size += chain[i].Size
			stored += chain[i].Stored
		}
	}
	return size, stored
}

// Ranges are the ranges of the shards, in order.
func (m *Manifest) Ranges() []Range {
	ranges := make([]Range, len(m.Shards))
	for i, chain := range m.Shards {
		ranges[i] = chain[0].Range
	}
	return ranges
}

// Check tells whether the manifest makes sense: chains in order, none
// overlapping, base first, versions ascending and none above its own.
func (m *Manifest) Check() error {
	if err := m.check(); err != nil {
		return fmt.Errorf("manifest of %v version %v epoch %d: %w", m.Owner, m.Version, m.Epoch, err)
	}
	return nil
}

func (m *Manifest) check() error {
	if len(m.Shards) > MaxShards {
		return fmt.Errorf("%d shards, more than %d", len(m.Shards), MaxShards)
	}
	if m.Replicas < 0 || m.Replicas > maxHolders {
		return fmt.Errorf("%d replicas, must be from 0 to %d", m.Replicas, maxHolders)
	}
	end := 0
	for i, chain := range m.Shards {
		if err := m.checkRefs(chain); err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
		r := chain[0].Range
		if int(r.First) < end {
			return fmt.Errorf("shard %d of slots %v: slots up to %d are those of shards before it", i, r, end-1)
		}
		end = r.End()
	}
	return nil
}

func (m *Manifest) checkRefs(chain []Ref) error {
	if len(chain) == 0 {
		return errors.New("no objects; leave it out")
	}
	for i := range chain {
		r := &chain[i]
		kind := Delta
		if i == 0 {
			kind = Base
		}
		if err := r.Range.Check(); err != nil {
			return err
		}
		switch {
		case r.Owner != m.Owner:
			return fmt.Errorf("%v is another owner's", r.ObjectID)
		case r.Kind != kind:
			return fmt.Errorf("object %d is a %v where a %v belongs", i, r.Kind, kind)
		case r.Range != chain[0].Range:
			return fmt.Errorf("object %d has slots %v, its base %v", i, r.Range, chain[0].Range)
		case r.Version > m.Version || i > 0 && r.Version <= chain[i-1].Version:
			return fmt.Errorf("object %d has version %v, which is out of order", i, r.Version)
		case r.Epoch > m.Epoch:
			return fmt.Errorf("object %d has epoch %d, which is newer than the manifest", i, r.Epoch)
		case r.Size < 0 || r.Stored < headerSize:
			return fmt.Errorf("object %d has %d bytes, %d stored", i, r.Size, r.Stored)
		}
	}
	return nil
}

// Next is the manifest of the version after m: m's chains, with the objects
// that a Frozen wrote. A base takes the place of all chains in its range, as
// after a split or a merge; a delta is appended to the chain of its range. It
// refuses to lose slots: the bases together must cover what they replace.
func (m *Manifest) Next(version Version, epoch Epoch, createdMillis int64, written []Ref) (*Manifest, error) {
	n := &Manifest{Owner: m.Owner, Version: version, Epoch: epoch, CreatedMillis: createdMillis, Replicas: m.Replicas}
	taken := make(map[Range][]Ref)
	for _, r := range written {
		if _, ok := taken[r.Range]; ok {
			return nil, fmt.Errorf("next manifest of %v: two objects of slots %v", m.Owner, r.Range)
		}
		taken[r.Range] = []Ref{r}
	}
	for _, chain := range m.Shards {
		old := chain[0].Range
		if add, ok := taken[old]; ok {
			if add[0].Kind == Delta {
				taken[old] = append(slices.Clone(chain), add[0])
			}
			continue
		}
		covered := 0
		for _, r := range written {
			switch {
			case r.Kind != Base || !r.Range.Overlaps(old):
			case r.Range.Covers(old):
				covered = int(old.Slots)
			default:
				covered += int(r.Range.Slots)
			}
		}
		switch covered {
		case 0:
			n.Shards = append(n.Shards, chain)
		case int(old.Slots):
		default:
			return nil, fmt.Errorf("next manifest of %v: new bases cover %d of the %d slots of shard %v", m.Owner, covered, old.Slots, old)
		}
	}
	for _, chain := range taken {
		n.Shards = append(n.Shards, chain)
	}
	slices.SortFunc(n.Shards, func(a, b []Ref) int { return cmp.Compare(a[0].Range.First, b[0].Range.First) })
	return n, n.Check()
}

// Folded is m with folded bases in the place of what they were folded of: a base
// takes that of its chain up to the object of its version and epoch. Bases that
// match no chain, after a split say, or only its base, are left out; used are the
// ranges of the others. m is not changed. The result is no manifest to be stored,
// but one to make the next of.
func (m *Manifest) Folded(bases []Ref) (folded *Manifest, used []Range) {
	n := *m
	n.Shards = slices.Clone(m.Shards)
	for _, b := range bases {
		i := slices.IndexFunc(n.Shards, func(chain []Ref) bool { return chain[0].Range == b.Range })
		if i < 0 || b.Kind != Base || b.Owner != m.Owner {
			continue
		}
		chain := n.Shards[i]
		last := slices.IndexFunc(chain, func(r Ref) bool { return r.Version == b.Version && r.Epoch == b.Epoch })
		if last < 1 {
			continue
		}
		n.Shards[i] = append([]Ref{b}, chain[last+1:]...)
		used = append(used, b.Range)
	}
	return &n, used
}
