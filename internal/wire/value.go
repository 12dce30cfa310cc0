package wire

import (
	"errors"
	"fmt"
	"math"
)

// clamp is n as Thrift's i32: what is too large or small for it becomes its
// largest or smallest.
func clamp[N ~int | ~int64](n N) int32 {
	return int32(max(math.MinInt32, min(int64(n), math.MaxInt32)))
}

// optional is nil for the zero value, which stands for a field that is not set.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// value is the zero value for a field that is not set.
func value[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// clampOptional is an optional i32 of which 0 is a value like any other.
func clampOptional(n *int) *int32 {
	if n == nil {
		return nil
	}
	return new(clamp(*n))
}

func intOptional(n *int32) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}

// required are the elements of in, and an empty list if there are none.
func required[A, B any](in []A, f func(A) B) []B {
	out := make([]B, len(in))
	for i, a := range in {
		out[i] = f(a)
	}
	return out
}

// list is like required, but nil if there are none.
func list[A, B any](in []A, f func(A) B) []B {
	if len(in) == 0 {
		return nil
	}
	return required(in, f)
}

// tried is like required for what can fail; the error says which element of
// what it was.
func tried[A, B any](what string, in []A, f func(A) (B, error)) ([]B, error) {
	out := make([]B, len(in))
	for i, a := range in {
		var err error
		if out[i], err = f(a); err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", what, i, err)
		}
	}
	return out, nil
}

// dict are the values of in, and an empty map if there are none.
func dict[K comparable, A, B any](in map[K]A, f func(A) B) map[K]B {
	out := make(map[K]B, len(in))
	for k, a := range in {
		out[k] = f(a)
	}
	return out
}

// triedDict is like dict for what can fail; the error says which key of what it
// was.
func triedDict[A, B any](what string, in map[string]A, f func(A) (B, error)) (map[string]B, error) {
	out := make(map[string]B, len(in))
	for k, a := range in {
		b, err := f(a)
		if err != nil {
			return nil, fmt.Errorf("%s[%q]: %w", what, k, err)
		}
		out[k] = b
	}
	return out, nil
}

// unset is nil for an empty map, which stands for a field that is not set.
func unset[M ~map[K]V, K comparable, V any](m M) M {
	if len(m) == 0 {
		return nil
	}
	return m
}

// set is m, and an empty map if there is none.
func set[M ~map[K]V, K comparable, V any](m M) M {
	if m == nil {
		return M{}
	}
	return m
}

// errAbsent is a struct that is needed and not there.
var errAbsent = errors.New("it is missing")

// oneArm checks that exactly one arm of a union is set. None at all is what
// arms that we do not know look like.
func oneArm(union string, arms ...bool) error {
	n := 0
	for _, set := range arms {
		if set {
			n++
		}
	}
	switch n {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("none of the arms of %s that are known here is set", union)
	default:
		return fmt.Errorf("%d arms of %s are set, has to be one", n, union)
	}
}

// unknown is a number of an enumeration that has no such number.
func unknown(enum string, n int64) error { return fmt.Errorf("%d is no %s", n, enum) }
