package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/stormring/stormring/internal/coord"
)

// Holders are the records of who holds which blob, as the coordination store
// has them. A key's znode stays though nobody holds it; it goes when the blob
// is deleted. What is not there is coord.ErrNoNode.
type Holders interface {
	// BlobKeys is all keys that have a znode.
	BlobKeys(ctx context.Context) ([]string, error)
	// BlobHolders is the versions of a key by nimbus.
	BlobHolders(ctx context.Context, key string) (map[string]int, error)
	// HoldBlob records that a nimbus has a version, for as long as its session
	// lives, in place of what it said before.
	HoldBlob(ctx context.Context, key, nimbus string, version int) error
	// ReleaseBlob takes that back.
	ReleaseBlob(ctx context.Context, key, nimbus string) error
	// RemoveBlob removes a key's znode and all below it.
	RemoveBlob(ctx context.Context, key string) error
}

// Fetcher downloads blobs from other nimbuses.
type Fetcher interface {
	// Fetch writes the content of a nimbus's blob to w. Without an error it is
	// whole.
	Fetch(ctx context.Context, nimbus, key string, w io.Writer) (version int64, meta Meta, err error)
}

// Peers are the other nimbuses.
type Peers interface {
	Holders
	Fetcher
}

// Replicator keeps a nimbus's blobs like those of the others.
//
// A blob that is new or changed here is announced with Announce before whoever
// asked for it is answered; one that is to go is deleted with Remove, which
// tells the others too. Sync does the rest, now and then: brings what is newer
// elsewhere, announces, and drops what was deleted while this nimbus did not
// look.
//
// The highest version is the newest. A nimbus gives higher ones than all that
// it has seen, and goes by its clock for the rest: a blob that is removed and
// made again under another leader needs clocks that differ by less than the
// change of leaders takes.
type Replicator struct {
	store *Store
	peers Peers
	self  string
	// syncing and turn have one place each: turn is held while records and
	// store are brought into line, which never takes as long as a download.
	syncing, turn gate

	mu   sync.Mutex       // guards what follows
	said map[string]int64 // what it has announced, by key
}

// NewReplicator makes the Replicator of the nimbus self, by the name that it
// has among Peers. There is one for each session with the store of records,
// whose first Sync announces all that is here. It does nothing by itself.
func NewReplicator(store *Store, peers Peers, self string) *Replicator {
	return &Replicator{store: store, peers: peers, self: self, syncing: make(gate, 1), turn: make(gate, 1), said: map[string]int64{}}
}

// gate is a mutex to which one does not wait beyond a context's end.
type gate chan struct{}

func (g gate) enter(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g gate) leave() { <-g }

// Report is the keys that a Sync has done something about, sorted.
type Report struct {
	Fetched, Announced, Dropped []string
	// Lost are damaged here and nobody else has them: they have to be uploaded
	// again.
	Lost []string
}

// Sync does, once, all that Replicator is for. A blob that fails does not keep
// the others; the error tells of all that failed.
func (r *Replicator) Sync(ctx context.Context) (Report, error) {
	if err := r.syncing.enter(ctx); err != nil {
		return Report{}, err
	}
	defer r.syncing.leave()
	v, errs := r.look(ctx)
	if v.holders == nil {
		return Report{}, errors.Join(errs...)
	}
	var report Report
	steps, lost := plan(v)
	report.Lost = lost
	for _, st := range steps {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		if err := r.perform(ctx, st, &report); err != nil {
			errs = append(errs, fmt.Errorf("replicate blob %q: %w", st.key, err))
		}
	}
	return report, errors.Join(errs...)
}

// look reads who has what. A key whose record cannot be read is an error and is
// left out; without the records there are no holders at all.
func (r *Replicator) look(ctx context.Context) (view, []error) {
	v := view{self: r.self, local: r.store.holdings()}
	keys, err := r.peers.BlobKeys(ctx)
	if err != nil && !errors.Is(err, coord.ErrNoNode) {
		return view{}, []error{fmt.Errorf("replicate blobs: %w", err)}
	}
	v.holders = make(map[string]map[string]int64, len(keys))
	var errs []error
	for _, key := range keys {
		holders, there, err := r.holders(ctx, key)
		switch {
		case err != nil && away(ctx, err):
			return view{}, []error{fmt.Errorf("replicate blobs: %w", err)}
		case err != nil:
			errs = append(errs, fmt.Errorf("replicate blob %q: %w", key, err))
			delete(v.local, key) // it is not one without a record
			continue
		case there:
			v.holders[key] = holders
		}
		for _, version := range holders {
			r.store.observe(version)
		}
		r.forgetOld(key, holders)
	}
	return v, errs
}

// away tells whether there is no sense in asking for more.
func away(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, coord.ErrConnectionLoss) ||
		errors.Is(err, coord.ErrSessionExpired) || errors.Is(err, coord.ErrSessionClosed)
}

// forgetOld takes from holders what this nimbus said in an earlier session: it
// may vanish any moment and has to be said again.
func (r *Replicator) forgetOld(key string, holders map[string]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version, ok := holders[r.self]; ok && r.said[key] != version {
		holders[r.self] = 0
	}
}

// holders is who holds key, and whether it has a znode.
func (r *Replicator) holders(ctx context.Context, key string) (map[string]int64, bool, error) {
	found, err := r.peers.BlobHolders(ctx, key)
	if errors.Is(err, coord.ErrNoNode) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	holders := make(map[string]int64, len(found))
	for nimbus, version := range found {
		holders[nimbus] = int64(version)
	}
	return holders, true, nil
}

