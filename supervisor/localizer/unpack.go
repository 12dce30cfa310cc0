package localizer

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// unpacker writes what is in an archive into one folder and nowhere else.
// Links are made last, so that nothing is written through one.
type unpacker struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one call
	root   *os.Root
	prefix string // of paths in the record
	files  map[string]file
	order  []string
	links  []string
}

// unpackTo unpacks an archive into the new folder dir; in the record its files
// get the prefix. What kind it is is told by its first bytes.
func unpackTo(ctx context.Context, archive, key, dir, prefix string) ([]file, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	return inRoot(ctx, dir, prefix, func(u *unpacker) error {
		head, err := headOf(archive, 512)
		if err != nil {
			return err
		}
		switch {
		case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
			return u.zip(archive, "")
		case bytes.HasPrefix(head, []byte("\x1f\x8b")):
			return u.tarFile(archive, true)
		case len(head) == 512 && string(head[257:262]) == "ustar", strings.HasSuffix(key, ".tar"):
			return u.tarFile(archive, false)
		}
		return errors.New("it is no zip, tar or tar.gz")
	})
}

// unpackResources unpacks what a jar has in resources/; nothing if it is no zip.
func unpackResources(ctx context.Context, jar, dir string) ([]file, error) {
	return inRoot(ctx, filepath.Join(dir, resourcesDir), resourcesDir, func(u *unpacker) error {
		head, err := headOf(jar, 2)
		if err != nil {
			return err
		}
		err = u.zip(jar, resourcesDir+"/")
		if errors.Is(err, zip.ErrFormat) && string(head) != "PK" {
			return nil
		}
		return err
	})
}

func inRoot(ctx context.Context, dir, prefix string, work func(*unpacker) error) ([]file, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	u := &unpacker{ctx: ctx, root: root, prefix: prefix, files: map[string]file{}}
	if err := work(u); err != nil {
		return nil, err
	}
	if err := u.finish(); err != nil {
		return nil, err
	}
	out := make([]file, len(u.order))
	for i, name := range u.order {
		out[i] = u.files[name]
	}
	return out, nil
}

func (u *unpacker) zip(archive, below string) error {
	r, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer r.Close()
	for _, f := range r.File {
		name, ok := strings.CutPrefix(f.Name, below)
		if !ok {
			continue
		}
		if err := u.zipEntry(f, name); err != nil {
			return fmt.Errorf("entry %q: %w", f.Name, err)
		}
	}
	return nil
}

func (u *unpacker) zipEntry(f *zip.File, name string) error {
	mode := f.Mode()
	if strings.HasSuffix(name, "/") || name == "" || mode.IsDir() {
		return u.dir(name)
	}
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	switch mode.Type() {
	case 0:
		return u.file(name, mode, r)
	case fs.ModeSymlink:
		target, err := io.ReadAll(io.LimitReader(r, maxTarget+1))
		if err != nil {
			return err
		}
		return u.symlink(name, string(target))
	default:
		return errKind
	}
}

func (u *unpacker) tarFile(archive string, zipped bool) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if zipped {
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	in := tar.NewReader(reader{u.ctx, r})
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			// What follows is read too: a checksum may be at its end.
			_, err = io.Copy(io.Discard, reader{u.ctx, r})
			return err
		}
		if err != nil {
			return err
		}
		if err := u.tarEntry(h, in); err != nil {
			return fmt.Errorf("entry %q: %w", h.Name, err)
		}
	}
}

func (u *unpacker) tarEntry(h *tar.Header, in io.Reader) error {
	switch h.Typeflag {
	case tar.TypeXGlobalHeader:
		return nil
	case tar.TypeDir:
		return u.dir(h.Name)
	case tar.TypeReg, tar.TypeGNUSparse:
		return u.file(h.Name, h.FileInfo().Mode(), in)
	case tar.TypeSymlink:
		return u.symlink(h.Name, h.Linkname)
	case tar.TypeLink:
		return u.hardlink(h.Name, h.Linkname)
	default:
		return errKind
	}
}

var (
	errKind    = errors.New("it is neither file, folder nor link")
	errOutside = errors.New("it leads out of its folder")
)

