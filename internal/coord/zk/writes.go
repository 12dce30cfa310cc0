package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	zookeeper "github.com/go-zookeeper/zk"

	"github.com/stormring/stormring/internal/coord"
)

// opOverhead is no less than what an operation of a request has besides its
// path and its data: headers, lengths, flags and the access list.
const opOverhead = 64

// check says which of the operations cannot be, and why.
func (s *session) check(ops ...coord.Op) (index int, err error) {
	size, packet := 0, 0
	for i, op := range ops {
		var data []byte
		_, path := op.Name()
		err := coord.ValidatePath(path)
		switch op := op.(type) {
		case coord.CreateOp:
			data, err = op.Data, coord.ValidateCreate(path, op.Mode)
		case coord.SetOp:
			data = op.Data
		case coord.DeleteOp:
			if path == "/" {
				err = fmt.Errorf("%w: the root stays", coord.ErrInvalidPath)
			}
		case coord.CheckOp:
		}
		size += len(data)
		packet += len(data) + len(path) + opOverhead
		if err == nil {
			err = coord.CheckSize(size, s.cfg.MaxDataBytes)
		}
		if err == nil {
			err = coord.CheckSize(packet, s.cfg.MaxDataBytes+packetRoom)
		}
		if err != nil {
			return i, err
		}
	}
	return coord.NoIndex, nil
}

func (s *session) Create(ctx context.Context, path string, data []byte, mode coord.Mode) (string, error) {
	data = slices.Clone(data) // the library may look at it when the call has returned
	_, invalid := s.check(coord.CreateOp{Path: path, Data: data, Mode: mode})
	created, err := do(ctx, s, writes, invalid, func(c *zookeeper.Conn) (string, error) {
		return c.Create(path, data, int32(mode), zookeeper.WorldACL(zookeeper.PermAll))
	})
	if err != nil {
		return "", coord.Failed("create", path, err)
	}
	return created, nil
}

func (s *session) Set(ctx context.Context, path string, data []byte, version int32) (coord.Stat, error) {
	data = slices.Clone(data)
	_, invalid := s.check(coord.SetOp{Path: path, Data: data, Version: version})
	set, err := do(ctx, s, writes, invalid, func(c *zookeeper.Conn) (coord.Stat, error) {
		st, err := c.Set(path, data, version)
		if err != nil {
			return coord.Stat{}, err
		}
		return stat(st), nil
	})
	return set, coord.Failed("set", path, err)
}

func (s *session) Delete(ctx context.Context, path string, version int32) error {
	_, invalid := s.check(coord.DeleteOp{Path: path, Version: version})
	_, err := do(ctx, s, writes, invalid, func(c *zookeeper.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(path, version)
	})
	return coord.Failed("delete", path, err)
}

// outcome is what became of a Multi that ZooKeeper has answered.
type outcome struct {
	results []coord.Result
	failed  int
	err     error // the library's, of the operation that failed
}

func (s *session) Multi(ctx context.Context, ops ...coord.Op) ([]coord.Result, error) {
	failed, invalid := s.check(ops...)
	request := requests(ops)
	out, err := do(ctx, s, writes, invalid, func(c *zookeeper.Conn) (outcome, error) {
		if len(ops) == 0 {
			return outcome{}, nil
		}
		responses, err := c.Multi(request...)
		// The first that has an error failed; those before have none.
		i := slices.IndexFunc(responses, func(r zookeeper.MultiResponse) bool { return r.Error != nil })
		switch {
		case i >= 0:
			return outcome{failed: i, err: responses[i].Error}, nil
		case err == nil && len(responses) != len(ops):
			err = fmt.Errorf("%d operations are answered with %d results", len(ops), len(responses))
		}
		return outcome{results: results(responses)}, err
	})
	switch {
	case err == nil && out.err == nil:
		return out.results, nil
	case err == nil:
		failed, err = out.failed, s.reason(out.err, writes)
	case invalid == nil || !errors.Is(err, invalid):
		return nil, coord.Failed("multi", "", err)
	}
	op, path := ops[failed].Name()
	return nil, &coord.OpError{Op: op, Path: path, Index: failed, Err: err}
}

// requests are the library's of the operations.
func requests(ops []coord.Op) []any {
	out := make([]any, len(ops))
	for i, op := range ops {
		switch op := op.(type) {
		case coord.CreateOp:
			out[i] = &zookeeper.CreateRequest{Path: op.Path, Data: slices.Clone(op.Data), Acl: zookeeper.WorldACL(zookeeper.PermAll), Flags: int32(op.Mode)}
		case coord.SetOp:
			out[i] = &zookeeper.SetDataRequest{Path: op.Path, Data: slices.Clone(op.Data), Version: op.Version}
		case coord.DeleteOp:
			out[i] = &zookeeper.DeleteRequest{Path: op.Path, Version: op.Version}
		case coord.CheckOp:
			out[i] = &zookeeper.CheckVersionRequest{Path: op.Path, Version: op.Version}
		}
	}
	return out
}

// results are those of operations that were all done.
func results(responses []zookeeper.MultiResponse) []coord.Result {
	out := make([]coord.Result, len(responses))
	for i, r := range responses {
		out[i].Path = r.String
		if r.Stat != nil {
			out[i].Stat = stat(r.Stat)
		}
	}
	return out
}
