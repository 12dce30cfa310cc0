package blobstore

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// disk is what the store does to files: the seam at which tests crash it.
type disk interface {
	// Create makes a new file for writing.
	Create(name string) (file, error)
	Open(name string) (file, error)
	// ReadDir is the files of a directory.
	ReadDir(name string) ([]info, error)
	MkdirAll(name string) error
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
	// SyncDir makes the names in a directory survive a crash.
	SyncDir(name string) error
}

// file is an open file.
type file interface {
	io.ReadWriteCloser
	io.ReaderAt
	Sync() error
	Size() (int64, error)
}

// info is what a directory says of a file.
type info struct {
	name     string
	size     int64
	modified time.Time
}

// realDisk is the computer's. What it makes is for nimbus's user alone, since
// configurations of topologies have secrets.
type realDisk struct{}

type realFile struct{ *os.File }

func (f realFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func opened(f *os.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return realFile{f}, nil
}

func (realDisk) Create(name string) (file, error) {
	return opened(os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))
}

func (realDisk) Open(name string) (file, error) { return opened(os.Open(name)) }

func (realDisk) ReadDir(name string) ([]info, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var all []info
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		st, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, info{e.Name(), st.Size(), st.ModTime()})
	}
	return all, nil
}

func (realDisk) MkdirAll(name string) error   { return os.MkdirAll(name, 0o700) }
func (realDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (realDisk) Link(from, to string) error   { return os.Link(from, to) }
func (realDisk) Remove(name string) error     { return os.Remove(name) }

func (realDisk) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// remove removes a file that may be gone already.
func remove(d disk, name string) error {
	if err := d.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
