package store

import (
	"cmp"
	"slices"

	"github.com/stormring/stormring/sr3/shard"
)

// record is a record of the log that is on disk.
type record struct {
	number uint64
	head
	// dead: deleted, by the record deletion if that is not nil.
	dead     bool
	deletion *record
	// pending is, of a deletion, how many of those that it deletes are on disk;
	// without any it is dead itself.
	pending int
}

func (r *record) bytes() int64 { return r.stored + overhead + int64(len(r.gone)) }

// owned is what is here of an owner.
type owned struct {
	objects   map[objectKey]*record
	manifests map[shard.Version]*record
	fence     *record
}

func (o *owned) empty() bool { return len(o.objects) == 0 && len(o.manifests) == 0 && o.fence == nil }

// index knows all records. It is not safe for concurrent use.
type index struct {
	log    []*record // ascending numbers
	owners map[shard.Owner]*owned
	// live and dead are the bytes of records, deadRecords their number; objects
	// and manifests count those that can be found, stored their bytes.
	live, dead         int64
	deadRecords        int
	objects, manifests int
	stored             int64
}

func newIndex() *index { return &index{owners: make(map[shard.Owner]*owned)} }

func (x *index) of(o shard.Owner) *owned {
	if have := x.owners[o]; have != nil {
		return have
	}
	have := &owned{objects: make(map[objectKey]*record), manifests: make(map[shard.Version]*record)}
	x.owners[o] = have
	return have
}

func (x *index) object(id shard.ObjectID) *record {
	if o := x.owners[id.Owner]; o != nil {
		return o.objects[keyOf(id)]
	}
	return nil
}

func (x *index) manifest(o shard.Owner, v shard.Version) *record {
	if have := x.owners[o]; have != nil {
		return have.manifests[v]
	}
	return nil
}

func (x *index) fenced(o shard.Owner) shard.Epoch {
	if have := x.owners[o]; have != nil && have.fence != nil {
		return have.fence.epoch
	}
	return 0
}

// at gives the record of a number, or nil.
func (x *index) at(number uint64) *record {
	i, ok := slices.BinarySearchFunc(x.log, number, func(r *record, n uint64) int { return cmp.Compare(r.number, n) })
	if !ok {
		return nil
	}
	return x.log[i]
}

func (x *index) last() uint64 {
	if len(x.log) == 0 {
		return 0
	}
	return x.log[len(x.log)-1].number
}

// add takes up a record, whose number is above all others, and does to the
// others what it says. Where two claim one name, which happens only after damage,
// the newer one is right.
func (x *index) add(r *record) {
	x.log = append(x.log, r)
	x.live += r.bytes()
	switch r.what {
	case anObject:
		if old := x.object(r.object.id(r.owner)); old != nil {
			x.kill(old, nil)
		}
		x.of(r.owner).objects[r.object] = r
		x.objects++
		x.stored += r.stored
	case aManifest:
		if old := x.manifest(r.owner, r.version); old != nil {
			x.kill(old, nil)
		}
		x.of(r.owner).manifests[r.version] = r
		x.manifests++
		x.stored += r.stored
	case aFence:
		o := x.of(r.owner)
		switch {
		case o.fence == nil:
			o.fence = r
		case o.fence.epoch > r.epoch:
			x.kill(r, nil)
		default:
			x.kill(o.fence, nil)
			x.of(r.owner).fence = r
		}
	case aDeletion:
		for _, n := range r.gone {
			if d := x.at(n); d != nil && d.deletion == nil && d != r {
				x.kill(d, r)
			}
		}
		if r.pending == 0 {
			x.kill(r, nil)
		}
	}
}

// hide makes a record one that cannot be found any more.
func (x *index) hide(r *record) {
	o := x.owners[r.owner]
	if o == nil || r.what == aDeletion {
		return
	}
	switch {
	case r.what == anObject && o.objects[r.object] == r:
		delete(o.objects, r.object)
		x.objects--
		x.stored -= r.stored
	case r.what == aManifest && o.manifests[r.version] == r:
		delete(o.manifests, r.version)
		x.manifests--
		x.stored -= r.stored
	case r.what == aFence && o.fence == r:
		o.fence = nil
	}
	if o.empty() {
		delete(x.owners, r.owner)
	}
}

// kill hides a record and counts it as garbage.
func (x *index) kill(r, by *record) {
	x.hide(r)
	if by != nil {
		r.deletion = by
		by.pending++
	}
	if !r.dead {
		r.dead = true
		x.live -= r.bytes()
		x.dead += r.bytes()
		x.deadRecords++
	}
}

// forget takes dead records out: they are off the disk.
func (x *index) forget(gone map[*record]bool) {
	x.log = slices.DeleteFunc(x.log, func(r *record) bool { return gone[r] })
	for r := range gone {
		x.dead -= r.bytes()
		x.deadRecords--
		if d := r.deletion; d != nil {
			if d.pending--; d.pending == 0 && !d.dead {
				x.kill(d, nil)
			}
		}
	}
}

// tuning has the sizes that were found by measuring.
type tuning struct {
	// writeBuffer is the size in bytes of goleveldb's memory table, of which up to
	// three are in memory; 32 MiB were no faster than 16.
	writeBuffer int
	// leastDead is how many bytes of garbage, mostRecords how many dead records, are
	// left where they are; stretch is how many bytes of the log are cleaned at once.
	leastDead   int64
	mostRecords int
	stretch     int64
	// pieces is how many of them the reserve has at most.
	pieces int
}

// dirty tells whether garbage takes more than a third of what lives.
func (x *index) dirty(c tuning) bool {
	return x.dead > max(c.leastDead, x.live/3) ||
		x.deadRecords > max(c.mostRecords, len(x.log)/2)
}

// stretch is the dead records of that part of the log, of about so many bytes,
// which is dead for the largest part.
func (x *index) stretch(bytes int64) []*record {
	var best []*record
	var share float64
	for i := 0; i < len(x.log); {
		var all, dead int64
		start := i
		for ; i < len(x.log) && all < bytes; i++ {
			all += x.log[i].bytes()
			if x.log[i].dead {
				dead += x.log[i].bytes()
			}
		}
		if s := float64(dead) / float64(all); s > share {
			best, share = x.log[start:i], s
		}
	}
	var garbage []*record
	for _, r := range best {
		if r.dead {
			garbage = append(garbage, r)
		}
	}
	return garbage
}
