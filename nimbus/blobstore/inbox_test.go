package blobstore

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/clock"
)

func sendJar(t *testing.T, s *Store, chunks ...string) string {
	t.Helper()
	loc, err := s.BeginFileUpload()
	noErr(t, err)
	for _, chunk := range chunks {
		noErr(t, s.UploadFileChunk(loc, []byte(chunk)))
	}
	noErr(t, s.FinishFileUpload(loc))
	return loc
}

func TestInbox(t *testing.T) {
	s := openReal(t, Config{})
	loc := sendJar(t, s, "a ", "jar")
	want := regexp.QuoteMeta(filepath.Join(s.dir, "inbox", "stormjar-")) + `[0-9a-f-]{36}\.jar`
	if !regexp.MustCompile("^" + want + "$").MatchString(loc) {
		t.Errorf("location %q", loc)
	}
	u, err := s.OpenUpload(loc)
	noErr(t, err)
	if text, err := io.ReadAll(io.NewSectionReader(u, 0, u.Size)); err != nil || string(text) != "a jar" {
		t.Errorf("upload is %q, %v", text, err)
	}
	noErr(t, u.Close())
	for _, key := range []string{"one", "two"} { // both from one upload
		v, err := s.Adopt(t.Context(), loc, key, Meta{})
		noErr(t, err)
		wantGet(t, s, key, "a jar")
		if m, err := s.Meta(key, Self()); err != nil || m.Version != v || m.Size != 5 {
			t.Errorf("meta %+v, %v; version %d", m, err, v)
		}
	}
	// The blob shares its bytes with the upload.
	e, err := s.find("one")
	noErr(t, err)
	jar, err := os.Stat(loc)
	noErr(t, err)
	if blob, err := os.Stat(filepath.Join(s.blobs, e.dataName())); err != nil || !os.SameFile(jar, blob) {
		t.Errorf("the jar was copied: %v", err)
	}
	wantErr(t, s.UploadFileChunk(loc, []byte("more")), ErrSession)
	wantErr(t, s.FinishFileUpload(loc), ErrSession)
}

func TestInboxKnowsOnlyItsLocations(t *testing.T) {
	s := openReal(t, Config{})
	loc := sendJar(t, s, "x")
	stray := filepath.Join(s.dir, "inbox", "stormjar-stray.jar")
	noErr(t, os.WriteFile(stray, nil, 0o600))
	for _, bad := range []string{"", "/etc/passwd", stray, filepath.Base(loc), loc + "/", loc + partEnding, s.dir + "/inbox/../inbox/" + filepath.Base(loc)} {
		wantErr(t, s.UploadFileChunk(bad, nil), ErrSession)
		wantErr(t, s.FinishFileUpload(bad), ErrSession)
		_, err := s.OpenUpload(bad)
		wantErr(t, err, ErrSession)
		_, err = s.Adopt(t.Context(), bad, "k", Meta{})
		wantErr(t, err, ErrSession)
	}
	open, err := s.BeginFileUpload()
	noErr(t, err)
	_, err = s.Adopt(t.Context(), open, "k", Meta{})
	wantErr(t, err, ErrSession)
	_, err = s.Adopt(t.Context(), loc, "../k", Meta{})
	wantErr(t, err, ErrInvalidKey)
}

func TestTwoUploadsAtOnce(t *testing.T) {
	s := openMem(t, newMemDisk(), Config{})
	a, err := s.BeginFileUpload()
	noErr(t, err)
	b, err := s.BeginFileUpload()
	noErr(t, err)
	for range 3 {
		noErr(t, s.UploadFileChunk(a, []byte("a")))
		noErr(t, s.UploadFileChunk(b, []byte("b")))
	}
	for loc, want := range map[string]string{a: "aaa", b: "bbb"} {
		noErr(t, s.FinishFileUpload(loc))
		_, err := s.Adopt(t.Context(), loc, want, Meta{})
		noErr(t, err)
		wantGet(t, s, want, want)
	}
}

