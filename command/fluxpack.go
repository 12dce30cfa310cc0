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
	"slices"
	"strings"

	"github.com/stormring/stormring/flux"
)

// What a topology's resources may be at most.
const (
	maxPackFiles = 100_000
	maxPackBytes = 1 << 30
	maxPackDepth = 64
)

// resourcesName is the folder in a jar where shell components run.
const resourcesName = "resources"

// pack is the files that a topology's shell components run in.
type pack struct {
	// dir has them; it does not exist if there are none.
	dir string
	// there tells that dir exists.
	there bool
	// jar is a jar that has them already; "" is none.
	jar string
	// shown is what errors call dir.
	shown string
}

// findResources is the directory that the user has named, which must exist, or
// the one beside a file.
func findResources(folder, named string) (*pack, error) {
	p := &pack{dir: named}
	if named == "" {
		p.dir = filepath.Join(folder, resourcesName)
	}
	p.shown = p.dir
	info, err := os.Stat(p.dir)
	switch {
	case err == nil && info.IsDir():
		p.there = true
	case named == "" && (err == nil || errors.Is(err, fs.ErrNotExist)):
	case err == nil:
		return nil, usagef("the resources %s are no directory", p.dir)
	default:
		return nil, fmt.Errorf("the resources: %w", err)
	}
	return p, nil
}

// isScript tells whether a word of a command is a file that an interpreter is to
// run.
func isScript(word string) bool {
	switch path.Ext(word) {
	case ".py", ".js", ".mjs", ".cjs", ".rb", ".sh", ".pl", ".php", ".lua", ".ts", ".r", ".R":
		return !strings.HasPrefix(word, "-") && !filepath.IsAbs(word)
	default:
		return false
	}
}

// missingScripts warns of scripts in commands that are not among the resources.
func (p *pack) missingScripts(t *flux.Topology) []flux.Problem {
	var out []flux.Problem
	for _, v := range t.Vertices {
		for _, word := range v.Command {
			if !isScript(word) {
				continue
			}
			text := fmt.Sprintf("%s runs %s, which is not in %s", v.ID, word, p.shown)
			if !p.there {
				text = fmt.Sprintf("%s runs %s, but there is no directory %s; name one by -R", v.ID, word, p.shown)
			}
			if _, err := os.Stat(filepath.Join(p.dir, word)); !p.there || errors.Is(err, fs.ErrNotExist) {
				out = append(out, flux.Problem{Place: v.At, Text: text})
			}
		}
	}
	return out
}

// upload writes what is to be sent with a topology to a temporary file, which
// Close removes: the resources in a zip, behind this program if the topology
// needs that. It is nil if nothing has to be sent.
func (p *pack) upload(ctx context.Context, withProgram bool) (_ *tempFile, err error) {
	if !withProgram && !p.there && p.jar == "" {
		return nil, nil //nolint:nilnil // nothing to send
	}
	file, err := os.CreateTemp("", "stormring-flux-*.jar")
	if err != nil {
		return nil, fmt.Errorf("packing the topology: %w", err)
	}
	t := &tempFile{File: file}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	size := int64(0)
	if withProgram {
		self, err := openSelf()
		if err != nil {
			return nil, err
		}
		size, err = io.Copy(file, self)
		if err = errors.Join(err, self.Close()); err != nil {
			return nil, fmt.Errorf("packing the topology: %w", err)
		}
	}
	switch {
	case p.jar != "":
		err = appendFile(file, p.jar)
	case p.there:
		err = p.zip(ctx, file, size)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("packing the topology: %w", err)
	}
	return t, nil
}

func appendFile(to io.Writer, name string) error {
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from)
	return err
}

// tempFile is a file that is removed when it is closed.
type tempFile struct{ *os.File }

// Close closes and removes the file.
func (t *tempFile) Close() error { return errors.Join(t.File.Close(), os.Remove(t.Name())) }

// zip writes the directory as a zip behind offset bytes, with those of our
// adapters that its scripts import and it lacks.
func (p *pack) zip(ctx context.Context, to io.Writer, offset int64) error {
	root, err := filepath.EvalSymlinks(p.dir)
	if err != nil {
		return err
	}
	z := &zipper{ctx: ctx, w: zip.NewWriter(to), root: root, shown: p.dir}
	z.w.SetOffset(offset)
	if err := z.folder(root, resourcesName, nil); err != nil {
		return err
	}
	return z.w.Close()
}

// zipper packs a directory.
type zipper struct {
	ctx   context.Context //nolint:containedctx // of one call of zip
	w     *zip.Writer
	root  string // without links
	shown string // what the user calls it
	files int
	bytes int64
}

// folder packs what is in a folder under a name. above are the folders that it
// is in.
func (z *zipper) folder(dir, name string, above []string) error {
	if slices.Contains(above, dir) {
		return fmt.Errorf("%s links to a folder that it is in; take the link away", name)
	}
	if len(above) >= maxPackDepth {
		return fmt.Errorf("%s is nested more than %d deep", name, maxPackDepth)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if _, err := z.w.Create(name + "/"); err != nil {
		return err
	}
	above = append(slices.Clip(above), dir)
	for _, e := range entries {
		if err := z.entry(filepath.Join(dir, e.Name()), path.Join(name, e.Name()), above); err != nil {
			return err
		}
	}
	more, err := missingAdapters(dir, name, entries)
	if err != nil {
		return err
	}
	for _, a := range more {
		header := &zip.FileHeader{Name: path.Join(name, a.name), Method: zip.Deflate}
		header.SetMode(0o644)
		to, err := z.w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := to.Write(a.text); err != nil {
			return err
		}
	}
	return nil
}

func (z *zipper) entry(at, name string, above []string) error {
	if err := z.ctx.Err(); err != nil {
		return err
	}
	if z.files++; z.files > maxPackFiles {
		return fmt.Errorf("%s has more than %d files; put large sets of files into the blob store", z.shown, maxPackFiles)
	}
	target, err := filepath.EvalSymlinks(at)
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(z.root, target); err != nil || !filepath.IsLocal(inside) {
		return fmt.Errorf("%s is a link to %s, which is not in %s; copy it there", name, target, z.shown)
	}
	info, err := os.Stat(target)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return z.folder(target, name, above)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder (%s), so it cannot be sent; take it away", name, info.Mode().Type())
	}
	return z.file(target, name, info)
}

func (z *zipper) file(at, name string, info fs.FileInfo) error {
	header, err := zip.FileInfoHeader(info)
	if err != nil {
		return err
	}
	header.Name, header.Method = name, zip.Deflate
	to, err := z.w.CreateHeader(header)
	if err != nil {
		return err
	}
	from, err := os.Open(at)
	if err != nil {
		return err
	}
	defer from.Close()
	n, err := io.Copy(to, io.LimitReader(from, maxPackBytes-z.bytes+1))
	if z.bytes += n; z.bytes > maxPackBytes {
		return fmt.Errorf("%s has more than %d MiB; put large files into the blob store", z.shown, maxPackBytes>>20)
	}
	return err
}
