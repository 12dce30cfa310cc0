package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/coord"
)

func TestPlan(t *testing.T) {
	type held = map[string]int64
	tests := []struct {
		name  string
		here  *holding
		znode held // nil: none
		want  string
	}{
		{"nowhere", nil, held{}, ""},
		{"new here", &holding{version: 3}, nil, "announce"},
		{"new here and damaged", &holding{version: 3, damaged: true}, nil, "lost"},
		{"deleted elsewhere", &holding{version: 3, announced: true}, nil, "drop"},
		{"deleted elsewhere, damaged here", &holding{version: 3, announced: true, damaged: true}, nil, "drop"},
		{"held by nobody after a restart", &holding{version: 3, announced: true}, held{}, "announce"},
		{"as announced", &holding{version: 3, announced: true}, held{"me": 3}, ""},
		{"changed here", &holding{version: 4, announced: true}, held{"me": 3, "x": 3}, "announce"},
		{"others lag", &holding{version: 4, announced: true}, held{"me": 4, "x": 3}, ""},
		{"same elsewhere", &holding{version: 4, announced: true}, held{"x": 4}, "announce"},
		{"newer elsewhere", &holding{version: 3, announced: true}, held{"me": 3, "z": 4, "y": 4, "x": 3}, "fetch from [y z]"},
		{"only elsewhere", nil, held{"x": 1}, "fetch from [x]"},
		{"damaged, same elsewhere", &holding{version: 3, announced: true, damaged: true}, held{"me": 3, "x": 3}, "fetch from [x]"},
		{"damaged, older elsewhere", &holding{version: 3, announced: true, damaged: true}, held{"x": 2}, "fetch from [x]"},
		{"damaged and only here", &holding{version: 3, announced: true, damaged: true}, held{"me": 3}, "release lost"},
		{"damaged, known so", &holding{version: 3, announced: true, damaged: true}, held{}, "lost"},
		{"announced and not here", nil, held{"me": 3}, "release"},
		{"what is newest is said of this one", nil, held{"me": 9, "x": 3}, "fetch from [x]"},
	}
	names := map[action]string{fetch: "fetch", announce: "announce", release: "release", drop: "drop"}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := view{self: "me"}
			if tt.here != nil {
				v.local = map[string]holding{"k": *tt.here}
			}
			if tt.znode != nil {
				v.holders = map[string]map[string]int64{"k": tt.znode}
			}
			steps, lost := plan(v)
			var got []string
			for _, st := range steps {
				text := names[st.do]
				if st.from != nil {
					text += fmt.Sprintf(" from %v", st.from)
				}
				got = append(got, text)
			}
			if lost != nil {
				got = append(got, "lost")
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("got %q, want %q", text, tt.want)
			}
		})
	}
}

func TestNewestCopies(t *testing.T) {
	for want, holders := range []map[string]int64{{}, {"a": 2, "b": 1}, {"a": 2, "b": 2, "c": 1}} {
		if got := newestCopies(holders); got != want {
			t.Errorf("%v: %d copies, want %d", holders, got, want)
		}
	}
}

// hub is the records and the stores of several nimbuses.
type hub struct {
	clock  *clock.Fake
	mu     sync.Mutex
	blobs  map[string]map[string]int // key, nimbus
	stores map[string]*Store
	// during is called in the middle of a fetch.
	during     func()
	unreadable string          // a key
	broken     map[string]bool // nimbuses that cannot be reached
}

func newHub() *hub {
	return &hub{clock: clock.NewFake(epoch), blobs: map[string]map[string]int{}, stores: map[string]*Store{}, broken: map[string]bool{}}
}

// join makes a nimbus.
func (h *hub) join(t tester, name string) (*Store, *Replicator) {
	t.Helper()
	s := openMem(t, newMemDisk(), Config{Clock: h.clock})
	h.stores[name] = s
	return s, NewReplicator(s, h, name)
}

// leave ends a nimbus's session with the store of records.
func (h *hub) leave(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, holders := range h.blobs {
		delete(holders, name)
	}
}

