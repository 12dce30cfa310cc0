package localizer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
)

func TestLocaliseEverything(t *testing.T) {
	r := newRig(t)
	r.src.put(topo+"-stormjar.jar", zipOf(t, entry{"resources/", ""}, entry{"resources/ünï/split.py", "print()"}, entry{"a.class", "x"}, entry{"../evil", "not unpacked"}))
	r.src.put("dep-1.jar", "dep")
	r.src.put("wörter.txt", "ein zwei")
	r.src.put("pack", zipOf(t, entry{"sub/f", "inside"}))
	r.needs = Needs{Dependencies: []string{"dep-1.jar", "dep-1.jar"}, Blobs: []Entry{
		{Key: "pack", Name: "pack", Unpack: true}, {Key: "wörter.txt", Name: "words"},
	}}
	local := r.localise(false)
	if want := filepath.Join(r.dir, "topologies", topo, "1"); local.Dir != want || local.Program || !slices.Equal(local.Links, []string{"pack", "words"}) {
		t.Fatalf("%+v", local)
	}
	for _, dir := range []string{local.Dir, filepath.Join(r.dir, "stormdist", topo)} {
		for name, text := range map[string]string{
			"stormcode.ser": "code", "stormconf.ser": "conf", "resources/ünï/split.py": "print()",
			"dependencies/dep-1.jar": "dep", "words": "ein zwei", "pack/sub/f": "inside", "blobs/words.1": "ein zwei",
		} {
			r.want(filepath.Join(dir, name), text)
		}
	}
	r.gone(filepath.Join(local.Dir, "a.class"))
	if target, err := os.Readlink(filepath.Join(local.Dir, "words")); target != "blobs/words.1" || err != nil {
		t.Fatal(target, err)
	}
	// A second time, and after a restart, nothing is fetched.
	before := r.src.counts()
	again := r.localise(true)
	r.open()
	if third := r.localise(false); again.Dir != local.Dir || third.Dir != local.Dir || len(third.Links) != 2 {
		t.Fatal(again, third)
	}
	if after := r.src.counts(); fmt.Sprint(after) != fmt.Sprint(before) || after["dep-1.jar"] != 1 {
		t.Fatal(before, after)
	}
}

func TestKindsOfJars(t *testing.T) {
	for name, c := range map[string]struct {
		jar     string
		program bool
	}{
		"program": {"\x7fELF....", true}, "empty": {"", false}, "text": {"#!/bin/sh\n", false},
		"empty zip": {zipOf(t), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.src.put(topo+"-stormjar.jar", c.jar)
			local := r.localise(false)
			info, err := os.Stat(filepath.Join(local.Dir, jarFile))
			if err != nil || local.Program != c.program || (info.Mode().Perm() == 0o755) != c.program {
				t.Fatal(local, info.Mode(), err)
			}
			if info, err := os.Stat(filepath.Join(local.Dir, resourcesDir)); err != nil || !info.IsDir() {
				t.Fatal(err)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		r := newRig(t)
		local := r.localise(false)
		r.gone(filepath.Join(local.Dir, jarFile))
		if info, err := os.Stat(filepath.Join(local.Dir, resourcesDir)); err != nil || !info.IsDir() {
			t.Fatal(err)
		}
	})
}

func TestFailuresLeaveNothing(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		set  func(r *rig)
		want []string
	}{
		"no code":     {func(r *rig) { delete(r.src.blobs, topo+"-stormcode.ser") }, []string{topo + "-stormcode.ser", "not on nimbus", "kill the topology"}},
		"broken off":  {func(r *rig) { r.src.before = func(context.Context, string) error { return boom } }, []string{"boom", topo + "-stormcode.ser"}},
		"short":       {func(r *rig) { r.src.longer = 3 }, []string{"sent 4 bytes of 7"}},
		"broken jar":  {func(r *rig) { r.src.put(topo+"-stormjar.jar", "PK\x03\x04rubbish") }, []string{topo + "-stormjar.jar", "sound jar"}},
		"no map blob": {func(r *rig) { r.needs.Blobs = []Entry{{Key: "k", Name: "n"}} }, []string{`"k"`, "not on nimbus"}},
		"no archive": {func(r *rig) {
			r.src.put("k", "text")
			r.needs.Blobs = []Entry{{Key: "k", Name: "n", Unpack: true}}
		}, []string{`"k"`, "no zip, tar or tar.gz"}},
		"name taken": {func(r *rig) { r.needs.Blobs = []Entry{{Key: "k", Name: "stormconf.ser"}} }, []string{`"stormconf.ser"`, "is taken"}},
		"evil name":  {func(r *rig) { r.needs.Blobs = []Entry{{Key: "k", Name: "../x"}} }, []string{`"../x"`}},
		"evil key":   {func(r *rig) { r.needs.Dependencies = []string{"a/../../x"} }, []string{`"a/../../x"`}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.set(r)
			_, err := r.Localise(t.Context(), topo, false)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("%v; want %q in it", err, want)
				}
			}
			for _, dir := range []string{"fetching", "topologies", "stormdist"} {
				if left, err := os.ReadDir(filepath.Join(r.dir, dir)); err != nil || len(left) > 0 {
					t.Fatal(dir, left, err)
				}
			}
		})
	}
	for _, id := range []cluster.TopologyID{"", "..", "a/b", cluster.TopologyID(strings.Repeat("x", 300))} {
		if _, err := newRig(t).Localise(t.Context(), id, false); err == nil {
			t.Fatalf("id %q", id)
		}
	}
}

