package maven

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Source is where a file came from.
type Source string

// Sources of files.
const (
	Present Source = "present" // it was in the folder already
	Local   Source = "local"   // from the local repository
	Remote  Source = "remote"  // from the repository, over the network
)

// Progress tells of one file that is there.
type Progress struct {
	Artifact Artifact
	Source   Source
	Bytes    int64
	// Done files of Total are there.
	Done, Total int
}

// Fetch fills the folder dir, which has to be there, with the files of all
// artifacts. A file that is there already and has the right checksum is kept.
// Files appear whole or not at all. tell, if it is not nil, is called for each
// file, never twice at once. The first error ends it: ErrNotFound, ErrChecksum,
// those of ctx.
func (r *Repository) Fetch(ctx context.Context, artifacts []Artifact, dir string, tell func(Progress)) error {
	files := make(map[string]Artifact, len(artifacts))
	for _, a := range artifacts {
		if err := a.check(); err != nil {
			return err
		}
		if other, ok := files[a.File()]; ok && other != a {
			return fmt.Errorf("%s and %s are both called %s", other, a, a.File())
		}
		files[a.File()] = a
	}
	var (
		mu   sync.Mutex
		done int
	)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, a := range artifacts {
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			size, from, err := r.file(ctx, a, filepath.Join(dir, a.File()))
			if err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
			mu.Lock()
			defer mu.Unlock()
			done++
			if tell != nil {
				tell(Progress{Artifact: a, Source: from, Bytes: size, Done: done, Total: len(artifacts)})
			}
			return nil
		})
	}
	return g.Wait()
}

// file puts an artifact at to.
func (r *Repository) file(ctx context.Context, a Artifact, to string) (size int64, from Source, err error) {
	local := ""
	if r.local != "" {
		local = filepath.Join(r.local, filepath.FromSlash(a.path()))
	}
	var sum checksum
	known := false
	if local != "" {
		sum, known = localChecksum(local)
	}
	if !known {
		if sum, err = r.checksum(ctx, a.path()); err != nil {
			return 0, "", err
		}
	}
	size, ok, err := sum.ofFile(to)
	if err != nil || ok {
		return size, Present, err
	}
	if local != "" {
		size, ok, err = copyFile(sum, local, to)
		if err != nil || ok {
			return size, Local, err
		}
		if known { // what is damaged there may have a wrong checksum as well
			if sum, err = r.checksum(ctx, a.path()); err != nil {
				return 0, "", err
			}
		}
	}
	err = r.get(ctx, a.path(), func(body io.Reader) error {
		size, err = write(sum, body, to)
		return err
	})
	return size, Remote, err
}

// copyFile copies a file if it is there and has the checksum.
func copyFile(sum checksum, from, to string) (size int64, ok bool, err error) {
	f, err := os.Open(from)
	if err != nil {
		return 0, false, nil // then it is fetched
	}
	defer f.Close()
	size, err = write(sum, f, to)
	if errors.Is(err, ErrChecksum) {
		return 0, false, nil
	}
	return size, err == nil, err
}

// write makes the file at path of what r has, if that has the checksum.
func write(sum checksum, r io.Reader, path string) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return 0, &fatalError{err}
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	h := sum.hash()
	if size, err = io.Copy(io.MultiWriter(f, h), r); err != nil {
		if _, ok := errors.AsType[*fs.PathError](err); ok {
			err = &fatalError{err} // the disk, not the network
		}
		return 0, err
	}
	if err = sum.check(h); err != nil {
		return 0, err
	}
	for _, do := range []func() error{
		func() error { return f.Chmod(0o644) }, f.Sync, f.Close,
		func() error { return os.Rename(f.Name(), path) },
	} {
		if err = do(); err != nil {
			return 0, &fatalError{err}
		}
	}
	return size, nil
}
