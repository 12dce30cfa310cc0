package localizer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stormring/stormring/internal/cluster"
)

// builder puts a generation together in a folder that is not yet in use.
type builder struct {
	l    *Localizer
	dir  string
	old  *generation // nil for none
	anew map[string]bool
	rec  record
}

// build makes a generation and gives it its name.
func (l *Localizer) build(ctx context.Context, id cluster.TopologyID, number int, old *generation, anew map[string]bool) (*generation, error) {
	temp, err := l.disk.temp()
	if err != nil {
		return nil, err
	}
	if old != nil && old.rec == nil {
		old = nil
	}
	b := &builder{l: l, dir: temp, old: old, anew: anew, rec: record{Format: recordFormat}}
	if err := b.fill(ctx, string(id)); err != nil {
		l.disk.discard(temp)
		return nil, err
	}
	dir, err := l.disk.publish(temp, id, number)
	if err != nil {
		l.disk.discard(temp)
		return nil, err
	}
	return &generation{number: number, dir: dir, rec: &b.rec, checked: true}, nil
}

func (b *builder) fill(ctx context.Context, id string) error {
	for _, name := range []string{codeFile, confFile} {
		if err := b.take(ctx, blob{Key: id + "-" + name, Role: own, Path: name}); err != nil {
			return err
		}
	}
	if err := b.jar(ctx, id+"-"+jarFile); err != nil {
		return err
	}
	needs, err := b.l.cfg.Needs(b.dir)
	if err != nil {
		return fmt.Errorf("what it needs cannot be read from its code and configuration: %w", err)
	}
	if err := needs.check(); err != nil {
		return err
	}
	for i, key := range needs.Dependencies {
		if slices.Contains(needs.Dependencies[:i], key) {
			continue
		}
		if err := b.take(ctx, blob{Key: key, Role: dependency, Path: filepath.Join(depsDir, key)}); err != nil {
			return err
		}
	}
	for _, e := range needs.Blobs {
		if err := b.take(ctx, blob{Key: e.Key, Role: mapped, Link: e.Name, Unpack: e.Unpack, Restart: e.Restart}); err != nil {
			return err
		}
		if err := b.offer(e.Name); err != nil {
			return err
		}
	}
	return b.l.disk.seal(b.dir, &b.rec)
}

// offer gives shell components, which run in resources/, a blob under its name.
// A file of that name in the jar is left alone.
func (b *builder) offer(name string) error {
	path := filepath.Join(b.dir, resourcesDir, name)
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return b.l.disk.link(filepath.Join("..", name), path)
}

// jar takes the one blob that a topology can do without.
func (b *builder) jar(ctx context.Context, key string) error {
	if err := b.l.disk.mkdir(filepath.Join(b.dir, resourcesDir)); err != nil {
		return err
	}
	err := b.take(ctx, blob{Key: key, Role: own, Path: jarFile})
	if errors.Is(err, ErrNoBlob) {
		return nil
	}
	if err != nil {
		return err
	}
	made := &b.rec.Blobs[len(b.rec.Blobs)-1]
	path := filepath.Join(b.dir, jarFile)
	b.rec.Program, err = isProgram(path)
	if err = errors.Join(err, b.l.disk.makeExecutable(b.rec.Program, path)); err != nil {
		return err
	}
	if made.Files != nil { // they came with it
		return nil
	}
	made.Files, err = unpackResources(ctx, path, b.dir)
	if err != nil {
		return fmt.Errorf("blob %q: its %s/: %w; submit the topology with a sound jar", key, resourcesDir, err)
	}
	return nil
}

// take brings one blob into the folder: as the generation before has it if that
// will do, else from nimbus.
func (b *builder) take(ctx context.Context, want blob) error {
	if b.old != nil && !b.anew[want.Key] {
		if have, ok := b.old.rec.find(want.Role, want.Key); ok && have.entry() == want.entry() && b.share(have) == nil {
			b.rec.Blobs = append(b.rec.Blobs, have)
			return nil
		}
	}
	got, err := b.l.fetch(ctx, b.dir, want)
	if err != nil {
		return err
	}
	if got.Link != "" {
		if err := b.l.disk.link(got.Path, filepath.Join(b.dir, got.Link)); err != nil {
			return err
		}
	}
	b.rec.Blobs = append(b.rec.Blobs, got)
	return nil
}

