package wordcount

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stormring/stormring/storm"
)

// stdinPath stands for standard input.
const stdinPath = "-"

// accessRead asks syscall.Access whether a path can be read.
const accessRead = 4

// input is one thing to read.
type input struct {
	path string
	size int64 // bytes of a regular file
	// waits tells that reading may wait for somebody who writes: a pipe, a
	// terminal or standard input.
	waits bool
}

// resolve finds out what paths mean and whether it can be read; the default
// for no paths is Go's own source.
func resolve(paths []string, stdin io.Reader) ([]input, error) {
	if len(paths) == 0 {
		return goSources()
	}
	var inputs []input
	for _, path := range paths {
		if path == stdinPath {
			if slices.ContainsFunc(inputs, func(in input) bool { return in.path == stdinPath }) {
				return nil, fmt.Errorf("%w: standard input (-) is given twice; it can be read once", storm.ErrUsage)
			}
			if stdin == nil {
				return nil, errors.New("there is no standard input to read")
			}
			inputs = append(inputs, input{path: stdinPath, waits: true})
			continue
		}
		found, err := resolvePath(path)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, found...)
	}
	return inputs, nil
}

// resolvePath takes path as it is if it exists, else as a pattern.
func resolvePath(path string) ([]input, error) {
	info, err := os.Stat(path)
	if err == nil {
		return resolveFile(path, info)
	}
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(path, `*?[\`) {
		return nil, unreadable(path, err)
	}
	matches, err := filepath.Glob(path)
	if err != nil {
		return nil, fmt.Errorf("input %q does not exist and is no valid pattern: %w", path, err)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("input %q does not exist, and as a pattern it matches no file", path)
	}
	var inputs []input
	for _, match := range matches {
		info, err := os.Stat(match)
		if err != nil {
			return nil, unreadable(match, err)
		}
		found, err := resolveFile(match, info)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, found...)
	}
	return inputs, nil
}

func resolveFile(path string, info fs.FileInfo) ([]input, error) {
	switch {
	case info.IsDir():
		return walk(path, func(string, fs.DirEntry) bool { return true })
	case !info.Mode().IsRegular():
		// Opening it here could wait, or take a pipe away from its writer.
		if err := syscall.Access(path, accessRead); err != nil {
			return nil, unreadable(path, err)
		}
		return []input{{path: path, waits: true}}, nil
	}
	if err := tryOpen(path); err != nil {
		return nil, err
	}
	return []input{{path: path, size: info.Size()}}, nil
}

// walk finds all regular files below root that keep wants, sorted by path.
// What keep does not want of directories is not entered.
func walk(root string, keep func(path string, d fs.DirEntry) bool) ([]input, error) {
	var inputs []input
	// The separator has a root that is a link followed.
	err := filepath.WalkDir(root+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return unreadable(filepath.Clean(path), err)
		}
		path = filepath.Clean(path)
		switch {
		case d.IsDir() && !keep(path, d):
			return filepath.SkipDir
		case !d.Type().IsRegular() || !keep(path, d):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return unreadable(path, err)
		}
		inputs = append(inputs, input{path: path, size: info.Size()})
		return tryOpen(path)
	})
	slices.SortFunc(inputs, func(a, b input) int { return cmp.Compare(a.path, b.path) })
	return inputs, err
}

// tryOpen finds out before the run whether a regular file can be read.
func tryOpen(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return unreadable(path, err)
	}
	f.Close()
	return nil
}

// unreadable says the path once.
func unreadable(path string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fmt.Errorf("cannot read input %q: %w", path, err)
}

// goSources are the Go files of the standard library.
func goSources() ([]input, error) {
	root, err := goRoot()
	if err != nil {
		return nil, err
	}
	src := filepath.Join(root, "src")
	inputs, err := walk(src, func(path string, d fs.DirEntry) bool {
		if d.IsDir() {
			return path != filepath.Join(src, "cmd")
		}
		return strings.HasSuffix(path, ".go")
	})
	if err != nil {
		return nil, fmt.Errorf("no --input is given, and the default is Go's source: %w", err)
	}
	if len(inputs) == 0 {
		return nil, fmt.Errorf("no --input is given, and the default, Go's source, is not in %s; name an --input", src)
	}
	return inputs, nil
}

// goRoot finds Go's own tree.
func goRoot() (string, error) {
	if root := os.Getenv("GOROOT"); root != "" {
		return root, nil
	}
	if root := build.Default.GOROOT; root != "" {
		if info, err := os.Stat(filepath.Join(root, "src")); err == nil && info.IsDir() {
			return root, nil
		}
	}
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	root := strings.TrimSpace(string(out))
	if err != nil || root == "" {
		return "", errors.New("no --input is given, and the default, Go's source, was not found: set GOROOT or name an --input")
	}
	return root, nil
}
