package upkeep

import "github.com/stormring/stormring/sr3/shard"

// Health is how it stands with the copies that a node should have of what is
// committed, at the last Decide. Add up those of all nodes for that of the ring.
type Health struct {
	// Owners are those of which the node has, or should have, something.
	Owners []OwnerHealth
	// The rest are the sums of theirs.
	Missing, UnderReplicated, TooFewHosts, NoManifest, Foreign int
	MissingBytes, ForeignBytes                                 int64
}

// OwnerHealth is how it stands with one owner.
type OwnerHealth struct {
	Owner shard.Owner
	// Version is what is committed, as far as is known.
	Version shard.Version
	// NoManifest says that the manifest of Version should be here and is not;
	// what depends on it is 0 then.
	NoManifest bool
	// Shards are those that the node should keep.
	Shards int
	// Missing objects, of MissingBytes at rest, should be here and are not;
	// UnderReplicated shards are incomplete here for that reason.
	Missing         int
	MissingBytes    int64
	UnderReplicated int
	// TooFewHosts are the shards with fewer copies than wanted because there are
	// not as many hosts, counted at their first holder.
	TooFewHosts int
	// Foreign objects, of ForeignBytes, are here but belong to other nodes.
	Foreign      int
	ForeignBytes int64
}

// Whole tells whether nothing is missing.
func (h *Health) Whole() bool {
	return h.Missing == 0 && h.TooFewHosts == 0 && h.NoManifest == 0
}

// Health is what the last Decide saw.
func (k *Keeper) Health() Health { return k.health }

// report adds the owner to the node's health.
func (t *turn) report() {
	h, o := &t.Keeper.health, &t.health
	h.Owners = append(h.Owners, *o)
	h.Missing += o.Missing
	h.MissingBytes += o.MissingBytes
	h.UnderReplicated += o.UnderReplicated
	h.TooFewHosts += o.TooFewHosts
	h.Foreign += o.Foreign
	h.ForeignBytes += o.ForeignBytes
	if o.NoManifest {
		h.NoManifest++
	}
}
