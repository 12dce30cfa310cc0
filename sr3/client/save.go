package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

// saving is one version being saved, or saved and neither committed nor given up.
type saving struct {
	version, base shard.Version
	epoch         shard.Epoch
	frozen        *shard.Frozen
	// chains is the manifest to go on from, with the folds in it that used names;
	// bases are the shards of which a base is due.
	chains *shard.Manifest
	used   []shard.Range
	bases  map[shard.Range]bool
	known  shard.Version // the newest version known to be committed
	freeze time.Duration
	began  time.Time

	cancel context.CancelCauseFunc
	// ended is closed at the end; manifest is what is safe then, nil if it failed.
	ended    chan struct{}
	manifest *shard.Manifest
}

// safe tells whether the save came to a good end.
func (s *saving) safe() bool {
	select {
	case <-s.ended:
		return s.manifest != nil
	default:
		return false
	}
}

// Save stores what the state is now as version v, which is base with what was
// written since. It freezes that before it returns; done is called on another
// goroutine, once (before Save returns if the client is closed). Errors given to done wrap ErrFenced, ErrConflict, ErrSuperseded
// (by Thaw, Load or another Save), ErrClosed or the deadline's.
func (t *Task) Save(v, base shard.Version, epoch shard.Epoch, done func(error)) {
	t.giveUp(fmt.Errorf("version %d of %v: %w by version %d", t.newest(), t.o.Owner, ErrSuperseded, v))
	began := time.Now()
	s := &saving{
		version: v, base: base, epoch: epoch, known: t.committed, began: began,
		frozen: t.table.Freeze(), ended: make(chan struct{}),
	}
	s.freeze = time.Since(began)
	t.saving = s
	t.notes.state(t.table)
	var refused error
	switch {
	case t.committed != base || t.loading != nil && !t.loading.adopted:
		refused = fmt.Errorf("save version %d of %v: it is based on version %d, and %d is the last one here: load first", v, t.o.Owner, base, t.committed)
	case v <= base:
		refused = fmt.Errorf("save version %d of %v: it is based on version %d", v, t.o.Owner, base)
	}
	s.chains = t.manifest
	if s.chains == nil {
		s.chains = &shard.Manifest{Owner: t.o.Owner}
	}
	s.chains, s.used, s.bases = t.folds.apply(s.chains)
	ctx, cancel := context.WithCancelCause(t.ctx)
	s.cancel = cancel
	running := t.spawn(func() {
		defer cancel(nil)
		err := refused
		if err == nil {
			err = t.save(ctx, s)
		}
		t.call(s.frozen.Release)
		close(s.ended)
		t.notes.saved(s, err)
		done(err)
	})
	if !running {
		cancel(nil)
		close(s.ended)
		done(fmt.Errorf("save version %d of %v: %w", v, t.o.Owner, ErrClosed))
	}
}

// newest is the version that was frozen last, for messages.
func (t *Task) newest() shard.Version {
	if t.saving == nil {
		return 0
	}
	return t.saving.version
}

// giveUp ends the save under way, if there is one. What it froze is part of the
// next.
func (t *Task) giveUp(why error) {
	if t.saving != nil {
		t.saving.cancel(why)
	}
}

// Thaw says that version v will not be committed: its save is given up if it is
// under way, and what it froze is part of the next.
func (t *Task) Thaw(v shard.Version) {
	if s := t.saving; s != nil && s.version <= v {
		t.giveUp(fmt.Errorf("version %d of %v was given up: %w", s.version, t.o.Owner, ErrSuperseded))
		t.saving = nil
	}
}

// Committed says that v, which was saved, is what a recovery restores from now on.
// The next save is based on it. It is fine to say it again.
func (t *Task) Committed(v shard.Version) error {
	if v == t.committed {
		return nil
	}
	s := t.saving
	if s == nil || s.version != v || !s.safe() {
		return fmt.Errorf("commit version %d of %v: version %d was saved last; load the committed version", v, t.o.Owner, t.newest())
	}
	if err := t.table.Commit(s.frozen); err != nil {
		return err
	}
	t.saving = nil
	t.committed, t.manifest = v, s.manifest
	t.folds.committed(s)
	t.fold()
	return nil
}

// save stores the objects and the manifest of s.
func (t *Task) save(ctx context.Context, s *saving) error {
	ctx, cancel := context.WithTimeoutCause(ctx, t.o.SaveTimeout,
		fmt.Errorf("it took longer than %v: %w", t.o.SaveTimeout, context.DeadlineExceeded))
	defer cancel()
	if err := t.confirm(ctx, s); err != nil {
		return fmt.Errorf("save version %d of %v: %w", s.version, t.o.Owner, err)
	}
	d := &delivery{
		t: t, s: s, placed: make(map[shard.Range]*placed), failed: make(map[shard.NodeID]error), shunned: t.c.shun.all(),
	}
	m, err := d.run(ctx)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ErrFenced) && !errors.Is(err, ErrConflict) {
			err = t.ended(ctx, err)
		}
		return fmt.Errorf("save version %d of %v: %w", s.version, t.o.Owner, err)
	}
	s.manifest = m
	return nil
}

// ended gives the reason why ctx is over, with what was the matter at the time.
func (t *Task) ended(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if t.ctx.Err() != nil {
		cause = ErrClosed
	}
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w; meanwhile: %w", cause, err)
}