// share has the files of a blob in both generations, or nothing of it in the
// new one: what is fetched must never be written into a shared file.
func (b *builder) share(have blob) error {
	err := b.shareFiles(have)
	if err == nil {
		return nil
	}
	paths := []string{have.Path, have.Link}
	for _, f := range have.Files {
		paths = append(paths, f.Path)
	}
	for _, p := range paths {
		if p != "" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(b.dir, p)))
		}
	}
	return err
}

func (b *builder) shareFiles(have blob) error {
	d := b.l.disk
	if have.Unpack {
		if err := d.mkdir(filepath.Join(b.dir, have.Path)); err != nil {
			return err
		}
	} else if err := d.share(filepath.Join(b.old.dir, have.Path), filepath.Join(b.dir, have.Path)); err != nil {
		return err
	}
	for _, f := range have.Files {
		from, to := filepath.Join(b.old.dir, f.Path), filepath.Join(b.dir, f.Path)
		var err error
		switch {
		case f.Dir:
			err = d.mkdir(to)
		case f.Link != "":
			err = d.link(f.Link, to)
		default:
			err = d.share(from, to)
		}
		if err != nil {
			return err
		}
	}
	if have.Link == "" {
		return nil
	}
	return d.link(have.Path, filepath.Join(b.dir, have.Link))
}

// fetch brings a blob into dir, at its path, and what is mapped in blobs/.
func (l *Localizer) fetch(ctx context.Context, dir string, b blob) (blob, error) {
	raw := filepath.Join(dir, b.Path)
	if b.Role == mapped {
		raw = filepath.Join(dir, blobsDir, ".coming")
	}
	if err := l.disk.mkdir(filepath.Dir(raw)); err != nil {
		return blob{}, err
	}
	if err := l.download(ctx, raw, &b); err != nil {
		return blob{}, errors.Join(err, removeIfThere(raw))
	}
	if b.Role != mapped {
		return b, nil
	}
	b.Path = filepath.Join(blobsDir, b.Link+"."+strconv.FormatInt(b.Version, 10))
	final := filepath.Join(dir, b.Path)
	if !b.Unpack {
		return b, l.disk.rename(raw, final)
	}
	coming := raw + ".d"
	files, err := unpackTo(ctx, raw, b.Key, coming, b.Path)
	if err == nil {
		err = l.disk.replace(coming, final)
	} else {
		err = fmt.Errorf("blob %q cannot be unpacked: %w; topology.blobstore.map asks for it by uncompress: true: store a sound archive", b.Key, err)
	}
	b.Files = files
	if err != nil {
		return blob{}, errors.Join(err, os.RemoveAll(coming), removeIfThere(raw))
	}
	return b, removeIfThere(raw)
}

// download writes a blob to a file and checks that it is whole.
func (l *Localizer) download(ctx context.Context, path string, b *blob) error {
	if err := l.disk.step("fetch " + b.Key); err != nil {
		return err
	}
	if err := removeIfThere(path); err != nil { // it could be shared
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	n := &counter{}
	version, size, err := l.cfg.Source.Fetch(ctx, b.Key, io.MultiWriter(f, h, n))
	switch {
	case errors.Is(err, ErrNoBlob):
		return fmt.Errorf("blob %q is not on nimbus: %w; store it again, or kill the topology", b.Key, err)
	case err != nil:
		return fmt.Errorf("blob %q could not be fetched from nimbus to %s: %w", b.Key, path, err)
	case size >= 0 && size != n.n:
		return fmt.Errorf("blob %q: nimbus sent %d bytes of %d; it is asked again", b.Key, n.n, size)
	}
	b.Version, b.Size, b.SHA256 = version, n.n, hex.EncodeToString(h.Sum(nil))
	if err := f.Sync(); err != nil {
		return fmt.Errorf("blob %q could not be written to %s: %w; make room on that disk", b.Key, path, err)
	}
	return f.Close()
}

// counter counts what is written to it.
type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}

// isProgram reports whether a file is an ELF program.
func isProgram(path string) (bool, error) {
	head, err := headOf(path, 4)
	return bytes.Equal(head, []byte("\x7fELF")), err
}
