package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/stormring/stormring/nimbus/blobstore"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// CreateBlob stores what r has as a new blob. Errors: ErrKeyExists,
// ErrAuthorization, ErrUncertain, those of r.
func (c *Client) CreateBlob(ctx context.Context, key string, meta blobstore.Meta, r io.Reader) error {
	return c.upload(ctx, key, r, func(ctx context.Context, x *conn) (string, error) {
		return x.BeginCreateBlob(ctx, key, metaToThrift(meta))
	})
}

// UpdateBlob replaces a blob's content by what r has. Errors: ErrKeyNotFound,
// ErrAuthorization, ErrUncertain, those of r.
func (c *Client) UpdateBlob(ctx context.Context, key string, r io.Reader) error {
	return c.upload(ctx, key, r, func(ctx context.Context, x *conn) (string, error) {
		return x.BeginUpdateBlob(ctx, key)
	})
}

// upload is the whole of an upload, after which nothing stays if it failed
// before its end.
func (c *Client) upload(ctx context.Context, key string, r io.Reader, begin func(context.Context, *conn) (string, error)) error {
	from := source{r: r}
	return named(key, c.do(ctx, once, func(ctx context.Context, x *conn) error {
		if err := from.rewind(); err != nil {
			return err
		}
		session, err := begin(ctx, x)
		if err != nil {
			return harmless(err)
		}
		if err = c.chunks(&from, func(chunk []byte) error { return x.UploadBlobChunk(ctx, session, chunk) }); err != nil {
			// Else nimbus ends the session by itself later on. What matters is
			// why the upload failed.
			_ = x.CancelBlobUpload(context.WithoutCancel(ctx), session)
			return fmt.Errorf("upload of blob %q: %w", key, harmless(err))
		}
		return x.FinishBlobUpload(ctx, session)
	}))
}

// named is err with a sentence about the key where nimbus says the key alone,
// as Storm does.
func named(key string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Text == key {
		e.Text = fmt.Sprintf("blob %q: %v", key, e.Kind)
	}
	return err
}

// FetchBlob writes a blob's content to w and returns its version. After an
// error w may have got a part of it. Errors: ErrKeyNotFound, ErrAuthorization,
// those of w.
func (c *Client) FetchBlob(ctx context.Context, key string, w io.Writer) (version int64, err error) {
	err = c.do(ctx, again, func(ctx context.Context, x *conn) error {
		begun, err := x.BeginBlobDownload(ctx, key)
		if err != nil {
			return err
		}
		version = begun.Version
		n := int64(0)
		for {
			chunk, err := x.DownloadBlobChunk(ctx, begun.Session)
			switch {
			case err != nil && n == 0:
				return err
			case err != nil:
				return fmt.Errorf("download of blob %q broke off after %d bytes: %w", key, n, harmless(err))
			case len(chunk) == 0 && begun.DataSize != nil && n != *begun.DataSize:
				return final{fmt.Errorf("download of blob %q: %d bytes came and %d were promised", key, n, *begun.DataSize)}
			case len(chunk) == 0:
				return nil
			}
			n += int64(len(chunk))
			if _, err := w.Write(chunk); err != nil {
				return final{fmt.Errorf("download of blob %q: %w", key, err)}
			}
		}
	})
	return version, named(key, err)
}

// Blobs is the keys of all blobs, sorted.
func (c *Client) Blobs(ctx context.Context) ([]string, error) {
	return ask(ctx, c, func(x *conn, ctx context.Context) ([]string, error) {
		keys, session := []string{}, ""
		for {
			page, err := x.ListBlobs(ctx, session)
			if err != nil || len(page.Keys) == 0 {
				return keys, err
			}
			keys, session = append(keys, page.Keys...), page.Session
		}
	})
}

// BlobMeta is what is known of a blob; its Size is not. Errors:
// ErrKeyNotFound, ErrAuthorization.
func (c *Client) BlobMeta(ctx context.Context, key string) (blobstore.ReadableMeta, error) {
	m, err := ask1(ctx, c, (*conn).GetBlobMeta, key)
	if err != nil {
		return blobstore.ReadableMeta{}, named(key, err)
	}
	return blobstore.ReadableMeta{Meta: metaFromThrift(m.Settable), Version: m.Version}, nil
}

// SetBlobMeta changes a blob's ACL and, if that is above 0, its replication.
// Errors: ErrKeyNotFound, ErrAuthorization.
func (c *Client) SetBlobMeta(ctx context.Context, key string, meta blobstore.Meta) error {
	err := c.do(ctx, again, func(ctx context.Context, x *conn) error { return x.SetBlobMeta(ctx, key, metaToThrift(meta)) })
	return named(key, err)
}

// DeleteBlob deletes a blob. Errors: ErrKeyNotFound, ErrIllegalState if a
// topology uses it, ErrAuthorization, ErrUncertain.
func (c *Client) DeleteBlob(ctx context.Context, key string) error {
	return named(key, c.do(ctx, once, func(ctx context.Context, x *conn) error { return x.DeleteBlob(ctx, key) }))
}

// BlobReplication is on how many nimbuses a blob is. Errors: ErrKeyNotFound,
// ErrAuthorization.
func (c *Client) BlobReplication(ctx context.Context, key string) (int, error) {
	n, err := ask1(ctx, c, (*conn).GetBlobReplication, key)
	return int(n), named(key, err)
}

// SetBlobReplication says on how many nimbuses a blob should be and returns on
// how many it is. Errors: ErrKeyNotFound, ErrAuthorization.
func (c *Client) SetBlobReplication(ctx context.Context, key string, n int) (int, error) {
	is, err := ask2(ctx, c, (*conn).UpdateBlobReplication, key, number(n))
	return int(is), named(key, err)
}

// BlobExists reports whether there is a blob.
func (c *Client) BlobExists(ctx context.Context, key string) (bool, error) {
	return ask1(ctx, c, (*conn).IsRemoteBlobExists, key)
}

// number is n, or the next that the interface has.
func number(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }

func metaToThrift(m blobstore.Meta) *gen.SettableBlobMeta {
	x := &gen.SettableBlobMeta{Acl: make([]*gen.AccessControl, len(m.ACL)), ReplicationFactor: new(int32(-1))}
	if m.Replication > 0 {
		x.ReplicationFactor = new(number(m.Replication))
	}
	for i, e := range m.ACL {
		x.Acl[i] = &gen.AccessControl{Type: gen.AccessControlType(e.Type), Access: number(int(e.Access))}
		if e.Name != "" {
			x.Acl[i].Name = &e.Name
		}
	}
	return x
}

func metaFromThrift(x *gen.SettableBlobMeta) blobstore.Meta {
	m := blobstore.Meta{Replication: int(x.GetReplicationFactor())}
	for _, e := range x.GetAcl() {
		m.ACL = append(m.ACL, blobstore.AccessControl{
			Type:   blobstore.AccessType(e.GetType()),
			Name:   e.GetName(),
			Access: blobstore.Access(e.GetAccess()),
		})
	}
	return m
}
