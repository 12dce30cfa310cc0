package assignment

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apache "github.com/apache/thrift/lib/go/thrift"
)

// readFields reads a struct. The field function reads the value of a field that it
// knows and is told the type for; what it does not know is skipped.
func readFields(ctx context.Context, p apache.TProtocol, field func(id int16, kind apache.TType) (known bool, err error)) error {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, kind, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if kind == apache.STOP {
			return p.ReadStructEnd(ctx)
		}
		known, err := field(id, kind)
		if err == nil && !known {
			err = p.Skip(ctx, kind)
		}
		if err != nil {
			return fmt.Errorf("field %d: %w", id, err)
		}
		if err = p.ReadFieldEnd(ctx); err != nil {
			return err
		}
	}
}

// missing is the error for a required field that is not there.
func missing(what string) error {
	return apache.NewTProtocolExceptionWithType(apache.INVALID_DATA, fmt.Errorf("required field %s is not set", what))
}

// typed reads a field if its type is the expected one.
func typed(kind, expected apache.TType, read func() error) (bool, error) {
	if kind != expected {
		return false, nil
	}
	return true, read()
}

// readMap reads a map with keys and values of two types. An empty map may name
// any types, as some writers do.
func readMap[K comparable, V any](ctx context.Context, p apache.TProtocol, keys, values apache.TType,
	key func(context.Context, apache.TProtocol) (K, error), value func(context.Context, apache.TProtocol) (V, error),
) (map[K]V, error) {
	k, v, n, err := p.ReadMapBegin(ctx)
	if err != nil {
		return nil, err
	}
	if n > 0 && (k != keys || v != values) {
		return nil, apache.NewTProtocolExceptionWithType(apache.INVALID_DATA,
			fmt.Errorf("a map of %v to %v where %v to %v belongs", k, v, keys, values))
	}
	m := make(map[K]V, apache.PreallocSize(n))
	for range n {
		at, err := key(ctx, p)
		if err != nil {
			return nil, err
		}
		if m[at], err = value(ctx, p); err != nil {
			return nil, err
		}
	}
	return m, p.ReadMapEnd(ctx)
}

// writeMap writes a map in the order of its keys, so that equal ones give equal
// bytes.
func writeMap[K comparable, V any](ctx context.Context, p apache.TProtocol, m map[K]V, keys, values apache.TType,
	order func(a, b K) int, write func(K, V) error,
) error {
	if err := p.WriteMapBegin(ctx, keys, values, len(m)); err != nil {
		return err
	}
	for _, k := range slices.SortedFunc(maps.Keys(m), order) {
		if err := write(k, m[k]); err != nil {
			return err
		}
	}
	return p.WriteMapEnd(ctx)
}

// field is one field of a struct to be written.
type field struct {
	name  string
	kind  apache.TType
	id    int16
	write func() error
}

func writeFields(ctx context.Context, p apache.TProtocol, name string, fields ...field) error {
	if err := p.WriteStructBegin(ctx, name); err != nil {
		return err
	}
	for _, f := range fields {
		if err := p.WriteFieldBegin(ctx, f.name, f.kind, f.id); err != nil {
			return err
		}
		if err := f.write(); err != nil {
			return fmt.Errorf("%s.%s: %w", name, f.name, err)
		}
		if err := p.WriteFieldEnd(ctx); err != nil {
			return err
		}
	}
	if err := p.WriteFieldStop(ctx); err != nil {
		return err
	}
	return p.WriteStructEnd(ctx)
}

func readString(ctx context.Context, p apache.TProtocol) (string, error)  { return p.ReadString(ctx) }
func readI64(ctx context.Context, p apache.TProtocol) (int64, error)      { return p.ReadI64(ctx) }
func readDouble(ctx context.Context, p apache.TProtocol) (float64, error) { return p.ReadDouble(ctx) }
