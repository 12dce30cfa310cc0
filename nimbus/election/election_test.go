package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	root    = "/storm"
	timeout = 12 * time.Second // a leader is unheard after 8
)

// world is a store in a bubble whose time is the test's.
type world struct {
	*testing.T
	store *embedded.Server
	watch coord.Session // the test's own
}

func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store, err := embedded.New(embedded.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { store.Close() })
		w := &world{T: t, store: store}
		w.watch = w.open()
		test(w)
	})
}

func (w *world) open() coord.Session {
	w.Helper()
	s, err := w.store.Open(w.Context(), timeout)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func testConfig(s coord.Session, id string) Config {
	return Config{Session: s, Root: root, ID: id, Clock: clock.Real{}, Logger: slog.New(slog.DiscardHandler)}
}

// join enters a nimbus and waits until it stands in the queue.
func (w *world) join(s coord.Session, id string) *Latch {
	w.Helper()
	l, err := Join(testConfig(s, id))
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		if err := l.Close(context.Background()); err != nil && !errors.Is(err, coord.ErrConnectionLoss) {
			w.Errorf("close %s: %v", id, err)
		}
	})
	synctest.Wait()
	return l
}

// leads checks that of all latches just the one of a number leads; -1 is none.
func (w *world) leads(want int, all ...*Latch) {
	w.Helper()
	synctest.Wait()
	for i, l := range all {
		if got := l.Leader(); got != (i == want) {
			w.Fatalf("nimbus %d leads: %t; want %d to lead", i, got, want)
		}
	}
}

// ids are the participants, as others see them.
func (w *world) ids(want ...string) {
	w.Helper()
	synctest.Wait()
	all, err := Participants(w.Context(), w.watch, root)
	if err != nil {
		w.Fatal(err)
	}
	var got []string
	for i, p := range all {
		got = append(got, p.ID)
		if p.Leader != (i == 0) {
			w.Errorf("%d is leader: %t", i, p.Leader)
		}
	}
	if !slices.Equal(got, want) {
		w.Fatalf("the participants are %q, want %q", got, want)
	}
	first, ok, err := Leader(w.Context(), w.watch, root)
	if err != nil || ok != (len(want) > 0) || ok && (first.ID != want[0] || first != all[0]) {
		w.Fatalf("the leader is %+v, %t, %v", first, ok, err)
	}
}

// changed checks that a latch tells of a change.
func (w *world) changed(l *Latch) {
	w.Helper()
	synctest.Wait()
	select {
	case <-l.Changes():
	default:
		w.Fatal("no change is told")
	}
}

// write is what a leader does.
func (w *world) write(s coord.Session, term coord.CheckOp) error {
	_, err := s.Multi(w.Context(), term, coord.CreateOp{Path: root + "/w", Mode: coord.Sequential})
	return err
}

