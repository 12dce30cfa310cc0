package command

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stormring/stormring/multilang"
)

// maxScriptBytes is how much of a script is searched for what it imports.
const maxScriptBytes = 1 << 20

// adapter is the file of ours that scripts in a language import.
type adapter struct {
	language string // as multilang.AdapterFile has it
	exts     []string
	imports  *regexp.Regexp
}

func adapters() []adapter {
	return []adapter{
		{"python", []string{".py"}, regexp.MustCompile(`(?m)^[ \t]*(?:import[ \t]+(?:[\w., \t]*,[ \t]*)?|from[ \t]+)stormring\b`)},
		{"node", []string{".js", ".cjs", ".mjs"}, regexp.MustCompile(`["'` + "`" + `]\./stormring(?:\.js)?["'` + "`" + `]`)},
		{"ruby", []string{".rb"}, regexp.MustCompile(`(?m)^[ \t]*require(?:_relative)?[ \t(]+["'](?:\./)?stormring(?:\.rb)?["']`)},
		{"posix", []string{".sh", ".bash"}, regexp.MustCompile(`(?m)^[ \t]*(?:\.|source)[ \t]+\S*\bstormring\.sh\b`)},
	}
}

// addedFile is a file that a folder of the resources gets from us.
type addedFile struct {
	name string
	text []byte
}

// missingAdapters are those of our files that scripts in a folder import and that
// are not there. name is the folder's in the zip.
func missingAdapters(dir, name string, entries []fs.DirEntry) ([]addedFile, error) {
	if foreignCode(name) {
		return nil, nil
	}
	var out []addedFile
	for _, a := range adapters() {
		file, text, err := multilang.AdapterFile(a.language)
		if err != nil {
			return nil, err
		}
		named := func(e fs.DirEntry) bool { return e.Name() == file }
		if slices.ContainsFunc(entries, named) {
			continue
		}
		needed, err := a.neededIn(dir, entries)
		if err != nil {
			return nil, err
		}
		if needed {
			out = append(out, addedFile{file, text})
		}
	}
	return out, nil
}

// foreignCode tells a folder of packages, which do not import ours.
func foreignCode(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "node_modules" || part == "site-packages" || part == "__pycache__" || part == ".git" {
			return true
		}
	}
	return false
}

// neededIn tells whether a script in a folder imports the adapter.
func (a adapter) neededIn(dir string, entries []fs.DirEntry) (bool, error) {
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		info, err := os.Stat(at)
		if !slices.Contains(a.exts, path.Ext(e.Name())) || err != nil || !info.Mode().IsRegular() {
			continue
		}
		file, err := os.Open(at)
		if err != nil {
			return false, err
		}
		text, err := io.ReadAll(io.LimitReader(file, maxScriptBytes))
		if err = errors.Join(err, file.Close()); err != nil {
			return false, err
		}
		if a.imports.Match(text) {
			return true, nil
		}
	}
	return false, nil
}

// lacks tells whether a folder, or one in it, lacks an adapter. Links that zip
// refuses are left to it.
func lacks(dir, name string, above []string) (bool, error) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil || slices.Contains(above, dir) || len(above) > maxPackDepth || foreignCode(name) {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	if more, err := missingAdapters(dir, name, entries); err != nil || len(more) > 0 {
		return len(more) > 0, err
	}
	above = append(slices.Clip(above), dir)
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if info, err := os.Stat(at); err != nil || !info.IsDir() {
			continue
		}
		if some, err := lacks(at, path.Join(name, e.Name()), above); err != nil || some {
			return some, err
		}
	}
	return false, nil
}

// complete is the folder that shell components can run in here: the resources,
// or a copy of them if one of our adapters is to be added. remove takes the copy
// away.
func (p *pack) complete(ctx context.Context) (dir string, remove func() error, err error) {
	dir, err = filepath.Abs(p.dir)
	remove = func() error { return nil }
	if err != nil || !p.there || p.jar != "" {
		return dir, remove, err
	}
	if some, err := lacks(dir, resourcesName, nil); err != nil || !some {
		return dir, remove, err
	}
	whole, err := os.MkdirTemp("", "stormring-flux-")
	if err != nil {
		return "", remove, err
	}
	remove = func() error { return os.RemoveAll(whole) }
	dir = filepath.Join(whole, resourcesName)
	if err := p.copyTo(ctx, dir); err != nil {
		return "", remove, errors.Join(fmt.Errorf("copying the resources: %w", err), remove())
	}
	return dir, remove, nil
}

// copyTo puts into dir what workers of a cluster would get.
func (p *pack) copyTo(ctx context.Context, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	file, err := p.upload(ctx, false)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	packed, err := zip.NewReader(file, info.Size())
	if err != nil {
		return err
	}
	_, err = extract(ctx, packed, dir)
	return err
}
