package blobstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/clock"
)

// modelBlob is a blob as the model has it.
type modelBlob struct {
	content string
	version int64
	copies  int
}

// model is a store beside a map that does the same.
type model struct {
	disk  *memDisk
	clock *clock.Fake
	store *Store
	blobs map[string]modelBlob
	// highest is the highest version that a key ever had.
	highest map[string]int64
	// downloads are open ones, and what they have to give.
	downloads map[string]string
	uploads   map[string]*modelUpload
}

type modelUpload struct {
	key, content string
	create       bool
}

func keyGen() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b c", "é_ü", ".x", strings.Repeat("ß", 120)})
}

func (m *model) open(t *rapid.T) {
	// The clock may have been set back meanwhile.
	m.clock = clock.NewFake(epoch.Add(time.Duration(rapid.Int64Range(-1000, 1000).Draw(t, "ms")) * time.Millisecond))
	m.store = openMem(t, m.disk, Config{Clock: m.clock, ChunkSize: 3})
	m.downloads, m.uploads = map[string]string{}, map[string]*modelUpload{}
}

// done takes in that key has a new content.
func (m *model) done(t *rapid.T, key, content string, version int64) {
	if version <= m.highest[key] {
		t.Fatalf("blob %q got version %d after %d", key, version, m.highest[key])
	}
	m.highest[key] = version
	copies := 3
	if old, ok := m.blobs[key]; ok && m.blobs[key].copies != 0 {
		copies = old.copies
	}
	m.blobs[key] = modelBlob{content, version, copies}
}

// change does a change, maybe with the power going in between; what is found
// then is either m.blobs as deed leaves it or as it was.
func (m *model) change(t *rapid.T, deed func() error) {
	if !rapid.Bool().Draw(t, "crash") {
		noErr(t, deed())
		return
	}
	m.disk.arm(rapid.IntRange(1, 12).Draw(t, "step"), false)
	err := deed()
	if !m.disk.disarm() {
		noErr(t, err)
		return
	}
	old := m.blobs
	m.disk = m.disk.crash(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
	m.open(t)
	now := map[string]modelBlob{}
	different := 0
	for _, key := range m.store.Keys("") {
		content, meta := get(t, m.store, key)
		now[key] = modelBlob{content, meta.Version, meta.Meta.Replication}
		m.highest[key] = max(m.highest[key], meta.Version)
		if now[key] != old[key] {
			different++
		}
	}
	for key := range old {
		if _, ok := now[key]; !ok {
			different++
		}
	}
	if different > 1 || err == nil && different > 0 {
		t.Fatalf("after a crash (error %v): %v, was %v", err, now, old)
	}
	m.blobs = now
}

func (m *model) put(t *rapid.T) {
	key, content := keyGen().Draw(t, "key"), rapid.StringN(0, 20, 40).Draw(t, "content")
	m.change(t, func() error {
		v, err := m.store.Put(context.Background(), key, Meta{Replication: m.blobs[key].copies}, strings.NewReader(content))
		if err == nil {
			m.done(t, key, content, v)
		}
		return err
	})
}

func (m *model) delete(t *rapid.T) {
	key := keyGen().Draw(t, "key")
	if _, ok := m.blobs[key]; !ok {
		wantErr(t, m.store.Delete(key, Self()), ErrKeyNotFound)
		return
	}
	m.change(t, func() error {
		err := m.store.Delete(key, Self())
		if err == nil {
			delete(m.blobs, key)
		}
		return err
	})
}

func (m *model) setMeta(t *rapid.T) {
	key, n := keyGen().Draw(t, "key"), rapid.IntRange(1, 5).Draw(t, "replication")
	b, ok := m.blobs[key]
	if !ok {
		wantErr(t, m.store.SetMeta(key, Meta{}, Self()), ErrKeyNotFound)
		return
	}
	m.change(t, func() error {
		err := m.store.SetMeta(key, Meta{Replication: n}, Self())
		if err == nil {
			b.copies = n
			m.blobs[key] = b
		}
		return err
	})
}

func (m *model) begin(t *rapid.T) {
	key, create := keyGen().Draw(t, "key"), rapid.Bool().Draw(t, "create")
	_, exists := m.blobs[key]
	var id string
	var err error
	if create {
		id, err = m.store.BeginCreate(key, Meta{}, Self())
	} else {
		id, err = m.store.BeginUpdate(key, Self())
	}
	switch {
	case create && exists:
		wantErr(t, err, ErrKeyExists)
	case !create && !exists:
		wantErr(t, err, ErrKeyNotFound)
	default:
		noErr(t, err)
		m.uploads[id] = &modelUpload{key: key, create: create}
	}
}

func pick[V any](t *rapid.T, from map[string]V) string {
	if len(from) == 0 {
		t.Skip("none open")
	}
	var ids []string
	for id := range from {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(t, "session")
}

func (m *model) chunk(t *rapid.T) {
	id, text := pick(t, m.uploads), rapid.StringN(0, 5, 10).Draw(t, "chunk")
	noErr(t, m.store.UploadChunk(id, []byte(text)))
	m.uploads[id].content += text
}

func (m *model) finish(t *rapid.T) {
	id := pick(t, m.uploads)
	u := m.uploads[id]
	delete(m.uploads, id)
	_, there := m.blobs[u.key]
	if there == u.create {
		_, err := m.store.FinishUpload(id)
		wantErr(t, err, map[bool]error{true: ErrKeyExists, false: ErrKeyNotFound}[there])
		return
	}
	m.change(t, func() error {
		v, err := m.store.FinishUpload(id)
		if err == nil {
			m.done(t, u.key, u.content, v)
		}
		return err
	})
}

func (m *model) download(t *rapid.T) {
	key := keyGen().Draw(t, "key")
	d, err := m.store.BeginDownload(key, Subject{})
	b, ok := m.blobs[key]
	if !ok {
		wantErr(t, err, ErrKeyNotFound)
		return
	}
	noErr(t, err)
	if d.Version != b.version || d.Size != int64(len(b.content)) {
		t.Fatalf("download %+v of %+v", d, b)
	}
	m.downloads[d.Session] = b.content
}

func (m *model) read(t *rapid.T) {
	id := pick(t, m.downloads)
	chunk, err := m.store.DownloadChunk(id)
	noErr(t, err)
	left := m.downloads[id]
	if want := left[:min(3, len(left))]; string(chunk) != want {
		t.Fatalf("chunk %q, want %q", chunk, want)
	}
	m.downloads[id] = left[len(chunk):]
	if len(chunk) == 0 {
		delete(m.downloads, id)
	}
}

func (m *model) reopen(t *rapid.T) {
	noErr(t, m.store.Close())
	if n := m.disk.openFiles(); n != 0 {
		t.Fatalf("%d files are open after Close", n)
	}
	m.open(t)
}

func (m *model) check(t *rapid.T) {
	keys := m.store.Keys("")
	if len(keys) != len(m.blobs) {
		t.Fatalf("keys %q, want those of %v", keys, m.blobs)
	}
	for key, b := range m.blobs {
		content, meta := get(t, m.store, key)
		if got := (modelBlob{content, meta.Version, meta.Meta.Replication}); got != b {
			t.Fatalf("blob %q is %v, want %v", key, got, b)
		}
	}
}

// A store does what a map does, over restarts and power cuts.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{disk: newMemDisk(), blobs: map[string]modelBlob{}, highest: map[string]int64{}}
		m.open(t)
		t.Repeat(map[string]func(*rapid.T){
			"put": m.put, "delete": m.delete, "set meta": m.setMeta, "begin": m.begin, "chunk": m.chunk,
			"finish": m.finish, "download": m.download, "read": m.read, "reopen": m.reopen, "": m.check,
		})
	})
}

