package nimbus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/submit"
	"github.com/stormring/stormring/nimbus/survey"
)

// storeBlobs is a blob store as nimbus uses it.
type storeBlobs struct {
	store *blobstore.Store
	clock clock.Clock
}

// NewBlobs makes a blob store what a Nimbus needs. It times uploads out by c.
func NewBlobs(s *blobstore.Store, c clock.Clock) Blobs { return &storeBlobs{s, c} }

// meta gives a blob to its owner, and lets everybody read it if nobody is.
func meta(owner string) blobstore.Meta {
	if owner == "" {
		return blobstore.Meta{}
	}
	return blobstore.Meta{ACL: []blobstore.AccessControl{
		{Type: blobstore.User, Name: owner, Access: blobstore.Read | blobstore.Write | blobstore.Admin},
	}}
}

// absent turns the store's not-found into nimbus's.
func absent(err error) error {
	if errors.Is(err, blobstore.ErrKeyNotFound) {
		return fmt.Errorf("%w: %w", ErrKeyNotFound, err)
	}
	return err
}

func (b *storeBlobs) Put(ctx context.Context, key, owner string, data io.Reader) (int64, error) {
	return b.store.Put(ctx, key, meta(owner), data)
}

func (b *storeBlobs) Get(ctx context.Context, key string) (io.ReadCloser, int64, error) {
	r, m, err := b.store.Get(ctx, key)
	return r, m.Version, absent(err)
}

func (b *storeBlobs) Version(_ context.Context, key string) (int64, error) {
	m, err := b.store.Meta(key, blobstore.Self())
	return m.Version, absent(err)
}

func (b *storeBlobs) Delete(_ context.Context, key string) error {
	if err := b.store.Delete(key, blobstore.Self()); !errors.Is(err, blobstore.ErrKeyNotFound) {
		return err
	}
	return nil
}

func (b *storeBlobs) Keys(context.Context) ([]string, error) { return b.store.Keys(""), nil }

func (b *storeBlobs) Head(location string) ([]byte, error) {
	u, err := b.store.OpenUpload(location)
	if err != nil {
		return nil, err
	}
	defer u.Close()
	head := make([]byte, min(u.Size, elfHeader))
	_, err = u.ReadAt(head, 0)
	return head, err
}

func (b *storeBlobs) Adopt(ctx context.Context, location, key, owner string) error {
	_, err := b.store.Adopt(ctx, location, key, meta(owner))
	return err
}

func (b *storeBlobs) Sweep(context.Context) error { return b.store.Sweep(b.clock.Now()) }

// announceBlobs tells other nimbuses of a topology's blobs.
func (t *term) announceBlobs(ctx context.Context, id cluster.TopologyID, code, conf, jar bool) error {
	for end, wanted := range map[string]bool{codeEnd: code, confEnd: conf, jarEnd: jar} {
		if !wanted {
			continue
		}
		if err := t.announceBlob(ctx, string(id)+end); err != nil {
			return err
		}
	}
	return nil
}

func (t *term) announceBlob(ctx context.Context, key string) error {
	if t.copies == nil {
		return nil
	}
	return absent(t.copies.Announce(ctx, key))
}

// AnnounceBlob tells other nimbuses of a blob that a user has made or changed
// here. Errors: ErrNotLeader if there is no session, ErrKeyNotFound.
func (n *Nimbus) AnnounceBlob(ctx context.Context, key string) error {
	t, err := n.current()
	if err != nil {
		return err
	}
	return t.announceBlob(ctx, key)
}

// BlobCopies is on how many nimbuses a blob is. Errors: ErrNotLeader if there is
// no session, ErrKeyNotFound.
func (n *Nimbus) BlobCopies(ctx context.Context, key string) (int, error) {
	t, err := n.current()
	if err != nil {
		return 0, err
	}
	if t.copies == nil {
		return 1, nil
	}
	copies, err := t.copies.Copies(ctx, key)
	return copies, absent(err)
}

// RemovedBlob tells other nimbuses that a user has deleted a blob here. Errors:
// ErrNotLeader if there is no session.
func (n *Nimbus) RemovedBlob(ctx context.Context, key string) error {
	t, err := n.current()
	if err != nil {
		return err
	}
	return t.store.RemoveBlob(ctx, key)
}

// CheckDelete refuses to delete a blob that a topology needs. Errors:
// ErrIllegalState.
func (n *Nimbus) CheckDelete(ctx context.Context, key string) error {
	t, err := n.current()
	if err != nil {
		return err
	}
	all, err := n.loadTopologies(ctx, t.store)
	if err != nil {
		return err
	}
	if id, ok := topologyOf(key); ok {
		if _, alive := all[id]; alive {
			return asf(ErrIllegalState, "blob %q belongs to topology %s, which is alive: kill it first", key, id)
		}
	}
	for id, topology := range all {
		if topology.Code != nil && uses(topology.Code, key) {
			return asf(ErrIllegalState, "blob %q is used by topology %s: kill it first", key, id)
		}
	}
	return nil
}

// uses reports whether a topology names a blob.
func uses(code *survey.Code, key string) bool {
	return slices.Contains(submit.BlobKeys(code.Layout.Conf, code.User), key)
}
