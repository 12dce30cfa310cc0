package localizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stormring/stormring/internal/cluster"
)

// disk is the folder of all. step is called before whatever changes it; tests
// let it fail from some step on, as if the supervisor had died there.
type disk struct {
	dir  string
	step func(what string) error
	log  *slog.Logger
}

func (d *disk) topologies() string { return filepath.Join(d.dir, "topologies") }
func (d *disk) dist() string       { return filepath.Join(d.dir, "stormdist") }
func (d *disk) fetching() string   { return filepath.Join(d.dir, "fetching") }

func (d *disk) generation(id cluster.TopologyID, number int) string {
	return filepath.Join(d.topologies(), string(id), strconv.Itoa(number))
}

// open makes the folders, clears what was left half done and tells what there is.
func (d *disk) open() (map[cluster.TopologyID][]*generation, error) {
	if err := os.RemoveAll(d.fetching()); err != nil {
		return nil, err
	}
	for _, dir := range []string{d.topologies(), d.dist(), d.fetching()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(d.topologies())
	if err != nil {
		return nil, err
	}
	found := map[cluster.TopologyID][]*generation{}
	for _, e := range entries {
		id := cluster.TopologyID(e.Name())
		if !e.IsDir() {
			d.log.Warn("a stranger among the topologies is left alone", "name", e.Name(), "dir", d.topologies())
			continue
		}
		gens, err := d.generations(id)
		if err != nil {
			return nil, err
		}
		if len(gens) == 0 { // it died between two steps
			if err := errors.Join(d.unpoint(id), os.RemoveAll(filepath.Join(d.topologies(), e.Name()))); err != nil {
				return nil, err
			}
			continue
		}
		found[id] = gens
	}
	return found, d.unpointLost(found)
}

// generations are a topology's, in their order. What has no sound record goes,
// since nobody could say what it is.
func (d *disk) generations(id cluster.TopologyID) ([]*generation, error) {
	entries, err := os.ReadDir(filepath.Join(d.topologies(), string(id)))
	if err != nil {
		return nil, err
	}
	var gens []*generation
	for _, e := range entries {
		number, err := strconv.Atoi(e.Name())
		if err != nil || strconv.Itoa(number) != e.Name() {
			d.log.Warn("a stranger among a topology's files is left alone", "topology", string(id), "name", e.Name())
			continue
		}
		dir := d.generation(id, number)
		rec, err := readRecord(dir)
		if err != nil {
			d.log.Warn("a topology's files have no sound record and are fetched again", "dir", dir, "error", err)
			// The folder stays for a worker that may be running on it.
			rec = nil
		}
		gens = append(gens, &generation{number: number, dir: dir, rec: rec})
	}
	slices.SortFunc(gens, func(a, b *generation) int { return a.number - b.number })
	return gens, nil
}

// unpointLost removes links to what is no more.
func (d *disk) unpointLost(found map[cluster.TopologyID][]*generation) error {
	entries, err := os.ReadDir(d.dist())
	if err != nil {
		return err
	}
	for _, e := range entries {
		if found[cluster.TopologyID(e.Name())] == nil && e.Type() == fs.ModeSymlink {
			if err := d.unpoint(cluster.TopologyID(e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// temp makes a folder for what is not complete.
func (d *disk) temp() (string, error) {
	if err := d.step("make a folder to fetch to"); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(d.fetching(), "g")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755) // workers may run as somebody else
}

// discard removes what will not be complete; if that fails, Open does it.
func (d *disk) discard(temp string) {
	err := d.step("remove what was fetched")
	if err == nil {
		err = os.RemoveAll(temp)
	}
	if err != nil {
		d.log.Warn("files that were fetched half cannot be removed; the next start will", "dir", temp, "error", err)
	}
}

// seal writes the record and makes the folder last.
func (d *disk) seal(dir string, r *record) error {
	if err := d.writeRecord(dir, r); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncDir(path)
	})
}

func (d *disk) writeRecord(dir string, r *record) error {
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("its record: %w", err)
	}
	if err := d.step("write the record"); err != nil {
		return err
	}
	next := filepath.Join(dir, "."+recordFile)
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return d.rename(next, filepath.Join(dir, recordFile))
}

// publish gives a complete folder its name.
func (d *disk) publish(temp string, id cluster.TopologyID, number int) (string, error) {
	dir := d.generation(id, number)
	if err := d.mkdir(filepath.Dir(dir)); err != nil {
		return "", err
	}
	if err := syncDir(d.topologies()); err != nil {
		return "", err
	}
	if err := d.rename(temp, dir); err != nil {
		return "", err
	}
	return dir, syncDir(filepath.Dir(dir))
}

// point lets stormdist/<id> lead to a generation.
func (d *disk) point(id cluster.TopologyID, number int) error {
	target := filepath.Join("..", "topologies", string(id), strconv.Itoa(number))
	name := filepath.Join(d.dist(), string(id))
	if have, err := os.Readlink(name); err == nil && have == target {
		return nil
	}
	return d.relink(target, name)
}

// relink makes a link, in place of one that may be there.
func (d *disk) relink(target, name string) error {
	next := filepath.Join(filepath.Dir(name), ".next."+filepath.Base(name))
	if err := removeIfThere(next); err != nil {
		return err
	}
	if err := d.link(target, next); err != nil {
		return err
	}
	if err := d.rename(next, name); err != nil {
		return fmt.Errorf("%w; if something else has that name, move it away", err)
	}
	return syncDir(filepath.Dir(name))
}

func (d *disk) unpoint(id cluster.TopologyID) error {
	if err := d.step("remove the link"); err != nil {
		return err
	}
	name := filepath.Join(d.dist(), string(id))
	if info, err := os.Lstat(name); err == nil && info.Mode().Type() != fs.ModeSymlink {
		return nil // not ours
	}
	return removeIfThere(name)
}

// drop removes generations; it returns those that it could not. With all there
// will be none left.
func (d *disk) drop(id cluster.TopologyID, gens []*generation, all bool) (failed []*generation, err error) {
	if all {
		if err := d.unpoint(id); err != nil {
			return gens, err
		}
	}
	for i, g := range gens {
		// First it loses its name: half of it must never be taken for it.
		temp, err := d.temp()
		if err != nil {
			return gens[i:], err
		}
		err = d.rename(g.dir, filepath.Join(temp, "old"))
		d.discard(temp)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return gens[i:], err
		}
	}
	if all {
		if err := d.step("remove the topology's folder"); err != nil {
			return nil, err
		}
		return nil, os.RemoveAll(filepath.Join(d.topologies(), string(id)))
	}
	return nil, nil
}

func (d *disk) mkdir(dir string) error {
	if err := d.step("make " + filepath.Base(dir)); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

func (d *disk) rename(from, to string) error {
	if err := d.step("rename " + filepath.Base(to)); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// replace is rename for folders: what has that name already goes.
func (d *disk) replace(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return d.rename(from, to)
}

func (d *disk) link(target, name string) error {
	if err := d.step("link " + filepath.Base(name)); err != nil {
		return err
	}
	return os.Symlink(target, name)
}

// share lets a file have two names.
func (d *disk) share(from, to string) error {
	if err := d.mkdir(filepath.Dir(to)); err != nil {
		return err
	}
	if err := d.step("share " + filepath.Base(to)); err != nil {
		return err
	}
	return os.Link(from, to)
}

func (d *disk) makeExecutable(yes bool, path string) error {
	if !yes {
		return nil
	}
	if err := d.step("make it executable"); err != nil {
		return err
	}
	return os.Chmod(path, 0o755)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