// maxTarget bounds where a link can point to, in bytes.
const maxTarget = 4096

// clean is an entry's name as a path below the root; "." is the root.
func clean(name string) (string, error) {
	name = strings.TrimSuffix(name, "/")
	if name == "" {
		return ".", nil
	}
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(name) {
		return "", errOutside
	}
	return path.Clean(name), nil
}

func (u *unpacker) note(name string, f file) {
	if _, ok := u.files[name]; !ok {
		u.order = append(u.order, name)
	}
	f.Path = filepath.Join(u.prefix, name)
	u.files[name] = f
}

func (u *unpacker) dir(name string) error {
	name, err := clean(name)
	if err != nil || name == "." {
		return err
	}
	return u.mkdir(name)
}

// mkdir makes a folder and those that it is in.
func (u *unpacker) mkdir(name string) error {
	have, there := u.files[name]
	switch {
	case name == "." || have.Dir:
		return nil
	case there:
		return fmt.Errorf("%q is in the archive as a file or a link, too", name)
	}
	if err := u.mkdir(path.Dir(name)); err != nil {
		return err
	}
	if err := u.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	u.note(name, file{Dir: true})
	return nil
}

func (u *unpacker) file(name string, mode fs.FileMode, r io.Reader) error {
	name, err := u.place(name)
	if err != nil {
		return err
	}
	if err := u.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // two of a name: the last one counts, but for folders
	}
	in := bufio.NewReader(r)
	if head, _ := in.Peek(4); string(head) == "\x7fELF" || bytes.HasPrefix(head, []byte("#!")) {
		mode |= 0o111 // jars do not carry the permission
	}
	f, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|mode.Perm()&0o111)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := io.Copy(f, reader{u.ctx, in})
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	u.note(name, file{Size: n})
	return nil
}

// place is where an entry goes that is no folder.
func (u *unpacker) place(name string) (string, error) {
	name, err := clean(name)
	switch {
	case err != nil:
		return "", err
	case name == "." || u.files[name].Dir:
		return "", errors.New("it is a folder already")
	}
	if err := u.ctx.Err(); err != nil {
		return "", context.Cause(u.ctx)
	}
	return name, u.mkdir(path.Dir(name))
}

func (u *unpacker) hardlink(name, target string) error {
	target, err := clean(target)
	if err != nil {
		return fmt.Errorf("link to %q: %w", target, err)
	}
	have, ok := u.files[target]
	if !ok || have.Dir || have.Link != "" {
		return fmt.Errorf("link to %q, which is no file before it", target)
	}
	if name, err = u.place(name); err != nil || name == target {
		return err
	}
	if err := u.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := u.root.Link(target, name); err != nil {
		return err
	}
	u.note(name, have)
	return nil
}

func (u *unpacker) symlink(name, target string) error {
	name, err := u.place(name)
	if err != nil {
		return err
	}
	if target == "" || len(target) > maxTarget || path.IsAbs(target) || strings.ContainsRune(target, 0) ||
		!filepath.IsLocal(path.Join(path.Dir(name), target)) {
		return fmt.Errorf("link to %q: %w", target, errOutside)
	}
	u.note(name, file{Link: target})
	u.links = append(u.links, name)
	return nil
}

// finish makes the links and follows each: several together can lead out though
// none does by itself.
func (u *unpacker) finish() error {
	made := map[string]bool{}
	for _, name := range u.links {
		target := u.files[name].Link
		if target == "" || made[name] {
			continue // another entry of that name came after
		}
		made[name] = true
		if err := u.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("entry %q: %w", name, err)
		}
		if err := u.root.Symlink(target, name); err != nil {
			return fmt.Errorf("entry %q: %w", name, err)
		}
	}
	for name := range made {
		if _, err := u.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("entry %q: link to %q: %w: %w", name, u.files[name].Link, errOutside, err)
		}
	}
	return nil
}

// reader stops reading when its context is over.
type reader struct {
	ctx context.Context //nolint:containedctx // it lives as long as one call
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

// headOf is what a file begins with, at most n bytes.
func headOf(name string, n int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, n)
	got, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:got], err
}
