package blobstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// world is what can be seen of a store's blobs.
func world(t tester, s *Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range s.Keys("") {
		content, meta := get(t, s, key)
		all[key] = fmt.Sprintf("%s %v", content, meta.Meta)
	}
	return all
}

// deeds are the changes of a store that has blobs a and b and the finished
// upload jar.
var deeds = map[string]func(s *Store, jar string) error{
	"put new": func(s *Store, _ string) error {
		_, err := s.Put(context.Background(), "c", Meta{}, strings.NewReader(strings.Repeat("cc", 20)))
		return err
	},
	"put anew": func(s *Store, _ string) error {
		_, err := s.Put(context.Background(), "a", Meta{}, strings.NewReader("another a"))
		return err
	},
	"update": func(s *Store, _ string) error {
		id, err := s.BeginUpdate("a", Self())
		if err != nil {
			return err
		}
		for _, chunk := range []string{"one", "two", "three"} {
			if err := s.UploadChunk(id, []byte(chunk)); err != nil {
				return err
			}
		}
		_, err = s.FinishUpload(id)
		return err
	},
	"delete": func(s *Store, _ string) error { return s.Delete("a", Self()) },
	"set meta": func(s *Store, _ string) error {
		return s.SetMeta("a", Meta{ACL: []AccessControl{{User, "ann", Read}}, Replication: 7}, Self())
	},
	"adopt": func(s *Store, jar string) error {
		_, err := s.Adopt(context.Background(), jar, "c", Meta{})
		return err
	},
	"import": func(s *Store, _ string) error {
		return s.Import(context.Background(), "b", 1<<50, Meta{}, strings.NewReader("imported"))
	},
}

// begun is the store that deeds change.
func begun(t tester) (d *memDisk, s *Store, jar string) {
	t.Helper()
	d = newMemDisk()
	s = openMem(t, d, Config{})
	put(t, s, "a", "the first a")
	put(t, s, "b", "the first b")
	jar, err := s.BeginFileUpload()
	noErr(t, err)
	noErr(t, s.UploadFileChunk(jar, []byte("a jar")))
	noErr(t, s.FinishFileUpload(jar))
	return d, s, jar
}

// after is the world that a deed makes, and in how many steps.
func after(t tester, deed func(*Store, string) error) (map[string]string, int) {
	t.Helper()
	d, s, jar := begun(t)
	steps := d.steps
	noErr(t, deed(s, jar))
	return world(t, s), d.steps - steps
}

func equal(a, b map[string]string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// The power goes at every step of every change: then the blobs are those
// before or those after it, whole, and nothing else is left on the disk.
func TestCrashAtEveryStep(t *testing.T) {
	for name, deed := range deeds {
		t.Run(name, func(t *testing.T) {
			done, steps := after(t, deed)
			for step := 1; step <= steps+1; step++ {
				for seed := range uint64(12) {
					d, s, jar := begun(t)
					old := world(t, s)
					d.arm(step, false)
					err := deed(s, jar)
					d2 := d.crash(rand.New(rand.NewPCG(seed, uint64(step))))
					s2 := openMem(t, d2, Config{})
					now := world(t, s2)
					if !equal(now, done) && (err == nil || !equal(now, old)) {
						t.Fatalf("step %d of %d, seed %d, error %v: now %v, want %v or %v", step, steps, seed, err, now, old, done)
					}
					wantTidy(t, d2, s2)
				}
			}
		})
	}
}

// A step fails and nimbus goes on: what failed has not happened, unless the
// error says otherwise, and what is seen then is what a restart sees.
func TestFailureAtEveryStep(t *testing.T) {
	for name, deed := range deeds {
		t.Run(name, func(t *testing.T) {
			done, steps := after(t, deed)
			for step := 1; step <= steps; step++ {
				d, s, jar := begun(t)
				old := world(t, s)
				d.arm(step, true)
				err := deed(s, jar)
				d.disarm()
				now := world(t, s)
				switch {
				case err == nil || errors.Is(err, ErrUncertain):
					if !equal(now, done) {
						t.Fatalf("step %d, error %v: %v, want %v", step, err, now, done)
					}
				case !equal(now, old):
					t.Fatalf("step %d, error %v: %v, want %v", step, err, now, old)
				}
				noErr(t, s.Close())
				if n := d.openFiles(); n != 0 {
					t.Fatalf("step %d: %d files are open after Close", step, n)
				}
				s2 := openMem(t, d, Config{})
				if got := world(t, s2); !equal(got, now) {
					t.Fatalf("step %d: %v after a restart, %v before", step, got, now)
				}
				wantTidy(t, d, s2)
			}
		})
	}
}

// wantTidy wants no file on the disk but those of blobs and the versions.
func wantTidy(t tester, d *memDisk, s *Store) {
	t.Helper()
	names := d.names(s.blobs)
	delete(names, markName)
	for _, key := range s.Keys("") {
		e, err := s.find(key)
		noErr(t, err)
		if !names[e.metaName()] || !names[e.dataName()] {
			t.Fatalf("files of %q are missing in %v", key, names)
		}
		delete(names, e.metaName())
		delete(names, e.dataName())
	}
	if len(names) > 0 {
		t.Fatalf("left on the disk: %v", names)
	}
}