func (h *hub) BlobKeys(context.Context) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.blobs)), nil
}

func (h *hub) BlobHolders(_ context.Context, key string) (map[string]int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if key == h.unreadable {
		return nil, errBroken
	}
	if h.blobs[key] == nil {
		return nil, coord.Failed("children", key, coord.ErrNoNode)
	}
	return maps.Clone(h.blobs[key]), nil
}

func (h *hub) HoldBlob(_ context.Context, key, nimbus string, version int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.blobs[key] == nil {
		h.blobs[key] = map[string]int{}
	}
	h.blobs[key][nimbus] = version
	return nil
}

func (h *hub) ReleaseBlob(_ context.Context, key, nimbus string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.blobs[key], nimbus)
	return nil
}

func (h *hub) RemoveBlob(_ context.Context, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.blobs, key)
	return nil
}

func (h *hub) Fetch(ctx context.Context, nimbus, key string, w io.Writer) (int64, Meta, error) {
	if h.broken[nimbus] {
		return 0, Meta{}, errBroken
	}
	r, meta, err := h.stores[nimbus].Get(ctx, key)
	if err != nil {
		return 0, Meta{}, err
	}
	defer r.Close()
	if h.during != nil {
		h.during()
	}
	_, err = io.Copy(w, r)
	return meta.Version, meta.Meta, err
}

func sync1(t tester, r *Replicator, want string) {
	t.Helper()
	report, err := r.Sync(context.Background())
	noErr(t, err)
	if got := fmt.Sprintf("%+v", report); got != want {
		t.Errorf("report %s, want %s", got, want)
	}
}

const nothing = "{Fetched:[] Announced:[] Dropped:[] Lost:[]}"

func wantCopies(t tester, r *Replicator, key string, want int) {
	t.Helper()
	if got, err := r.Copies(context.Background(), key); got != want || err != nil {
		t.Errorf("%d copies, %v; want %d", got, err, want)
	}
}

func TestReplication(t *testing.T) {
	h := newHub()
	sa, a := h.join(t, "a")
	sb, b := h.join(t, "b")
	wantCopies(t, a, "k", 0)
	_, err := sa.Put(t.Context(), "k", Meta{ACL: []AccessControl{{User, "ann", Read}}, Replication: 2}, strings.NewReader("one"))
	noErr(t, err)
	noErr(t, a.Announce(t.Context(), "k"))
	wantErr(t, a.Announce(t.Context(), "none"), ErrKeyNotFound)
	wantCopies(t, b, "k", 1)
	sync1(t, b, "{Fetched:[k] Announced:[] Dropped:[] Lost:[]}")
	sync1(t, b, nothing)
	sync1(t, a, nothing)
	wantCopies(t, a, "k", 2)
	wantGet(t, sb, "k", "one")
	ma, err := sa.Meta("k", Self())
	noErr(t, err)
	if mb, err := sb.Meta("k", Self()); fmt.Sprint(ma) != fmt.Sprint(mb) || err != nil {
		t.Errorf("meta %v, want %v", mb, ma)
	}

	// b leads and changes it; its clock stands still, its versions do not.
	v := put(t, sb, "k", "two")
	if v != ma.Version+1 {
		t.Errorf("version %d after %d", v, ma.Version)
	}
	noErr(t, b.Announce(t.Context(), "k"))
	wantCopies(t, b, "k", 1)
	sync1(t, a, "{Fetched:[k] Announced:[] Dropped:[] Lost:[]}")
	wantGet(t, sa, "k", "two")

	// a is away while it is deleted.
	h.leave("a")
	noErr(t, b.Remove(t.Context(), "k", Self()))
	wantErr(t, b.Remove(t.Context(), "k", Subject{}), ErrKeyNotFound)
	noErr(t, b.Remove(t.Context(), "k", Self()))
	sync1(t, a, "{Fetched:[] Announced:[] Dropped:[k] Lost:[]}")
	sync1(t, b, nothing)
	if sa.Exists("k") || sb.Exists("k") || len(h.blobs) != 0 {
		t.Error("the blob is still there")
	}
}