func TestInboxSweep(t *testing.T) {
	d, c := newMemDisk(), clock.NewFake(epoch)
	d.now = epoch
	s := openMem(t, d, Config{Clock: c})
	cut, err := s.BeginFileUpload()
	noErr(t, err)
	noErr(t, s.UploadFileChunk(cut, []byte("half of a j")))
	loc := sendJar(t, s, "jar")
	adopted := sendJar(t, s, "jar 2")
	_, err = s.Adopt(t.Context(), adopted, "k", Meta{})
	noErr(t, err)

	c.Advance(600 * time.Second)
	wantErr(t, s.UploadFileChunk(cut, nil), ErrSession)
	noErr(t, s.Sweep(c.Now()))
	if n := len(d.names(s.inbox.dir)); n != 2 || d.openFiles() != 0 {
		t.Errorf("%d files in the inbox, %d open", n, d.openFiles())
	}
	c.Advance(3000*time.Second - 1)
	noErr(t, s.Sweep(c.Now()))
	if n := len(d.names(s.inbox.dir)); n != 2 {
		t.Errorf("%d files in the inbox", n)
	}
	c.Advance(1)
	_, err = s.Adopt(t.Context(), loc, "k2", Meta{})
	wantErr(t, err, ErrSession)
	noErr(t, s.Sweep(c.Now()))
	if n := len(d.names(s.inbox.dir)); n != 0 {
		t.Errorf("%d files in the inbox", n)
	}
	wantGet(t, s, "k", "jar 2")
}

func TestInboxOverARestart(t *testing.T) {
	for name, nolink := range map[string]bool{"links": false, "no links": true} {
		t.Run(name, func(t *testing.T) {
			d, c := newMemDisk(), clock.NewFake(epoch)
			d.now, d.nolink = epoch, nolink
			s := openMem(t, d, Config{Clock: c})
			loc := sendJar(t, s, "jar")
			cut, err := s.BeginFileUpload()
			noErr(t, err)
			noErr(t, s.Close())
			wantErr(t, s.UploadFileChunk(cut, nil), ErrSession)
			s = openMem(t, d, Config{Clock: c})
			wantErr(t, s.UploadFileChunk(cut, nil), ErrSession)
			_, err = s.Adopt(t.Context(), loc, "k", Meta{})
			noErr(t, err)
			wantGet(t, s, "k", "jar")
			wantTidy(t, d, s)
			if n := d.openFiles(); n != 0 {
				t.Errorf("%d files are open", n)
			}
		})
	}
}

func TestUploadLimit(t *testing.T) {
	c := clock.NewFake(epoch)
	s := openMem(t, newMemDisk(), Config{Clock: c, MaxUploads: 2})
	sendJar(t, s, "finished ones do not count")
	for range 2 {
		_, err := s.BeginFileUpload()
		noErr(t, err)
	}
	_, err := s.BeginFileUpload()
	wantErr(t, err, ErrTooMany)
	if !strings.Contains(fmt.Sprint(err), "limit (MaxUploads) is 2") {
		t.Errorf("%v", err)
	}
	c.Advance(600 * time.Second)
	_, err = s.BeginFileUpload()
	noErr(t, err)
}

func TestUploadToAFullDisk(t *testing.T) {
	d := newMemDisk()
	s := openMem(t, d, Config{MaxUploads: 1})
	loc, err := s.BeginFileUpload()
	noErr(t, err)
	id, err := s.BeginCreate("k", Meta{}, Self())
	noErr(t, err)
	big := bytes.Repeat([]byte("x"), 100)
	for _, send := range []func() error{
		func() error { return s.UploadFileChunk(loc, big) },
		func() error { return s.UploadChunk(id, big) },
	} {
		d.arm(1, true)
		wantErr(t, send(), errBroken)
		d.disarm()
		wantErr(t, send(), ErrSession)
	}
	if d.openFiles() != 0 || len(d.names(s.inbox.dir)) != 0 {
		t.Errorf("%d files are open, inbox %v", d.openFiles(), d.names(s.inbox.dir))
	}
	wantTidy(t, d, s)
	sendJar(t, s, "there is room again")
}
