package supervisor

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/stormring/stormring/internal/clock"
)

// Processes is the launcher of a host: each worker is a process, with its files
// in localDir, storm.local.dir, and its logs in logDir; both are absolute.
func Processes(ctx context.Context, localDir, logDir string, c clock.Clock, log *slog.Logger) (Launcher, error) {
	return newProcesses(ctx, Config{LocalDir: localDir, LogDir: logDir, Clock: c, Logger: log})
}

// IsProgram reports whether the code of the topology whose files are in dir is a
// program, which is started as its worker, and no archive.
func IsProgram(dir string) (bool, error) { return isProgram(filepath.Join(dir, "stormjar.jar")) }