func TestManyAtOnceFetchOnce(t *testing.T) {
	r := newRig(t)
	entered, free := make(chan struct{}, 8), make(chan struct{})
	r.src.before = func(context.Context, string) error { entered <- struct{}{}; <-free; return nil }
	// One gives up while it waits; the others do not notice.
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if local, err := r.Localise(t.Context(), topo, false); err != nil || filepath.Base(local.Dir) != "1" {
				t.Error(local, err)
			}
		})
	}
	<-entered
	all.Go(func() {
		if _, err := r.Localise(ctx, topo, false); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	cancel()
	// What is being fetched is not swept, though nobody holds it.
	if err := r.Sweep(func(cluster.TopologyID) bool { return false }); err != nil {
		t.Error(err)
	}
	close(free)
	all.Wait()
	if got := r.src.counts(); got[topo+"-stormcode.ser"] != 1 || got[topo+"-stormconf.ser"] != 1 {
		t.Fatal(got)
	}
}

func TestDamageIsMadeGood(t *testing.T) {
	for name, c := range map[string]struct {
		harm   func(dir string) error
		reopen bool // only a new supervisor reads files
		code   int  // how often it is fetched in all
		jar    int
	}{
		"missing":       {func(dir string) error { return os.Remove(filepath.Join(dir, codeFile)) }, false, 2, 1},
		"torn":          {func(dir string) error { return os.Truncate(filepath.Join(dir, codeFile), 1) }, false, 2, 1},
		"other bytes":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, codeFile), []byte("edoc"), 0o600) }, true, 2, 1},
		"resource gone": {func(dir string) error { return os.Remove(filepath.Join(dir, "resources/r")) }, false, 1, 2},
		"record lost":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, recordFile), nil, 0o600) }, true, 2, 2},
		"link gone":     {func(dir string) error { return os.Remove(filepath.Join(dir, "w")) }, false, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.src.put(topo+"-stormjar.jar", zipOf(t, entry{"resources/r", "r"}))
			r.src.put("w", "w")
			r.needs.Blobs = []Entry{{Key: "w", Name: "w"}}
			local := r.localise(false)
			if err := c.harm(local.Dir); err != nil {
				t.Fatal(err)
			}
			if c.reopen {
				r.open()
			}
			next := r.localise(false)
			r.want(filepath.Join(next.Dir, codeFile), "code")
			r.want(filepath.Join(next.Dir, "resources/r"), "r")
			r.want(filepath.Join(next.Dir, "w"), "w")
			got := r.src.counts()
			if filepath.Base(next.Dir) != "2" || got[topo+"-stormcode.ser"] != c.code || got[topo+"-stormjar.jar"] != c.jar {
				t.Fatal(next, got)
			}
		})
	}
}

// Wherever the supervisor dies, the next one finds all or nothing.
func TestDeathAtEveryStep(t *testing.T) {
	died := errors.New("died")
	for at := 0; ; at++ {
		r := newRig(t)
		r.src.put(topo+"-stormjar.jar", zipOf(t, entry{"resources/r", "r"}))
		r.src.put("w", "old")
		r.needs.Blobs = []Entry{{Key: "w", Name: "w", Restart: true}}
		steps := 0
		r.step = func(string) error {
			if steps++; steps > at {
				return died
			}
			return nil
		}
		life := func() error {
			if _, err := r.Localise(t.Context(), topo, false); err != nil {
				return err
			}
			r.src.put("w", "new")
			if _, err := r.Localise(t.Context(), topo, true); err != nil {
				return err
			}
			return r.Sweep(func(cluster.TopologyID) bool { return true })
		}
		err := life()
		r.step = nil
		r.open()
		if left, lerr := os.ReadDir(filepath.Join(r.dir, "fetching")); lerr != nil || len(left) > 0 {
			t.Fatal(at, left, lerr)
		}
		if dist := filepath.Join(r.dir, "stormdist", topo); err != nil {
			if _, serr := os.Lstat(dist); serr == nil {
				r.want(filepath.Join(dist, "resources/r"), "r")
			}
		}
		local := r.localise(true)
		r.want(filepath.Join(local.Dir, "resources/r"), "r")
		r.want(filepath.Join(local.Dir, "w"), string(r.src.blobs["w"].data))
		if err == nil {
			if at < 20 {
				t.Fatalf("only %d steps", at)
			}
			return
		}
		if !errors.Is(err, died) && steps <= at {
			t.Fatal(at, err)
		}
	}
}
