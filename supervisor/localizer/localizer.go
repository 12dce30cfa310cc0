// Package localizer brings the blobs of topologies to a supervisor's disk and
// keeps them there as long as somebody holds them. Start with [Open] and
// [Localizer.Localise].
//
// What a worker runs on is a generation: a folder that is complete from the
// moment it has its name, with Storm's file names in it:
//
//	<Dir>/topologies/<id>/<n>/   stormcode.ser stormconf.ser stormjar.jar
//	                             resources/   out of the jar, and links to all blobs;
//	                                          always there
//	                             blobs/       <local name>.<version>
//	                             <local name> link to the one in blobs/
//	                             dependencies/<key>
//	                             record.json  what all this should be
//	<Dir>/stormdist/<id>         link to the latest generation
//	<Dir>/fetching/              not complete, or being removed
//
// A newer version of a blob that wants workers restarted makes a new
// generation, which shares all other files with the one before; workers of that
// one do not notice. A newer version of another blob is put into the generation
// that is there, by a new link, as Storm does.
//
// The package starts no goroutine: all is done by its callers.
package localizer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/cluster"
)

// ErrNoBlob is what a Source says of a key that is none.
var ErrNoBlob = errors.New("no such blob")

// Source is where blobs come from. Its methods may be called by several
// goroutines.
type Source interface {
	// Meta is the version of a blob; it changes with the content. Errors:
	// ErrNoBlob.
	Meta(ctx context.Context, key string) (version int64, err error)
	// Fetch writes a blob to w. Size is how long it should be, in bytes, or -1
	// if that is not known. Errors: ErrNoBlob, those of w.
	Fetch(ctx context.Context, key string, w io.Writer) (version, size int64, err error)
}

// Needs is what a topology wants besides its own three blobs.
type Needs struct {
	// Dependencies are keys of blobs.
	Dependencies []string
	// Blobs are those of topology.blobstore.map; see [ParseMap].
	Blobs []Entry
}

// Config is what a Localizer is made of.
type Config struct {
	// Dir is the supervisor's folder: <storm.local.dir>/supervisor.
	Dir    string
	Source Source
	// Needs reads what else a topology needs out of the stormcode.ser and the
	// stormconf.ser in dir.
	Needs  func(dir string) (Needs, error)
	Logger *slog.Logger
	Clock  clock.Clock
	// Grace is how long a topology's files stay after the last hold. 0: they go
	// with the next Sweep.
	Grace time.Duration
	// Parallel is how many topologies are fetched at once; 0 means 5.
	Parallel int
}

// Local is where a topology's files are.
type Local struct {
	// Dir is a generation; its content is in the comment of the package.
	Dir string
	// Program tells that stormjar.jar is an executable program.
	Program bool
	// Links are the local names of the blobs of topology.blobstore.map, in Dir.
	Links []string
}

// Localizer has the files of topologies. Its methods may be called by several
// goroutines.
type Localizer struct {
	cfg     Config
	disk    *disk
	working chan struct{} // one for each topology that is being fetched

	mu    sync.Mutex
	tops  map[cluster.TopologyID]*topology
	clock uint64 // counts holds and generations, in their order
	swept bool   // Sweep has been called
}

// topology is what is known of one. Its fields are guarded by Localizer.mu; who
// changes its files has busy besides.
type topology struct {
	busy  chan struct{}
	users int               // calls that have or wait for busy
	holds map[string]uint64 // when each was taken
	gens  []*generation     // the last one is current
	idle  time.Time         // since when nobody holds it
}

// generation is one folder of a topology's files.
type generation struct {
	number   int
	dir      string
	rec      *record // never changed, only replaced; nil if it is lost
	checked  bool    // the content has been compared with the record
	outdated uint64  // when another one took its place; 0 if none has
}

// Open looks at what is on the disk and removes what was left half done.
func Open(cfg Config) (*Localizer, error) {
	if cfg.Dir == "" || cfg.Source == nil || cfg.Needs == nil || cfg.Logger == nil || cfg.Clock == nil {
		return nil, errors.New("localizer: Dir, Source, Needs, Logger and Clock must be given")
	}
	return open(cfg, func(string) error { return nil })
}

func open(cfg Config, step func(string) error) (*Localizer, error) {
	if cfg.Parallel <= 0 {
		cfg.Parallel = 5
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("localizer: folder %s: %w", cfg.Dir, err)
	}
	l := &Localizer{
		cfg: cfg, disk: &disk{dir: dir, step: step, log: cfg.Logger},
		working: make(chan struct{}, cfg.Parallel),
		tops:    map[cluster.TopologyID]*topology{},
	}
	found, err := l.disk.open()
	if err != nil {
		return nil, fmt.Errorf("localizer: %w; see that this user may write there and that the disk has room", err)
	}
	for id, gens := range found {
		t := l.topology(id)
		t.gens = gens
		for _, g := range gens[:len(gens)-1] {
			g.outdated = never
		}
	}
	return l, nil
}