// After a new session, and after a restart of all, what is here is announced
// again; what has no znode any more goes.
func TestReplicationOverARestart(t *testing.T) {
	h := newHub()
	d := newMemDisk()
	s := openMem(t, d, Config{})
	put(t, s, "kept", "x")
	put(t, s, "gone", "x")
	r := NewReplicator(s, h, "a")
	sync1(t, r, "{Fetched:[] Announced:[gone kept] Dropped:[] Lost:[]}")
	noErr(t, s.Close())
	h.leave("a")
	delete(h.blobs, "gone")
	s = openMem(t, d, Config{})
	r = NewReplicator(s, h, "a")
	sync1(t, r, "{Fetched:[] Announced:[kept] Dropped:[gone] Lost:[]}")
	wantGet(t, s, "kept", "x")
}

// What an earlier session said, and what has not vanished yet, is said again.
func TestANewSessionAnnouncesAgain(t *testing.T) {
	h := newHub()
	s, r := h.join(t, "a")
	put(t, s, "k", "x")
	noErr(t, r.Announce(t.Context(), "k"))
	sync1(t, r, nothing)
	r = NewReplicator(s, h, "a")
	sync1(t, r, "{Fetched:[] Announced:[k] Dropped:[] Lost:[]}")
	sync1(t, r, nothing)
}

// A record that cannot be read keeps its blob as it is, and no other back.
func TestUnreadableRecord(t *testing.T) {
	h := newHub()
	s, r := h.join(t, "a")
	put(t, s, "bad", "x")
	noErr(t, r.Announce(t.Context(), "bad"))
	put(t, s, "k", "x")
	h.unreadable = "bad"
	report, err := r.Sync(t.Context())
	wantErr(t, err, errBroken)
	if got := fmt.Sprintf("%+v", report); got != "{Fetched:[] Announced:[k] Dropped:[] Lost:[]}" {
		t.Errorf("report %s", got)
	}
	wantGet(t, s, "bad", "x")
}

// A blob that is removed while it is fetched does not come back, and one that
// is changed meanwhile stays as it was changed.
func TestChangesDuringAFetch(t *testing.T) {
	h := newHub()
	sa, a := h.join(t, "a")
	sb, b := h.join(t, "b")
	put(t, sa, "k", "old")
	noErr(t, a.Announce(t.Context(), "k"))
	h.during = func() { noErr(t, a.Remove(t.Context(), "k", Self())) }
	sync1(t, b, "{Fetched:[k] Announced:[] Dropped:[k] Lost:[]}")
	if sb.Exists("k") || len(h.blobs) != 0 {
		t.Error("the blob has come back")
	}
	put(t, sa, "k", "old")
	noErr(t, a.Announce(t.Context(), "k"))
	h.during = func() {
		sb.observe(1 << 50)
		put(t, sb, "k", "newer")
	}
	sync1(t, b, nothing)
	wantGet(t, sb, "k", "newer")
	h.during = nil
	sync1(t, a, "{Fetched:[k] Announced:[] Dropped:[] Lost:[]}")
	wantGet(t, sa, "k", "newer")
}

func TestFetchFailsOver(t *testing.T) {
	h := newHub()
	sa, a := h.join(t, "a")
	_, b := h.join(t, "b")
	sc, c := h.join(t, "c")
	for _, key := range []string{"k", "l"} {
		put(t, sa, key, "x")
	}
	sync1(t, a, "{Fetched:[] Announced:[k l] Dropped:[] Lost:[]}")
	sync1(t, b, "{Fetched:[k l] Announced:[] Dropped:[] Lost:[]}")
	h.broken["a"] = true
	sync1(t, c, "{Fetched:[k l] Announced:[] Dropped:[] Lost:[]}")
	noErr(t, sc.Delete("k", Self()))
	h.broken["b"] = true
	report, err := c.Sync(t.Context())
	wantErr(t, err, errBroken)
	want := `replicate blob "k": from nimbus a: the disk has failed` + "\n" + `from nimbus b: the disk has failed`
	if fmt.Sprint(err) != want || len(report.Fetched) != 0 {
		t.Errorf("%+v, error %q, want %q", report, err, want)
	}
	wantTidy(t, sc.disk.(*memDisk), sc)
}

