//go:build unix

package process

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Names of the files that a worker's standard output and error go to, as Storm
// has them.
const (
	StdoutName = "worker.log.out"
	StderrName = "worker.log.err"
)

// Spec is a worker to start.
type Spec struct {
	// WorkerID names the worker and its directory. A supervisor that makes it
	// of the slot's port and the number of the launch finds the worker again
	// by what it knew before it started it.
	WorkerID string
	// Argv is the program, as an absolute path or as a name to look for in
	// PATH, and its arguments.
	Argv []string
	// Dir is where it runs; its own directory if it is "".
	Dir string
	// Env is all of its environment, "NAME=value" each, but for [MarkerEnv].
	Env []string
	// LogDir gets its output files; made if it is not there.
	LogDir string
	// LogMaxBytes is the size from which an output file is rotated; 0 for
	// never.
	LogMaxBytes int64
	// LogKeep is how many older files are kept of each.
	LogKeep int
}

func (s Spec) logs() logFiles {
	return logFiles{Dir: s.LogDir, MaxBytes: s.LogMaxBytes, Keep: s.LogKeep}
}

func (s Spec) validate() error {
	if err := checkID(s.WorkerID); err != nil {
		return err
	}
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("worker %s: %s", s.WorkerID, fmt.Sprintf(format, args...))
	}
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return wrong("there is no program to start")
	case strings.Contains(s.Argv[0], "/") && !filepath.IsAbs(s.Argv[0]):
		return wrong("the program %s has a relative path; give an absolute one", s.Argv[0])
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return wrong("the working directory %s is relative; give an absolute one", s.Dir)
	case !filepath.IsAbs(s.LogDir):
		return wrong("the log directory %q is not absolute", s.LogDir)
	case s.LogMaxBytes < 0 || s.LogKeep < 0:
		return wrong("LogMaxBytes is %d and LogKeep %d; give 0 or more", s.LogMaxBytes, s.LogKeep)
	}
	for _, text := range slices.Concat(s.Argv, s.Env) {
		if strings.ContainsRune(text, 0) {
			return wrong("an argument or a variable has a zero byte in it: %q", text)
		}
	}
	return nil
}

// checkID refuses what is not the plain name of a directory.
func checkID(worker string) error {
	if worker == "" || strings.HasPrefix(worker, ".") || strings.ContainsAny(worker, "/\\\x00\n") || len(worker) > 255 {
		return fmt.Errorf("%q is no worker id; it has to be a plain file name that does not begin with a dot", worker)
	}
	return nil
}

func environment(env []string, dir string) []string {
	out := []string{MarkerEnv + "=" + dir}
	for _, v := range env {
		if !strings.HasPrefix(v, MarkerEnv+"=") {
			out = append(out, v)
		}
	}
	return out
}
