//go:build !unix

package supervisor

import (
	"context"
	"errors"
)

func newProcesses(context.Context, Config) (Launcher, error) {
	return nil, errors.New("workers cannot be run as processes on this system; run supervisors on Linux, or everything with stormring local")
}
