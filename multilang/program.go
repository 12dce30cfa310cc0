package multilang

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const pathVariable = "PATH="

// environment is that of the worker with what is needed besides. As in Storm, a
// PATH in extra comes behind the worker's.
func environment(extra []string, mark string) []string {
	env := os.Environ()
	if os.Getenv("PYTHONIOENCODING") == "" {
		// Python would write in the encoding of the locale.
		env = append(env, "PYTHONIOENCODING=utf-8")
	}
	for _, e := range extra {
		if own, ok := strings.CutPrefix(e, pathVariable); ok {
			if all := os.Getenv("PATH"); all != "" {
				e = pathVariable + all + string(filepath.ListSeparator) + own
			}
		}
		env = append(env, e)
	}
	return append(env, markVariable+"="+mark)
}

// program is what a component's command names: a path, from its folder on, or
// a name that the search path has, then that of its own environment, then its
// folder.
func program(spec Spec) string {
	name := spec.Argv[0]
	if strings.ContainsRune(name, filepath.Separator) {
		return name
	}
	if _, err := exec.LookPath(name); err == nil {
		return name
	}
	dirs := []string{}
	for _, e := range spec.Env {
		if own, ok := strings.CutPrefix(e, pathVariable); ok {
			dirs = append(dirs, filepath.SplitList(own)...)
		}
	}
	for _, dir := range append(dirs, ".") {
		path := filepath.Join(dir, name)
		if filepath.Base(path) == path {
			path = "." + string(filepath.Separator) + path
		}
		if info, err := os.Stat(within(spec.Dir, path)); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return name
}

// within is a path that counts from dir.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// explain says what to do about a process that could not be started.
func explain(spec Spec, err error) error {
	name := program(spec)
	if spec.Dir != "" {
		if info, statErr := os.Stat(spec.Dir); statErr != nil || !info.IsDir() {
			return fmt.Errorf("cannot run in %s, which is no directory: %w; were the resources submitted?", spec.Dir, err)
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist) && strings.ContainsRune(name, filepath.Separator):
		if line := interpreterOf(within(spec.Dir, name)); line != "" {
			return fmt.Errorf("%q cannot be run: %w: its first line, %s, names an interpreter that is not on this host; install it, or mend the line (\\r is the end of a line of Windows, which is not one here)", name, err, line)
		}
		fallthrough
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no program %q: %w; install it on this host, or give the right path", name, err)
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("%q may not be executed: %w; make it executable (chmod +x)", name, err)
	default:
		return fmt.Errorf("cannot start %q: %w", name, err)
	}
}

// interpreterOf is the first line of a script, quoted; "" if it is none.
func interpreterOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const longest = 128 // more is nothing that the system reads
	line, _ := bufio.NewReader(io.LimitReader(f, longest)).ReadString('\n')
	if !strings.HasPrefix(line, "#!") {
		return ""
	}
	return strconv.Quote(strings.TrimSuffix(line, "\n"))
}