func TestTakeoverAfterClose(t *testing.T) {
	inWorld(t, func(w *world) {
		w.ids()
		var all []*Latch
		for i := range 3 {
			all = append(all, w.join(w.open(), fmt.Sprintf("host%d:6627", i)))
			w.leads(0, all...)
		}
		w.ids("host0:6627", "host1:6627", "host2:6627")
		w.changed(all[0])
		began := time.Now()
		// The one in the middle leaves: nobody else is to move.
		if err := all[1].Close(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.leads(0, all...)
		w.ids("host0:6627", "host2:6627")
		if err := all[0].Close(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.leads(2, all...)
		w.changed(all[0])
		w.changed(all[2])
		w.ids("host2:6627")
		if d := time.Since(began); d != 0 {
			w.Errorf("the takeover took %v", d)
		}
		<-all[0].Done()
		if err := all[0].Err(); err != nil {
			w.Errorf("a closed latch has the error %v", err)
		}
	})
}

func TestLayout(t *testing.T) {
	inWorld(t, func(w *world) {
		s := w.open()
		l := w.join(s, "host:6627:6628")
		term, ok := l.Term()
		name, number, found := strings.Cut(coord.Base(term.Path), "-latch-")
		if !ok || coord.Parent(term.Path) != "/storm/leader-lock" || !found || number != "0000000000" ||
			!strings.HasPrefix(name, "_c_") || len(name) != len("_c_")+36 || term.Version != coord.AnyVersion {
			w.Fatalf("the znode is %+v", term)
		}
		data, stat, err := w.watch.Get(w.Context(), term.Path)
		if err != nil || string(data) != "host:6627:6628" || stat.EphemeralOwner != s.ID() {
			w.Fatalf("%q %+v %v", data, stat, err)
		}
	})
}

func TestForeignZnodes(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, path := range []string{"/storm", "/storm/leader-lock", "/storm/leader-lock/leases", "/storm/leader-lock/latch-", "/storm/leader-lock/a-latch-b"} {
			if _, err := w.watch.Create(w.Context(), path, nil, coord.Persistent); err != nil {
				w.Fatal(err)
			}
		}
		// A Storm's own nimbus is first, and another comes later.
		storm := w.open()
		create := func(id string) string {
			path, err := storm.Create(w.Context(), "/storm/leader-lock/_c_0a1b2c3d-0000-4000-8000-0123456789ab-latch-", []byte(id), coord.EphemeralSequential)
			if err != nil {
				w.Fatal(err)
			}
			return path
		}
		first := create("storm1:6627:0")
		s := &spy{Session: w.open()}
		l := w.join(s, "ours:6627")
		create("storm2:6627:0")
		w.ids("storm1:6627:0", "ours:6627", "storm2:6627:0")
		w.leads(-1, l)
		if !slices.Equal(s.watched, []string{first}) {
			w.Errorf("it watches %q, want %q alone", s.watched, first)
		}
		if err := storm.Delete(w.Context(), first, coord.AnyVersion); err != nil {
			w.Fatal(err)
		}
		w.leads(0, l)
		term, _ := l.Term()
		if want := []string{first, term.Path}; !slices.Equal(s.watched, want) {
			w.Errorf("it watches %q, want %q", s.watched, want)
		}
	})
}

// spy is a session that notes watches and can lose answers.
type spy struct {
	coord.Session
	watched []string
	lose    atomic.Int32 // answers to creations
}

func (s *spy) GetW(ctx context.Context, path string) ([]byte, coord.Stat, <-chan coord.Event, error) {
	s.watched = append(s.watched, path)
	return s.Session.GetW(ctx, path)
}

func (s *spy) Create(ctx context.Context, path string, data []byte, mode coord.Mode) (string, error) {
	created, err := s.Session.Create(ctx, path, data, mode)
	if err == nil && mode.IsSequential() && s.lose.Add(-1) >= 0 {
		return "", coord.Failed("create", path, coord.ErrConnectionLoss)
	}
	return created, err
}

