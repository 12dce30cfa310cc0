package localizer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

func (r *rig) sweep(keep bool) {
	r.t.Helper()
	if err := r.Sweep(func(cluster.TopologyID) bool { return keep }); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) changed() []cluster.TopologyID {
	r.t.Helper()
	ids, err := r.Changed(r.t.Context(), []cluster.TopologyID{topo, "unknown-1-1"})
	if err != nil {
		r.t.Fatal(err)
	}
	return ids
}

func TestSweepAfterTheLastHoldAndGrace(t *testing.T) {
	r := newRig(t)
	r.Hold(topo, "6700/1")
	r.Hold(topo, "6701/1")
	dir := r.localise(false).Dir
	r.Release(topo, "6700/1")
	r.Release(topo, "6700/1")
	r.clk.Advance(time.Hour)
	r.sweep(false)
	r.want(filepath.Join(dir, codeFile), "code")
	r.Release(topo, "6701/1")
	r.clk.Advance(59 * time.Second)
	r.sweep(false)
	r.want(filepath.Join(dir, codeFile), "code")
	r.clk.Advance(time.Second)
	r.sweep(true)
	r.want(filepath.Join(dir, codeFile), "code")
	r.sweep(false)
	r.gone(filepath.Join(r.dir, "topologies", topo))
	r.gone(filepath.Join(r.dir, "stormdist", topo))
	if len(r.tops) != 0 {
		t.Fatal(r.tops)
	}
	r.localise(false)
}

func TestUpdateLeavesTheOldUntilReleased(t *testing.T) {
	r := newRig(t)
	r.src.put(topo+"-stormjar.jar", zipOf(t, entry{"resources/r", "r"}))
	r.src.put("w", "old")
	r.src.put("d", zipOf(t, entry{"x/f", "same"}))
	r.needs.Blobs = []Entry{{Key: "d", Name: "d", Unpack: true}, {Key: "w", Name: "w", Restart: true}}
	r.Hold(topo, "1")
	old := r.localise(false).Dir
	if got := r.changed(); len(got) != 0 {
		t.Fatal(got)
	}
	r.src.put("w", "new")
	if got := r.changed(); !slices.Equal(got, []cluster.TopologyID{topo}) {
		t.Fatal(got)
	}
	r.Hold(topo, "2")
	if dir := r.localise(false).Dir; dir != old {
		t.Fatal("updated without being asked to", dir)
	}
	next := r.localise(true).Dir
	r.want(filepath.Join(next, "w"), "new")
	r.want(filepath.Join(next, "d/x/f"), "same")
	r.want(filepath.Join(r.dir, "stormdist", topo, "w"), "new")
	if got := r.src.counts(); got["w"] != 2 || got["d"] != 1 || got[topo+"-stormjar.jar"] != 1 {
		t.Fatal(got)
	}
	if got := r.changed(); len(got) != 0 {
		t.Fatal(got)
	}
	r.Hold(topo, "3")
	r.Release(topo, "2")
	r.sweep(true)
	r.want(filepath.Join(old, "w"), "old")
	r.Release(topo, "1")
	r.sweep(true)
	r.gone(old)
	r.want(filepath.Join(next, "resources/r"), "r")
}

func TestHoldsTakenAgainAfterARestart(t *testing.T) {
	r := newRig(t)
	r.src.put("w", "old")
	r.needs.Blobs = []Entry{{Key: "w", Name: "w", Restart: true}}
	old := r.localise(false).Dir
	r.src.put("w", "new")
	next := r.localise(true).Dir
	r.open()
	r.Hold(topo, "adopted") // it may be on either
	r.sweep(true)
	r.want(filepath.Join(old, "w"), "old")
	r.Hold(topo, "new")
	r.Release(topo, "adopted")
	r.sweep(true)
	r.gone(old)
	r.want(filepath.Join(next, "w"), "new")
}

// A supervisor that dies while it replaces a blob leaves the old or the new one.
func TestDeathWhileABlobIsReplaced(t *testing.T) {
	for at := 0; ; at++ {
		r := newRig(t)
		r.src.put("w", "old")
		r.needs.Blobs = []Entry{{Key: "w", Name: "w"}}
		dir := r.localise(false).Dir
		r.src.put("w", "new")
		steps := 0
		r.step = func(string) error {
			if steps++; steps > at {
				return errors.New("died")
			}
			return nil
		}
		_, err := r.Changed(t.Context(), []cluster.TopologyID{topo})
		if got, rerr := os.ReadFile(filepath.Join(dir, "w")); rerr != nil || string(got) != "old" && string(got) != "new" {
			t.Fatal(at, string(got), rerr)
		}
		r.step = nil
		r.open()
		r.want(filepath.Join(r.localise(true).Dir, "w"), "new")
		if err == nil {
			return
		}
	}
}