func (r *Replicator) perform(ctx context.Context, st step, report *Report) error {
	if st.do == fetch {
		fetched, err := r.fetch(ctx, st)
		if err != nil {
			return err
		}
		if fetched {
			report.Fetched = append(report.Fetched, st.key)
		}
	}
	if err := r.turn.enter(ctx); err != nil {
		return err
	}
	defer r.turn.leave()
	did, err := r.settle(ctx, st.key)
	switch {
	case err != nil:
		return err
	case did == announce && st.do != fetch:
		report.Announced = append(report.Announced, st.key)
	case did == drop:
		report.Dropped = append(report.Dropped, st.key)
	}
	return nil
}

// settle looks at a key again and brings the record in line with what is here,
// or what is here in line with a znode that has gone. The world may have moved
// on since the plan was made, above all if there was a download in between.
func (r *Replicator) settle(ctx context.Context, key string) (action, error) {
	here := r.store.holding(key)
	holders, znode, err := r.holders(ctx, key)
	if err != nil {
		return 0, err
	}
	r.forgetOld(key, holders)
	v := view{self: r.self}
	if here != (holding{}) {
		v.local = map[string]holding{key: here}
	}
	if znode {
		// Not those of others: what is newer there has to wait for the next Sync.
		v.holders = map[string]map[string]int64{key: {}}
		if version, ok := holders[r.self]; ok {
			v.holders[key][r.self] = version
		}
	}
	steps, _ := plan(v)
	if len(steps) == 0 {
		return 0, nil
	}
	did := steps[0].do
	switch did {
	case announce:
		return did, r.hold(ctx, key, here.version)
	case release:
		r.unsay(key)
		return did, r.peers.ReleaseBlob(ctx, key, r.self)
	case drop:
		r.unsay(key)
		return did, r.store.Delete(key, Self())
	default:
		return 0, nil
	}
}

func (r *Replicator) hold(ctx context.Context, key string, version int64) error {
	if err := r.peers.HoldBlob(ctx, key, r.self, int(version)); err != nil {
		return fmt.Errorf("announce blob %q: %w", key, err)
	}
	r.store.setAnnounced(key)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said[key] = version
	return nil
}

// unsay forgets that key was announced.
func (r *Replicator) unsay(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.said, key)
}

// fetch downloads a blob from the first who gives it.
func (r *Replicator) fetch(ctx context.Context, st step) (bool, error) {
	var errs []error
	for _, nimbus := range st.from {
		err := r.fetchFrom(ctx, nimbus, st.key)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, ErrStale): // it was changed here meanwhile
			return false, nil
		}
		errs = append(errs, fmt.Errorf("from nimbus %s: %w", nimbus, err))
		if ctx.Err() != nil {
			break
		}
	}
	return false, errors.Join(errs...)
}

func (r *Replicator) fetchFrom(ctx context.Context, nimbus, key string) error {
	staged, err := r.store.stage()
	if err != nil {
		return err
	}
	version, meta, err := r.peers.Fetch(ctx, nimbus, key, staged)
	if err != nil {
		staged.drop()
		return err
	}
	return r.store.importStaged(staged, key, version, meta)
}

// Announce records that this nimbus has the blob key, in the version that is
// here now. Errors: ErrKeyNotFound, ErrDamaged, those of the records.
func (r *Replicator) Announce(ctx context.Context, key string) error {
	if err := r.turn.enter(ctx); err != nil {
		return err
	}
	defer r.turn.leave()
	e, err := r.store.find(key)
	if err != nil {
		return err
	}
	if e.damaged {
		return damaged(e.record)
	}
	return r.hold(ctx, key, e.Version)
}

// Remove deletes a blob on all nimbuses: here at once, on the others with their
// next Sync. Who may write it. One who may do everything can remove a blob that
// is not here; else that is an ErrKeyNotFound.
// Errors: ErrKeyNotFound, ErrAuthorization, those of the records.
func (r *Replicator) Remove(ctx context.Context, key string, who Subject) error {
	if err := r.turn.enter(ctx); err != nil {
		return err
	}
	defer r.turn.leave()
	e, err := r.store.find(key)
	absent := errors.Is(err, ErrKeyNotFound) && who.Admin
	if err != nil && !absent {
		return err
	}
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := r.store.check(key, e.ACL, who, Write); err != nil {
		return err
	}
	// The record first: without it, what a crash leaves here is dropped later.
	r.unsay(key)
	if err := r.peers.RemoveBlob(ctx, key); err != nil {
		return fmt.Errorf("delete blob %q: %w", key, err)
	}
	if absent {
		return nil
	}
	return r.store.Delete(key, Self())
}

// Copies is on how many nimbuses the newest version of a blob is.
func (r *Replicator) Copies(ctx context.Context, key string) (int, error) {
	holders, _, err := r.holders(ctx, key)
	if err != nil {
		return 0, fmt.Errorf("copies of blob %q: %w", key, err)
	}
	return newestCopies(holders), nil
}

// holdings is what the store has, for the Replicator.
func (s *Store) holdings() map[string]holding {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make(map[string]holding, len(s.entries))
	for key, e := range s.entries {
		all[key] = e.holding()
	}
	return all
}

// holding is zero if there is no such blob.
func (s *Store) holding(key string) holding {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.entries[key]
	if !ok {
		return holding{}
	}
	return e.holding()
}

func (e entry) holding() holding {
	return holding{version: e.Version, damaged: e.damaged, announced: e.announced}
}

// setAnnounced remembers that others know of key.
func (s *Store) setAnnounced(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.entries[key]; ok {
		e.announced = true
		s.entries[key] = e
	}
}

// observe keeps the versions that are given out here above those elsewhere.
func (s *Store) observe(version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, version)
}