func TestLostAnswerToCreate(t *testing.T) {
	inWorld(t, func(w *world) {
		first := w.join(w.open(), "first:6627")
		s := &spy{Session: w.open()}
		s.lose.Store(1)
		l := w.join(s, "ours:6627")
		w.ids("first:6627", "ours:6627")
		<-time.After(timeout)
		w.ids("first:6627", "ours:6627")
		if err := first.Close(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.leads(0, l)
		if term, _ := l.Term(); !strings.HasSuffix(term.Path, "-latch-0000000001") {
			w.Errorf("it leads with %s, not with what it created first", term.Path)
		}
		// Now one is lost while an older term's znode is there too.
		s.lose.Store(1)
		term, _ := l.Term()
		l.Resign(term)
		<-time.After(timeout)
		w.leads(0, l)
		w.ids("ours:6627")
		if err := w.write(s, term); !errors.Is(err, coord.ErrNoNode) {
			w.Errorf("a write of the old term: %v", err)
		}
	})
}

func TestStepsDown(t *testing.T) {
	inWorld(t, func(w *world) {
		a, b := w.open(), w.open()
		la, lb := w.join(a, "a:6627"), w.join(b, "b:6627")
		w.changed(la)

		// By its own will.
		term, _ := la.Term()
		if err := w.write(a, term); err != nil {
			w.Fatal(err)
		}
		la.Resign(term)
		if la.Leader() {
			w.Fatal("it has resigned and leads")
		}
		w.changed(la)
		w.leads(1, la, lb)
		w.ids("b:6627", "a:6627")
		la.Resign(term) // of a term that is over
		w.leads(1, la, lb)

		// Somebody deletes its znode.
		term, _ = lb.Term()
		if err := w.watch.Delete(w.Context(), term.Path, coord.AnyVersion); err != nil {
			w.Fatal(err)
		}
		w.leads(0, la, lb)
		w.ids("a:6627", "b:6627")

		// Somebody writes to it, then deletes it: the pulse finds out.
		term, _ = la.Term()
		if _, err := w.watch.Set(w.Context(), term.Path, []byte("a:6627"), coord.AnyVersion); err != nil {
			w.Fatal(err)
		}
		w.leads(0, la, lb)
		if err := w.write(a, term); err != nil {
			w.Errorf("a write of the leader: %v", err)
		}
		if err := w.watch.Delete(w.Context(), term.Path, coord.AnyVersion); err != nil {
			w.Fatal(err)
		}
		<-time.After(timeout / 6)
		w.leads(1, la, lb)

		// Its session ends.
		w.store.Expire(b.ID())
		if lb.Leader() {
			w.Fatal("its session has expired and it leads")
		}
		w.leads(0, la, lb)
		<-lb.Done()
		if !errors.Is(lb.Err(), coord.ErrSessionExpired) {
			w.Errorf("the latch is over: %v", lb.Err())
		}
	})
}

func TestCutOff(t *testing.T) {
	inWorld(t, func(w *world) {
		a, b := w.open(), w.open()
		la, lb := w.join(a, "a:6627"), w.join(b, "b:6627")
		<-time.After(time.Hour)
		w.leads(0, la, lb)

		// For a short while: it is noticed by the next pulse. The other leads as
		// soon as the first can say that it does not.
		term, _ := la.Term()
		w.store.Cut(a.ID())
		<-time.After(timeout / 6)
		w.leads(-1, la, lb)
		w.store.Heal(a.ID())
		<-time.After(timeout * 2 / 3 / retries)
		w.leads(1, la, lb)
		w.ids("b:6627", "a:6627")
		if err := w.write(a, term); !errors.Is(err, coord.ErrNoNode) {
			w.Errorf("a write of the old term: %v", err)
		}

		// For longer than the session lasts.
		w.store.Cut(b.ID())
		<-time.After(timeout - time.Millisecond)
		w.leads(-1, la, lb)
		<-time.After(time.Millisecond)
		w.leads(0, la, lb)
		w.store.Heal(b.ID())
		<-lb.Done()

		// One that waits keeps its place.
		b = w.open()
		lb = w.join(b, "b:6627")
		lc := w.join(w.open(), "c:6627")
		w.store.Cut(b.ID())
		<-time.After(timeout / 2)
		w.store.Heal(b.ID())
		w.ids("a:6627", "b:6627", "c:6627")
		w.leads(0, la, lb, lc)
	})
}

// deaf is a session whose pulses are never answered.
type deaf struct{ coord.Session }

func (deaf) Exists(ctx context.Context, path string) (bool, coord.Stat, error) {
	<-ctx.Done()
	return false, coord.Stat{}, coord.Failed("exists", path, ctx.Err())
}

func TestUnheard(t *testing.T) {
	inWorld(t, func(w *world) {
		l := w.join(deaf{w.open()}, "a:6627")
		w.changed(l)
		first, _ := l.Term()
		<-time.After(timeout*2/3 - time.Nanosecond)
		w.leads(0, l)
		<-time.After(time.Nanosecond)
		if l.Leader() { // at this very moment, whoever runs first
			w.Fatal("it leads, though it is not heard")
		}
		w.changed(l)
		<-time.After(timeout / 6)
		w.leads(0, l)
		if second, _ := l.Term(); second == first {
			w.Error("a new term has the old znode")
		}
	})
}

func TestValidate(t *testing.T) {
	inWorld(t, func(w *world) {
		_, err := Join(Config{Root: "storm", ID: "host"})
		const want = `leader election: no Session
root "storm": not a path of a znode: it does not start with a slash
ID of a nimbus "host": want host:port or host:port:tlsPort
no Clock: use clock.Real{}
no Logger: use slog.New(slog.DiscardHandler)`
		if err == nil || err.Error() != want {
			w.Errorf("got %v\nwant %s", err, want)
		}
	})
}