// Stems are names of files, short enough, and no two keys share one.
func TestStem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.Custom(func(t *rapid.T) string {
			unit := rapid.SampledFrom([]string{"a", ".", "%", "ß", " ", "A", "~"}).Draw(t, "unit")
			return strings.Repeat(unit, rapid.IntRange(1, 130).Draw(t, "times")) + rapid.StringMatching(`[\w \t._-]{0,10}`).Draw(t, "rest")
		}).Filter(func(key string) bool { return CheckKey(key) == nil })
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if a != b && stem(a) == stem(b) {
			t.Fatalf("%q and %q have the same stem", a, b)
		}
		name := record{Key: a, Version: 1<<63 - 1}.dataName()
		if len(name) > 255 || strings.ContainsAny(name, "/\x00 ") || name[0] == '.' {
			t.Fatalf("%q is not the name of a file", name)
		}
		if got := dataStem(name); got != stem(a) {
			t.Fatalf("stem %q of %q", got, name)
		}
	})
}

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"a", "word-1-1893553445-stormjar.jar", "a b\tc", "..a", "...", "dep-x_y.jar", "ключ", "日本", "é\u0301", "٣", "a‿b", strings.Repeat("k", 255)} {
		if err := CheckKey(key); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	}
	for _, key := range []string{"", ".", "..", "a/b", "../a", "a\x00", "a\nb", "a:b", "a~b", "a%b", "a\\b", "a\xff", "a€", "a\u00a0b", strings.Repeat("k", 256)} {
		if err := CheckKey(key); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("%q: error %v", key, err)
		}
	}
}

func FuzzDecodeRecord(f *testing.F) {
	sum := strings.Repeat("0", 64)
	good, err := encodeRecord(record{Key: "k", Version: 1, SHA256: sum, ACL: []AccessControl{{User, "u", Read}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(seal([]byte(`{"key":"../k","version":1}`)))
	f.Add(seal([]byte(`{"key":"k","version":-1,"sha256":"` + sum + `"}`)))
	f.Add([]byte("x\ny\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, text := range [][]byte{text, seal(text)} {
			r, err := decodeRecord(text)
			if err != nil {
				continue
			}
			again, err := encodeRecord(r)
			if err != nil {
				t.Fatal(err)
			}
			if r2, err := decodeRecord(again); err != nil || fmt.Sprint(r) != fmt.Sprint(r2) {
				t.Fatalf("%+v came back as %+v, %v", r, r2, err)
			}
		}
	})
}
