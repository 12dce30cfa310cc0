package localizer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// Changed are those of ids whose workers want to be restarted since there are
// newer blobs: the configuration, which a rebalance can change, code and jar,
// dependencies, and blobs with workerRestart. Newer versions of
// other blobs are brought in meanwhile, where workers find them by their link;
// workers of older generations stay with what they have. It goes on after errors and
// returns them joined, and what was found nevertheless.
func (l *Localizer) Changed(ctx context.Context, ids []cluster.TopologyID) ([]cluster.TopologyID, error) {
	versions := map[string]int64{}
	var out []cluster.TopologyID
	var errs []error
	for _, id := range ids {
		restart, err := l.changed(ctx, id, versions)
		if err != nil {
			errs = append(errs, fmt.Errorf("newer blobs of topology %s: %w", id, err))
		}
		if restart {
			out = append(out, id)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return out, errors.Join(errs...)
}

// changed looks at one topology; versions are those that nimbus told already.
func (l *Localizer) changed(ctx context.Context, id cluster.TopologyID, versions map[string]int64) (restart bool, err error) {
	l.mu.Lock()
	var rec *record
	if t := l.tops[id]; t != nil && len(t.gens) > 0 {
		rec = t.gens[len(t.gens)-1].rec
	}
	l.mu.Unlock()
	if rec == nil {
		return false, nil
	}
	var errs []error
	var refresh []string
	for _, b := range rec.Blobs {
		version, ok := versions[b.Key]
		if !ok {
			version, err = l.cfg.Source.Meta(ctx, b.Key)
			if errors.Is(err, ErrNoBlob) {
				continue // workers go on with what they have
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("blob %q: nimbus could not be asked for its version: %w", b.Key, err))
				continue
			}
			versions[b.Key] = version
		}
		switch {
		case version == b.Version:
		case b.Role == mapped && !b.Restart:
			refresh = append(refresh, b.Key)
		default:
			restart = true
		}
	}
	if len(refresh) > 0 && !restart { // a restart brings them too
		errs = append(errs, l.refresh(ctx, id, refresh))
	}
	return restart, errors.Join(errs...)
}

// refresh brings newer versions of blobs into the current generation.
func (l *Localizer) refresh(ctx context.Context, id cluster.TopologyID, keys []string) error {
	t, unlock, err := l.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	g := l.current(t)
	if g == nil || g.rec == nil {
		return nil
	}
	if err := enter(ctx, l.working); err != nil {
		return err
	}
	defer func() { <-l.working }()
	var errs []error
	for _, key := range keys {
		errs = append(errs, l.refreshOne(ctx, g, key))
	}
	return errors.Join(errs...)
}

func (l *Localizer) refreshOne(ctx context.Context, g *generation, key string) error {
	i := slices.IndexFunc(g.rec.Blobs, func(b blob) bool { return b.Key == key && b.Role == mapped })
	if i < 0 {
		return nil
	}
	want := g.rec.Blobs[i]
	want.Files = nil
	got, err := l.fetch(ctx, g.dir, want)
	if err != nil {
		return err
	}
	next := &record{Format: g.rec.Format, Program: g.rec.Program, Blobs: slices.Clone(g.rec.Blobs)}
	next.Blobs[i] = got
	// Whoever dies here leaves a link that the record does not know, and the
	// next Localise makes all good.
	if err := l.disk.relink(got.Path, filepath.Join(g.dir, got.Link)); err != nil {
		return err
	}
	if err := l.disk.writeRecord(g.dir, next); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	g.rec = next
	return nil
}
