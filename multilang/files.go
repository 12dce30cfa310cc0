package multilang

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// writeFiles writes a component's own files, and the adapters that are not among
// them, into a new folder, which is the caller's to remove.
func writeFiles(files fs.FS) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "stormring-files-"); err != nil {
		return "", fmt.Errorf("a folder for the component's files: %w; make room for it or set TMPDIR", err)
	}
	if err := fill(dir, files); err != nil {
		return "", errors.Join(fmt.Errorf("the component's files: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

func fill(dir string, files fs.FS) error {
	root, err := os.OpenRoot(dir) // no name leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	n := 0
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)):
			return fmt.Errorf("%q is not a name that a file can have here", name)
		case entry.IsDir():
			return root.MkdirAll(filepath.FromSlash(name), 0o700)
		}
		n++
		return writeFile(root, files, name, name)
	})
	switch {
	case err != nil:
		return err
	case n == 0:
		return errors.New("there are none; what is embedded may be in a folder that fs.Sub has to be given")
	}
	return fs.WalkDir(adapters, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if _, err := root.Lstat(path.Base(name)); err == nil {
			return nil // it has its own
		}
		return writeFile(root, adapters, name, path.Base(name))
	})
}

// writeFile copies one file. It may be run if it is a script or could be before.
func writeFile(root *os.Root, files fs.FS, name, as string) (err error) {
	in, err := files.Open(name)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	defer in.Close()
	info, err := in.Stat() // of what a link leads to
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is neither a file nor a folder (%v), so it cannot be carried; leave it out", name, info.Mode().Type())
	}
	text := bufio.NewReader(in)
	mode := fs.FileMode(0o600)
	if start, _ := text.Peek(2); bytes.Equal(start, []byte("#!")) || path.Ext(name) == ".sh" || info.Mode()&0o111 != 0 {
		mode = 0o700
	}
	out, err := root.OpenFile(filepath.FromSlash(as), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return fmt.Errorf("write %q: %w", as, err)
	}
	_, err = io.Copy(out, text)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("copy %q (%d bytes) to %s: %w; if there is no room, make some or set TMPDIR", name, info.Size(), root.Name(), err)
	}
	return nil
}
