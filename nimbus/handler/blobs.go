package handler

import (
	"context"
	"math"

	"github.com/stormring/stormring/nimbus/blobstore"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

const (
	reads  = unauthorized | keyNotFound
	writes = unauthorized
)

// nobody is who asks: this transport does not say.
func nobody() blobstore.Subject { return blobstore.Subject{} }

// BeginCreateBlob begins the upload of a new blob.
func (h *handler) BeginCreateBlob(ctx context.Context, key string, meta *gen.SettableBlobMeta) (string, error) {
	if err := h.leads(ctx); err != nil {
		return "", h.fail(ctx, unauthorized|keyExists, err)
	}
	return answer(ctx, h, unauthorized|keyExists, same[string])(h.blobs.BeginCreate(key, metaFromThrift(meta), nobody()))
}

// BeginUpdateBlob begins the upload of a blob's new content.
func (h *handler) BeginUpdateBlob(ctx context.Context, key string) (string, error) {
	if err := h.leads(ctx); err != nil {
		return "", h.fail(ctx, reads, err)
	}
	return answer(ctx, h, reads, same[string])(h.blobs.BeginUpdate(key, nobody()))
}

// UploadBlobChunk adds to an upload.
func (h *handler) UploadBlobChunk(ctx context.Context, session string, chunk []byte) error {
	return h.fail(ctx, writes, h.blobs.UploadChunk(session, chunk))
}

// FinishBlobUpload makes what was uploaded the blob, here and in the records by
// which other nimbuses find it.
func (h *handler) FinishBlobUpload(ctx context.Context, session string) error {
	return h.fail(ctx, writes, h.finish(ctx, session))
}

func (h *handler) finish(ctx context.Context, session string) error {
	if err := h.leads(ctx); err != nil {
		return err
	}
	key, err := h.blobs.UploadKey(session)
	if err != nil {
		return err
	}
	if _, err := h.blobs.FinishUpload(session); err != nil {
		return err
	}
	return h.nimbus.AnnounceBlob(ctx, key)
}

// CancelBlobUpload forgets what was uploaded.
func (h *handler) CancelBlobUpload(ctx context.Context, session string) error {
	return h.fail(ctx, writes, h.blobs.CancelUpload(session))
}

// GetBlobMeta is a blob's ACL, replication and version.
func (h *handler) GetBlobMeta(ctx context.Context, key string) (*gen.ReadableBlobMeta, error) {
	return answer(ctx, h, reads, sure(metaToThrift))(h.blobs.Meta(key, nobody()))
}

// SetBlobMeta changes a blob's ACL and replication.
func (h *handler) SetBlobMeta(ctx context.Context, key string, meta *gen.SettableBlobMeta) error {
	err := h.leads(ctx)
	if err == nil {
		err = h.blobs.SetMeta(key, metaFromThrift(meta), nobody())
	}
	return h.fail(ctx, reads, err)
}

// BeginBlobDownload begins the download of a blob.
func (h *handler) BeginBlobDownload(ctx context.Context, key string) (*gen.BeginDownloadResult_, error) {
	return answer(ctx, h, reads, sure(func(d blobstore.Download) *gen.BeginDownloadResult_ {
		return &gen.BeginDownloadResult_{Version: d.Version, Session: d.Session, DataSize: &d.Size}
	}))(h.blobs.BeginDownload(key, nobody()))
}

// DownloadBlobChunk is the next piece of a download; the end is an empty one.
func (h *handler) DownloadBlobChunk(ctx context.Context, session string) ([]byte, error) {
	return answer(ctx, h, writes, func(chunk []byte) ([]byte, error) {
		if chunk == nil {
			chunk = []byte{} // an absent result is an exception to clients
		}
		return chunk, nil
	})(h.blobs.DownloadChunk(session))
}

// DeleteBlob deletes a blob that no topology needs.
func (h *handler) DeleteBlob(ctx context.Context, key string) error {
	return h.fail(ctx, unauthorized|keyNotFound|illegalState, h.remove(ctx, key))
}

func (h *handler) remove(ctx context.Context, key string) error {
	if err := h.leads(ctx); err != nil {
		return err
	}
	if err := h.nimbus.CheckDelete(ctx, key); err != nil {
		return err
	}
	if err := h.blobs.Delete(key, nobody()); err != nil {
		return err
	}
	return h.nimbus.RemovedBlob(ctx, key)
}

// ListBlobs is a page of keys; an empty one is the end.
func (h *handler) ListBlobs(ctx context.Context, session string) (*gen.ListBlobsResult_, error) {
	keys, next, err := h.blobs.List(session)
	if err != nil {
		return nil, h.fail(ctx, nothing, err)
	}
	if keys == nil {
		keys = []string{}
	}
	return &gen.ListBlobsResult_{Keys: keys, Session: next}, nil
}

// GetBlobReplication is on how many nimbuses a blob is.
func (h *handler) GetBlobReplication(ctx context.Context, key string) (int32, error) {
	if _, err := h.blobs.Meta(key, nobody()); err != nil {
		return 0, h.fail(ctx, reads, err)
	}
	return answer(ctx, h, reads, sure(number))(h.copies(ctx, key))
}

// UpdateBlobReplication says on how many nimbuses a blob should be. The answer
// is on how many it is.
func (h *handler) UpdateBlobReplication(ctx context.Context, key string, n int32) (int32, error) {
	if n <= 0 {
		return 0, refuse("blob %q cannot be on %d nimbuses: at least 1 is needed", key, n)
	}
	err := h.leads(ctx)
	if err == nil {
		err = h.replicate(key, int(n))
	}
	if err != nil {
		return 0, h.fail(ctx, reads, err)
	}
	return answer(ctx, h, reads, sure(number))(h.copies(ctx, key))
}

func (h *handler) replicate(key string, n int) error {
	m, err := h.blobs.Meta(key, nobody())
	if err != nil {
		return err
	}
	m.Meta.Replication = n
	return h.blobs.SetMeta(key, m.Meta, nobody())
}

// CreateStateInZookeeper does nothing: finishing an upload does it.
func (h *handler) CreateStateInZookeeper(context.Context, string) error { return nil }

// IsRemoteBlobExists reports whether there is a blob.
func (h *handler) IsRemoteBlobExists(_ context.Context, key string) (bool, error) {
	return h.blobs.Exists(key), nil
}

// DownloadChunk refuses: nothing hands out the ids that it would take.
func (h *handler) DownloadChunk(context.Context, string) ([]byte, error) {
	return nil, refuse("files are downloaded as blobs: beginBlobDownload, downloadBlobChunk")
}

// number is n, or the next that the interface has.
func number(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

func metaToThrift(m blobstore.ReadableMeta) *gen.ReadableBlobMeta {
	acl := make([]*gen.AccessControl, len(m.Meta.ACL))
	for i, e := range m.Meta.ACL {
		acl[i] = &gen.AccessControl{Type: gen.AccessControlType(e.Type), Access: number(int(e.Access))}
		if e.Name != "" {
			acl[i].Name = &e.Name
		}
	}
	return &gen.ReadableBlobMeta{
		Settable: &gen.SettableBlobMeta{Acl: acl, ReplicationFactor: new(number(m.Meta.Replication))},
		Version:  m.Version,
	}
}

// metaFromThrift is what x says; nil says nothing.
func metaFromThrift(x *gen.SettableBlobMeta) blobstore.Meta {
	if x == nil {
		return blobstore.Meta{}
	}
	m := blobstore.Meta{Replication: int(x.GetReplicationFactor())}
	for _, e := range x.Acl {
		if e == nil {
			continue
		}
		m.ACL = append(m.ACL, blobstore.AccessControl{
			Type:   blobstore.AccessType(e.Type),
			Name:   e.GetName(),
			Access: blobstore.Access(e.Access),
		})
	}
	return m
}
