package localizer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// recordFormat is the version of a record.
const recordFormat = 1

// maxRecord bounds how much of a record is read; an unpacked archive needs
// about 100 bytes for each of its files.
const maxRecord = 256 << 20

// role is what a blob is to its topology.
type role string

const (
	own        role = "own" // code, conf, jar
	dependency role = "dependency"
	mapped     role = "map"
)

// record is what should be in a generation.
type record struct {
	Format  int    `json:"format"`
	Program bool   `json:"program,omitempty"`
	Blobs   []blob `json:"blobs"`
}

// blob is one of them. Paths are relative to the generation.
type blob struct {
	Key     string `json:"key"`
	Role    role   `json:"role"`
	Version int64  `json:"version"`
	// Path is the file, or the folder that it was unpacked to.
	Path string `json:"path"`
	// Size and SHA256 are of the blob as it came.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Link is its local name.
	Link    string `json:"link,omitempty"`
	Unpack  bool   `json:"unpack,omitempty"`
	Restart bool   `json:"restart,omitempty"`
	// Files came out of it; of a jar, only its resources.
	Files []file `json:"files,omitempty"`
}

// file is what was in an archive. Only one of Dir and Link can be set.
type file struct {
	Path string `json:"path"`
	Size int64  `json:"size,omitempty"`
	Dir  bool   `json:"dir,omitempty"`
	Link string `json:"link,omitempty"`
}

// entry is what was asked for when the blob was fetched.
func (b blob) entry() Entry {
	return Entry{Key: b.Key, Name: b.Link, Unpack: b.Unpack, Restart: b.Restart}
}

func (r *record) links() []string {
	var out []string
	for _, b := range r.Blobs {
		if b.Link != "" {
			out = append(out, b.Link)
		}
	}
	return out
}

func (r *record) find(role role, key string) (blob, bool) {
	for _, b := range r.Blobs {
		if b.Key == key && b.Role == role {
			return b, true
		}
	}
	return blob{}, false
}

// decodeRecord reads a record and refuses one that leads out of its folder.
func decodeRecord(text []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if r.Format != recordFormat {
		return nil, fmt.Errorf("it has format %d, this release reads %d", r.Format, recordFormat)
	}
	for _, b := range r.Blobs {
		paths := []string{b.Path}
		if b.Link != "" {
			paths = append(paths, b.Link)
		}
		for _, f := range b.Files {
			paths = append(paths, f.Path)
		}
		for _, p := range paths {
			if !filepath.IsLocal(p) {
				return nil, fmt.Errorf("path %q leads elsewhere", p)
			}
		}
	}
	return &r, nil
}

func readRecord(dir string) (*record, error) {
	f, err := os.Open(filepath.Join(dir, recordFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRecord))
	if err != nil {
		return nil, err
	}
	return decodeRecord(text)
}

// damaged are the keys of blobs in dir that are not as they should be. With
// full it reads them all, else it looks at sizes.
func (r *record) damaged(ctx context.Context, dir string, full bool) ([]string, error) {
	var out []string
	for _, b := range r.Blobs {
		err := b.check(ctx, dir, full)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil && !slices.Contains(out, b.Key) {
			out = append(out, b.Key)
		}
	}
	return out, nil
}

var errDamaged = errors.New("it is not what was fetched")

func (b blob) check(ctx context.Context, dir string, full bool) error {
	path := filepath.Join(dir, b.Path)
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() != b.Unpack {
		return errDamaged
	}
	if !b.Unpack {
		if !info.Mode().IsRegular() || info.Size() != b.Size {
			return errDamaged
		}
		if full {
			if sum, err := sumOf(ctx, path); err != nil || sum != b.SHA256 {
				return errors.Join(errDamaged, err)
			}
		}
	}
	if b.Link != "" {
		if target, err := os.Readlink(filepath.Join(dir, b.Link)); err != nil || target != b.Path {
			return errors.Join(errDamaged, err)
		}
	}
	for _, f := range b.Files {
		if err := f.check(dir); err != nil {
			return err
		}
	}
	return nil
}

// check allows that a component has written more into its own folder.
func (f file) check(dir string) error {
	info, err := os.Lstat(filepath.Join(dir, f.Path))
	switch {
	case err != nil:
		return err
	case f.Dir != info.IsDir(), (f.Link != "") != (info.Mode().Type() == fs.ModeSymlink):
		return errDamaged
	case info.Mode().IsRegular() && info.Size() < f.Size:
		return errDamaged
	}
	return nil
}

// sumOf reads a file.
func sumOf(ctx context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, reader{ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
