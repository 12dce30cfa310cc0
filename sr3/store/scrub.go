package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/stormring/stormring/sr3/shard"
)

// Scrub reads everything that is here once, at most bytesPerSecond (no bound if
// that is not positive), and drops what is damaged; damaged objects are told to
// damaged, which may be nil, beside OnDamage. What comes meanwhile is left for the
// next time. It ends early, with its error, if ctx does, or if the disk cannot be
// read.
func (s *Store) Scrub(ctx context.Context, bytesPerSecond int64, damaged func(shard.Ref)) error {
	s.mu.RLock()
	all := make([]*record, 0, s.index.objects+s.index.manifests)
	for _, r := range s.index.log {
		if !r.dead && (r.what == anObject || r.what == aManifest) {
			all = append(all, r)
		}
	}
	s.mu.RUnlock()
	p := pacer{rate: bytesPerSecond, start: time.Now()}
	for _, r := range all {
		err := s.scrub(ctx, &p, r)
		switch {
		case err == nil, errors.Is(err, ErrNotFound):
		case errors.Is(err, ErrDamaged):
			if damaged != nil && r.what == anObject {
				damaged(r.ref())
			}
		default:
			return err
		}
	}
	return nil
}

// scrub reads one record, after the pause that is due.
func (s *Store) scrub(ctx context.Context, p *pacer, r *record) error {
	sum := xxhash.New()
	if err := p.wait(ctx, r.stored); err != nil {
		return err
	}
	err := s.readChunks(ctx, r, func(c []byte) error {
		_, err := sum.Write(c)
		return err
	})
	if err == nil && sum.Sum64() != r.sum {
		err = fmt.Errorf("checksum %016x where its head says %016x: %w", sum.Sum64(), r.sum, ErrDamaged)
	}
	if err != nil {
		return s.unreadable(r, err)
	}
	return nil
}

// pacer spreads bytes over time.
type pacer struct {
	rate  int64
	start time.Time
	done  int64
}

// wait returns when so many bytes may be read.
func (p *pacer) wait(ctx context.Context, bytes int64) error {
	if p.rate > 0 {
		due := time.Duration(float64(p.done) / float64(p.rate) * float64(time.Second))
		p.done += bytes
		if d := due - time.Since(p.start); d > 0 {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-t.C:
			case <-ctx.Done():
			}
		}
	}
	return ctx.Err()
}
