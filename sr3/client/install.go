package client

import (
	"errors"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
)

// install makes a shard of its parts beside everything else, and has it put into
// the table.
func (f *fetch) install(c recovery.Install) {
	if len(c.Parts) == 0 {
		r := f.m.Shards[c.Shard][0].Range
		f.t.install(func() { f.l.placeEmpty(r) })
		f.wg.Go(func() { f.tell(happened{Event: recovery.Installed{Shard: c.Shard}}) })
		return
	}
	bufs := make([][]byte, len(c.Parts))
	for i, p := range c.Parts {
		if a := f.parts[idOf(p)]; a != nil {
			bufs[i] = a.buf
		}
		delete(f.parts, idOf(p))
	}
	urgent := f.hurry.wanted(c.Shard) // waits for nothing
	f.wg.Go(func() {
		if !urgent {
			f.hurry.giveWay(f.ctx, func(int) bool { return false })
			select {
			case f.cores <- struct{}{}:
			case <-f.ctx.Done():
				return
			}
			defer func() { <-f.cores }()
		}
		s, err := f.assemble(c, bufs)
		switch {
		case err == nil:
			f.hurry.end(c.Shard)
			f.t.install(func() { f.l.place(s) })
			f.tell(happened{Event: recovery.Installed{Shard: c.Shard}})
		case errors.Is(err, shard.ErrTooLarge):
			f.l.fail(err)
		default:
			f.t.c.cfg.Log.Warn("a shard came damaged and is fetched again", "owner", f.t.o.Owner.String(),
				"version", int64(f.m.Version), "slots", f.m.Shards[c.Shard][0].Range.String(), "error", err)
			f.tell(happened{Event: recovery.Rejected{Shard: c.Shard}})
		}
	})
}

// assemble checks the parts of a shard against the manifest and makes the shard.
func (f *fetch) assemble(c recovery.Install, bufs [][]byte) (*shard.Loaded, error) {
	var chain []*shard.Object
	for i, p := range c.Parts {
		refs := f.m.Shards[c.Shard][p.First:p.Until]
		objects, err := f.openPart(refs, c.Contents[i], bufs[i])
		if err != nil {
			return nil, err
		}
		chain = append(chain, objects...)
		bufs[i] = nil // if it was compressed, it is not needed any more
	}
	return f.table.Prepare(chain...)
}

// openPart opens one part: a single object, which must be the very one that the
// manifest names; the base that several were folded to; or a pack of them.
func (f *fetch) openPart(refs []shard.Ref, c recovery.Content, buf []byte) ([]*shard.Object, error) {
	newest := refs[len(refs)-1]
	if int64(len(buf)) != c.Size {
		return nil, fmt.Errorf("%d bytes of a part of %d: %w", len(buf), c.Size, shard.ErrDamaged)
	}
	if len(refs) > 1 {
		if sum := xxhash.Sum64(buf); sum != c.Sum {
			return nil, fmt.Errorf("a part of %v has checksum %016x where %016x was announced: %w", newest.ObjectID, sum, c.Sum, shard.ErrDamaged)
		}
	}
	raw, err := protocol.UnpackPart(buf)
	if err != nil {
		return nil, err
	}
	if len(raw) != len(refs) && len(raw) != 1 {
		return nil, fmt.Errorf("a part of %d objects where %d belong: %w", len(raw), len(refs), shard.ErrDamaged)
	}
	objects := make([]*shard.Object, len(raw))
	for i, stored := range raw {
		if len(raw) == len(refs) {
			if err := shard.Verify(refs[i], stored); err != nil {
				return nil, err
			}
		}
		if objects[i], err = f.t.c.codec.Open(stored); err != nil {
			return nil, err
		}
	}
	if o := objects[0]; len(raw) < len(refs) && (o.Kind != shard.Base || refs[0].Kind != shard.Base || o.Range != newest.Range || o.Version != newest.Version) {
		return nil, fmt.Errorf("%v where a base of %v version %d belongs: %w", o, newest.Range, newest.Version, shard.ErrDamaged)
	}
	return objects, nil
}