// All at once; the race detector looks on.
func TestEverybodyAtOnce(t *testing.T) {
	r := newRig(t)
	r.cfg.Grace = 0
	r.src.put("w", "v")
	r.needs.Blobs = []Entry{{Key: "w", Name: "w"}}
	var all sync.WaitGroup
	for i := range 4 {
		id := cluster.TopologyID([]string{topo, "other-2-1700000000"}[i%2])
		r.src.put(string(id)+"-stormcode.ser", "code")
		r.src.put(string(id)+"-stormconf.ser", "conf")
		all.Go(func() {
			for n := range 8 {
				holder := fmt.Sprint(i, n)
				r.Hold(id, holder)
				local, err := r.Localise(t.Context(), id, n%2 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				for _, name := range []string{codeFile, confFile, "w"} {
					if _, err := os.Stat(filepath.Join(local.Dir, name)); err != nil {
						t.Error(err)
					}
				}
				r.src.put("w", "v")
				if _, err := r.Changed(t.Context(), []cluster.TopologyID{id}); err != nil {
					t.Error(err)
				}
				r.Release(id, holder)
				if err := r.Sweep(func(cluster.TopologyID) bool { return false }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	r.sweep(false)
	if left, err := os.ReadDir(filepath.Join(r.dir, "topologies")); err != nil || len(left) > 0 || len(r.tops) > 0 {
		t.Fatal(left, r.tops, err)
	}
}

// A fetch that fails does not make damaged files pass for sound.
func TestDamageIsNotForgotten(t *testing.T) {
	r := newRig(t)
	dir := r.localise(false).Dir
	if err := os.WriteFile(filepath.Join(dir, codeFile), []byte("edoc"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.open()
	r.src.longer = 1
	for range 2 {
		if _, err := r.Localise(t.Context(), topo, false); err == nil {
			t.Fatal("damaged files were handed out")
		}
	}
	r.src.longer = 0
	r.want(filepath.Join(r.localise(false).Dir, codeFile), "code")
}

// A blob without workerRestart is replaced under the worker, by its link.
func TestChangedBringsWhatNeedsNoRestart(t *testing.T) {
	r := newRig(t)
	r.src.put("w", "old")
	r.needs.Blobs = []Entry{{Key: "w", Name: "w"}}
	dir := r.localise(false).Dir
	open, err := os.Open(filepath.Join(dir, "w"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	r.src.put("w", "new")
	if got := r.changed(); len(got) != 0 {
		t.Fatal(got)
	}
	r.want(filepath.Join(dir, "w"), "new")
	r.want(filepath.Join(dir, "blobs/w.1"), "old")
	if target, err := os.Readlink(filepath.Join(dir, "w")); target != "blobs/w.2" || err != nil {
		t.Fatal(target, err)
	}
	r.changed()
	r.open()
	if again := r.localise(true).Dir; again != dir || r.src.counts()["w"] != 2 {
		t.Fatal(again, r.src.counts())
	}
}

func TestADeletedBlobStopsNobody(t *testing.T) {
	r := newRig(t)
	r.src.put("w", "old")
	r.needs.Dependencies = []string{"w"}
	dir := r.localise(false).Dir
	delete(r.src.blobs, "w")
	if got := r.changed(); len(got) != 0 {
		t.Fatal(got)
	}
	if again := r.localise(true).Dir; again != dir {
		t.Fatal(again)
	}
}

func TestANewConfigurationRestartsWorkers(t *testing.T) {
	r := newRig(t)
	r.Hold(topo, "6700/1")
	r.localise(false)
	if ids := r.changed(); len(ids) > 0 {
		t.Fatalf("changed %v before anything is", ids)
	}
	r.src.put(topo+"-stormconf.ser", "of a rebalance")
	if ids := r.changed(); !slices.Equal(ids, []cluster.TopologyID{topo}) {
		t.Errorf("changed %v, want %s", ids, topo)
	}
	r.localise(true)
	if ids := r.changed(); len(ids) > 0 {
		t.Errorf("changed %v after it was brought", ids)
	}
}
