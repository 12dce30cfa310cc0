//go:build !linux

package store

import "errors"

// allocate is not known here.
func allocate(string, int64) error { return errors.ErrUnsupported }