// never is later than all.
const never = ^uint64(0)

// topology makes an entry for one that is new. l.mu must be held, but by open.
func (l *Localizer) topology(id cluster.TopologyID) *topology {
	t := l.tops[id]
	if t == nil {
		t = &topology{busy: make(chan struct{}, 1), holds: map[string]uint64{}, idle: l.cfg.Clock.Now()}
		l.tops[id] = t
	}
	return t
}

// forget drops an entry that says nothing. l.mu must be held.
func (l *Localizer) forget(id cluster.TopologyID) {
	if t := l.tops[id]; t != nil && t.users == 0 && len(t.holds) == 0 && len(t.gens) == 0 {
		delete(l.tops, id)
	}
}

// lock makes the caller the only one who changes a topology's files, once it is
// its turn.
func (l *Localizer) lock(ctx context.Context, id cluster.TopologyID) (t *topology, unlock func(), err error) {
	l.mu.Lock()
	t = l.topology(id)
	t.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.users--
		l.forget(id)
	}
	if err := enter(ctx, t.busy); err != nil {
		leave()
		return nil, nil, err
	}
	return t, func() { <-t.busy; leave() }, nil
}

// enter takes a place in a room, once there is one.
func enter(ctx context.Context, room chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Localise fetches what is not there or is damaged, and with update also newer
// versions of what is. If several callers want the same topology, one fetches
// and the others find it there. Where it fails, nothing has changed. The caller
// should have a hold.
func (l *Localizer) Localise(ctx context.Context, id cluster.TopologyID, update bool) (Local, error) {
	local, err := l.localise(ctx, id, update)
	if err != nil {
		return Local{}, fmt.Errorf("files of topology %s: %w", id, err)
	}
	return local, nil
}

func (l *Localizer) localise(ctx context.Context, id cluster.TopologyID, update bool) (Local, error) {
	if err := checkName(string(id)); err != nil {
		return Local{}, fmt.Errorf("its id: %w", err)
	}
	t, unlock, err := l.lock(ctx, id)
	if err != nil {
		return Local{}, err
	}
	defer unlock()
	g := l.current(t)
	anew := map[string]bool{}
	if g != nil && g.rec != nil {
		if anew, err = l.damaged(ctx, g); err != nil {
			return Local{}, err
		}
		if update {
			if err := l.newer(ctx, g, anew); err != nil {
				return Local{}, err
			}
		}
	}
	if g == nil || g.rec == nil || len(anew) > 0 {
		if g, err = l.renew(ctx, id, t, anew); err != nil {
			return Local{}, err
		}
	}
	// The link is for people; it may have got lost.
	if err := l.disk.point(id, g.number); err != nil {
		return Local{}, err
	}
	return Local{Dir: g.dir, Program: g.rec.Program, Links: g.rec.links()}, nil
}

// current is a topology's latest generation, or nil.
func (l *Localizer) current(t *topology) *generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(t.gens) == 0 {
		return nil
	}
	return t.gens[len(t.gens)-1]
}

// damaged adds the keys of blobs that are not what they should be.
func (l *Localizer) damaged(ctx context.Context, g *generation) (map[string]bool, error) {
	bad, err := g.rec.damaged(ctx, g.dir, !g.checked)
	if err != nil {
		return nil, err
	}
	if len(bad) > 0 {
		l.cfg.Logger.Warn("files of a topology were changed or removed by somebody; they are fetched again", "dir", g.dir, "blobs", bad)
	}
	anew := map[string]bool{}
	for _, key := range bad {
		anew[key] = true
	}
	g.checked = len(bad) == 0 // else a fetch that fails must not make it pass
	return anew, nil
}

// newer adds the keys of blobs of which there are newer versions.
func (l *Localizer) newer(ctx context.Context, g *generation, anew map[string]bool) error {
	for _, b := range g.rec.Blobs {
		if anew[b.Key] {
			continue
		}
		version, err := l.cfg.Source.Meta(ctx, b.Key)
		switch {
		case errors.Is(err, ErrNoBlob):
			l.cfg.Logger.Warn("a topology's blob was deleted; workers go on with the version that is here", "blob", b.Key, "version", b.Version, "dir", g.dir)
		case err != nil:
			return fmt.Errorf("blob %q: nimbus could not be asked for its version: %w", b.Key, err)
		case version != b.Version:
			anew[b.Key] = true
		}
	}
	return nil
}

// renew makes a topology's next generation; all that is not in anew is taken
// from the one before.
func (l *Localizer) renew(ctx context.Context, id cluster.TopologyID, t *topology, anew map[string]bool) (*generation, error) {
	if err := enter(ctx, l.working); err != nil {
		return nil, err
	}
	defer func() { <-l.working }()
	old, number := l.current(t), 1
	if old != nil {
		number = old.number + 1
	}
	g, err := l.build(ctx, id, number, old, anew)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clock++
	if old != nil {
		old.outdated = l.clock
	}
	t.gens = append(t.gens, g)
	return g, nil
}
