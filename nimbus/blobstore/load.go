package blobstore

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
)

// The endings of files' names, and the file that keeps Store.mark.
const (
	metaEnding    = ".meta"
	dataEnding    = ".blob"
	tempEnding    = ".tmp"
	damagedEnding = ".damaged" // of meta files that cannot be read
	markName      = "versions"
	// maxRecord bounds what is read of a small file: 1 MiB.
	maxRecord = 1 << 20
)

// load makes the directories and takes in what is there.
func (s *Store) load() error {
	for _, dir := range []string{s.blobs, s.inbox.dir} {
		if err := s.disk.MkdirAll(dir); err != nil {
			return err
		}
	}
	if err := s.disk.SyncDir(s.dir); err != nil {
		return err
	}
	files, err := s.disk.ReadDir(s.blobs)
	if err != nil {
		return err
	}
	if err := s.loadMark(); err != nil {
		return err
	}
	s.last = s.mark
	sizes := make(map[string]int64, len(files))
	for _, f := range files {
		sizes[f.name] = f.size
	}
	kept, err := s.loadMetas(files, sizes)
	if err != nil {
		return err
	}
	if err := s.sweepBlobs(files, kept); err != nil {
		return err
	}
	return s.inbox.load()
}

// loadMetas fills entries. It returns which files, and which stems' data, are
// to stay.
func (s *Store) loadMetas(files []info, sizes map[string]int64) (map[string]bool, error) {
	kept := map[string]bool{markName: true}
	for _, f := range files {
		if base, ok := strings.CutSuffix(f.name, metaEnding+damagedEnding); ok {
			kept[f.name], kept[base] = true, true
			continue
		}
		base, ok := strings.CutSuffix(f.name, metaEnding)
		if !ok {
			continue
		}
		r, err := s.loadMeta(f.name)
		if err != nil {
			return nil, err
		}
		if r == nil { // set aside; so is its data
			kept[f.name+damagedEnding], kept[base] = true, true
			continue
		}
		size, there := sizes[r.dataName()]
		damaged := !there || size != r.Size
		if damaged {
			s.cfg.Logger.Warn("a blob's content is missing or cut off: upload it again, or let it come from another nimbus",
				"key", r.Key, "version", r.Version, "file", filepath.Join(s.blobs, r.dataName()))
		}
		kept[f.name], kept[r.dataName()] = true, true
		s.entries[r.Key] = entry{record: *r, damaged: damaged, announced: true}
		s.last = max(s.last, r.Version)
	}
	return kept, nil
}

// loadMeta reads a meta file. One that makes no sense is set aside and nil.
func (s *Store) loadMeta(name string) (*record, error) {
	path := filepath.Join(s.blobs, name)
	text, err := s.readSmall(path)
	if err != nil {
		return nil, err
	}
	r, err := decodeRecord(text)
	if err == nil && r.metaName() != name {
		err = fmt.Errorf("it is that of blob %q", r.Key)
	}
	if err == nil {
		return &r, nil
	}
	s.cfg.Logger.Warn("a blob's meta file cannot be read and is set aside: upload the blob again, or let it come from another nimbus",
		"file", path+damagedEnding, "err", err)
	return nil, s.disk.Rename(path, path+damagedEnding)
}

// loadMark reads the file of versions. Without it the clock has to do.
func (s *Store) loadMark() error {
	path := filepath.Join(s.blobs, markName)
	text, err := s.readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	body, err := unseal(text)
	if err == nil {
		s.mark, err = strconv.ParseInt(string(body), 10, 64)
	}
	if err != nil {
		s.cfg.Logger.Warn("the file of the last version cannot be read; versions go on from the clock", "file", path, "err", err)
		s.mark = 0
	}
	return nil
}

// sweepBlobs removes what belongs to no blob.
func (s *Store) sweepBlobs(files []info, kept map[string]bool) error {
	for _, f := range files {
		if kept[f.name] || kept[dataStem(f.name)] {
			continue
		}
		if !strings.HasSuffix(f.name, tempEnding) && dataStem(f.name) == "" {
			continue // not ours
		}
		if err := remove(s.disk, filepath.Join(s.blobs, f.name)); err != nil {
			return err
		}
		s.cfg.Logger.Info("removed what a crash has left", "file", f.name, "bytes", f.size)
	}
	return nil
}

// dataStem is the stem of a data file's name, "" for all other names.
func dataStem(name string) string {
	name, ok := strings.CutSuffix(name, dataEnding)
	i := strings.LastIndexByte(name, '.')
	if !ok || i < 0 {
		return ""
	}
	if _, err := strconv.ParseInt(name[i+1:], 10, 64); err != nil {
		return ""
	}
	return name[:i]
}

// readSmall is the content of a small file.
func (s *Store) readSmall(path string) ([]byte, error) {
	f, err := s.disk.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxRecord))
}
