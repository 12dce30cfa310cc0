package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/stormring/stormring/sr3/shard"
)

const (
	// storeStreams is how many connections fetch from the remote store at a time.
	storeStreams = 4
	rangesKey    = "ranges"
)

// useStore puts a state into one Redis server or brings it back: the same objects
// that the ring keeps, made and installed by the same code, so that only where
// they come from differs.
func useStore(ctx context.Context, q storeRequest) (a reply, err error) {
	codec, err := shard.NewCodec(1, 0)
	if err != nil {
		return reply{}, err
	}
	r := redis.NewClient(&redis.Options{
		Addr: q.Addr, ReadTimeout: forEver, WriteTimeout: forEver, PoolSize: storeStreams, DisableIdentity: true,
		MaxRetries: 20, // it may just be starting
	})
	defer func() { err = errors.Join(err, r.Close()) }()
	began, table := time.Now(), shard.NewTable(shard.Options{Owner: q.owner()})
	if q.Put {
		a.Stored, err = putAll(ctx, r, codec, table, q.state)
	} else {
		a.Stored, err = getAll(ctx, r, codec, table)
	}
	a.Took = time.Since(began).Seconds()
	a.Digest = digest(table.All(nil))
	return a, err
}

// putAll makes version 1 of a state and stores its objects.
func putAll(ctx context.Context, r *redis.Client, codec *shard.Codec, table *shard.Table, s state) (int64, error) {
	if err := s.write(1, 1, table.Put); err != nil {
		return 0, err
	}
	stored, ranges := int64(0), []shard.Range{}
	frozen := table.Freeze()
	defer frozen.Release()
	err := frozen.Objects(codec, 1, 1, true, func(ref shard.Ref, body []byte) error {
		ranges = append(ranges, ref.Range)
		stored += ref.Stored
		return r.Set(ctx, ref.Range.String(), body, 0).Err()
	})
	if err != nil {
		return 0, fmt.Errorf("store in Redis: %w", err)
	}
	list, err := json.Marshal(ranges)
	if err != nil {
		return 0, err
	}
	return stored, r.Set(ctx, rangesKey, list, 0).Err()
}

// getAll fetches and installs all objects.
func getAll(ctx context.Context, r *redis.Client, codec *shard.Codec, table *shard.Table) (int64, error) {
	list, err := r.Get(ctx, rangesKey).Bytes()
	if err != nil {
		return 0, fmt.Errorf("read from Redis: %w", err)
	}
	var ranges []shard.Range
	if err := json.Unmarshal(list, &ranges); err != nil {
		return 0, err
	}
	if err := table.Expect(ranges...); err != nil {
		return 0, err
	}
	type part struct {
		shard *shard.Loaded
		bytes int64
	}
	parts := make(chan part)
	g, ctx := errgroup.WithContext(ctx)
	for i := range storeStreams {
		g.Go(func() error {
			for at := i; at < len(ranges); at += storeStreams {
				body, err := r.Get(ctx, ranges[at].String()).Bytes()
				if err != nil {
					return fmt.Errorf("read %v from Redis: %w", ranges[at], err)
				}
				object, err := codec.Open(body)
				if err != nil {
					return err
				}
				loaded, err := table.Prepare(object)
				if err != nil {
					return err
				}
				select {
				case parts <- part{loaded, int64(len(body))}:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nil
		})
	}
	stored := int64(0)
	g.Go(func() error {
		for range ranges {
			select {
			case p := <-parts:
				if err := table.Install(p.shard); err != nil {
					return err
				}
				stored += p.bytes
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return stored, g.Wait()
}