func TestDamageIsRepairedFromOthers(t *testing.T) {
	h := newHub()
	sa := openReal(t, Config{})
	h.stores["a"] = sa
	a := NewReplicator(sa, h, "a")
	_, b := h.join(t, "b")
	put(t, sa, "k", "text")
	put(t, sa, "alone", "text")
	sync1(t, a, "{Fetched:[] Announced:[alone k] Dropped:[] Lost:[]}")
	h.blobs["alone"] = nil // b does not see it
	sync1(t, b, "{Fetched:[k] Announced:[] Dropped:[] Lost:[]}")
	h.blobs["alone"] = map[string]int{"a": 1}
	for _, key := range []string{"k", "alone"} {
		e, err := sa.find(key)
		noErr(t, err)
		noErr(t, os.WriteFile(filepath.Join(sa.blobs, e.dataName()), []byte("tExt"), 0o600))
		_, _, err = download(sa, key, Self())
		wantErr(t, err, ErrDamaged)
	}
	wantErr(t, a.Announce(t.Context(), "k"), ErrDamaged)
	sync1(t, a, "{Fetched:[k] Announced:[] Dropped:[] Lost:[alone]}")
	wantGet(t, sa, "k", "text")
	wantCopies(t, a, "alone", 0)
	sync1(t, a, "{Fetched:[] Announced:[] Dropped:[] Lost:[alone]}")
}

func TestRemoveNeedsWrite(t *testing.T) {
	h := newHub()
	s := openMem(t, newMemDisk(), Config{ACLValidation: true})
	r := NewReplicator(s, h, "a")
	_, err := s.Put(t.Context(), "k", Meta{ACL: []AccessControl{{User, "ann", Write}}}, strings.NewReader(""))
	noErr(t, err)
	noErr(t, r.Announce(t.Context(), "k"))
	wantErr(t, r.Remove(t.Context(), "k", Subject{User: "bob"}), ErrAuthorization)
	wantCopies(t, r, "k", 1)
	noErr(t, r.Remove(t.Context(), "k", Subject{User: "ann"}))
	wantCopies(t, r, "k", 0)
}

func TestSyncStopsWithItsContext(t *testing.T) {
	h := newHub()
	s, r := h.join(t, "a")
	put(t, s, "k", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// However nimbuses come, go and change blobs: once all have synced, all have
// the same, which is what was last written, and nothing that was removed.
func TestNimbusesConverge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := newHub()
		names := []string{"a", "b", "c"}
		all := map[string]*Replicator{}
		for _, name := range names {
			_, all[name] = h.join(t, name)
		}
		want := map[string]string{}
		// One leads at a time and has synced before; the others lag.
		for i := range rapid.IntRange(1, 12).Draw(t, "turns") {
			name := rapid.SampledFrom(names).Draw(t, "leader")
			leader, store := all[name], h.stores[name]
			h.clock.Advance(time.Second) // a new leader takes its time
			if rapid.Bool().Draw(t, "new session") {
				h.leave(name)
			}
			_, err := leader.Sync(context.Background())
			noErr(t, err)
			key := rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key")
			if rapid.Bool().Draw(t, "remove") {
				noErr(t, leader.Remove(context.Background(), key, Self()))
				delete(want, key)
				continue
			}
			want[key] = fmt.Sprint("content ", i)
			put(t, store, key, want[key])
			noErr(t, leader.Announce(context.Background(), key))
		}
		for range 2 {
			for _, name := range names {
				_, err := all[name].Sync(context.Background())
				noErr(t, err)
			}
		}
		for _, name := range names {
			s := h.stores[name]
			if got := len(s.Keys("")); got != len(want) {
				t.Fatalf("%s has %v, want %v", name, s.Keys(""), want)
			}
			for key, content := range want {
				wantGet(t, s, key, content)
				wantCopies(t, all[name], key, len(names))
			}
		}
	})
}
