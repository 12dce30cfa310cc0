package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/embedded"
)

// nimbus is one that comes back with a new session when it has lost its own.
type nimbus struct {
	id      string
	session *line
	latch   *Latch
	cut     bool
	kept    []coord.CheckOp // terms that it believes or believed in
}

// line is a session whose pulses go unanswered while it is dead: not even an
// error comes, as where a network swallows what it is given.
type line struct {
	coord.Session
	dead atomic.Bool
}

func (l *line) Exists(ctx context.Context, path string) (bool, coord.Stat, error) {
	if l.dead.Load() {
		<-ctx.Done()
		return false, coord.Stat{}, coord.Failed("exists", path, ctx.Err())
	}
	return l.Session.Exists(ctx, path)
}

// model is nimbuses that are cut off, killed and brought back.
type model struct {
	*rapid.T
	log    func(args ...any) // where it is found even if the history cannot be repeated
	store  *embedded.Server
	test   coord.Session
	all    []*nimbus
	writes int
	last   int64 // number of the term that has written last
}

func (m *model) ok(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

func (m *model) failf(format string, args ...any) {
	m.Helper()
	m.log(fmt.Sprintf(format, args...))
	m.Fatalf(format, args...)
}

func (m *model) start(n *nimbus) {
	opened, err := m.store.Open(context.Background(), timeout)
	m.ok(err)
	s := &line{Session: opened}
	latch, err := Join(Config{Session: s, Root: root, ID: n.id, Clock: clock.Real{}, Logger: slog.New(slog.DiscardHandler)})
	m.ok(err)
	n.session, n.latch, n.cut = s, latch, false
}

// stop is an orderly end, or a crash.
func (m *model) stop(n *nimbus, crash bool) {
	if !crash {
		if err := n.latch.Close(context.Background()); err != nil && !n.cut {
			m.failf("close %s: %v", n.id, err)
		}
		m.ok(n.session.Close(context.Background()))
		return
	}
	n.latch.cancel() // its last words are not heard
	if !n.cut {
		m.store.Cut(n.session.ID())
	}
	n.latch.loop.Wait()
}

// act does something to a nimbus.
func (m *model) act(n *nimbus) {
	switch rapid.SampledFrom([]string{"cut", "cut", "heal", "heal", "expire", "restart", "crash", "resign", "delete"}).Draw(m.T, "act") {
	case "cut":
		m.store.Cut(n.session.ID())
		n.cut = true
		n.session.dead.Store(rapid.Bool().Draw(m.T, "dead"))
	case "heal":
		m.heal(n)
	case "expire":
		if !n.cut { // else the store would break its word: its time is not over
			m.store.Expire(n.session.ID())
		}
	case "restart":
		m.stop(n, false)
		m.start(n)
	case "crash":
		m.stop(n, true)
		m.start(n)
	case "resign":
		if term, ok := n.latch.Term(); ok {
			n.latch.Resign(term)
			if n.latch.Leader() {
				m.failf("%s has resigned and leads", n.id)
			}
		}
	case "delete":
		if term, ok := n.latch.Term(); ok && !n.cut {
			if err := m.test.Delete(context.Background(), term.Path, coord.AnyVersion); err != nil && !errors.Is(err, coord.ErrNoNode) {
				m.Fatal(err)
			}
			synctest.Wait() // who is next may hear of it before the leader does
		}
	}
}

func (m *model) heal(n *nimbus) {
	n.session.dead.Store(false)
	m.store.Heal(n.session.ID())
	n.cut = false
}

// check looks at all nimbuses at a moment at which some may be about to move.
func (m *model) check() {
	leaders := 0
	for _, n := range m.all {
		term, leads := n.latch.Term()
		if leads {
			leaders++
			if len(n.kept) == 0 || n.kept[len(n.kept)-1] != term {
				n.kept = append(n.kept, term)
			}
		}
		// It writes in the name of every term that it ever had.
		for _, term := range n.kept {
			place, ok := parsePlace(coord.Base(term.Path))
			if !ok {
				m.failf("the term %s", term.Path)
			}
			_, err := n.session.Multi(context.Background(), term, coord.SetOp{Path: root, Version: coord.AnyVersion})
			if err != nil {
				continue
			}
			if place.number < m.last {
				m.failf("term %d has written after %d", place.number, m.last)
			}
			m.last = place.number
			m.writes++
		}
	}
	if leaders > 1 {
		m.failf("%d nimbuses believe that they lead", leaders)
	}
}

// run is one history.
func (m *model) run() {
	_, err := m.test.Create(context.Background(), root, nil, coord.Persistent)
	m.ok(err)
	for i := range rapid.IntRange(2, 4).Draw(m.T, "nimbuses") {
		n := &nimbus{id: fmt.Sprintf("host%d:6627", i)}
		m.start(n)
		m.all = append(m.all, n)
	}
	for range rapid.IntRange(5, 40).Draw(m.T, "steps") {
		n := rapid.SampledFrom(m.all).Draw(m.T, "nimbus")
		m.act(n)
		m.check()
		if rapid.Bool().Draw(m.T, "settle") {
			synctest.Wait()
			m.check()
		}
		<-time.After(time.Duration(rapid.IntRange(0, 8000).Draw(m.T, "ms")) * time.Millisecond)
		m.check()
		for _, n := range m.all {
			select {
			case <-n.latch.Done():
				m.stop(n, false)
				m.start(n)
			default:
			}
		}
	}
	m.settle()
}

// settle brings all back: one has to lead, and can write.
func (m *model) settle() {
	for _, n := range m.all {
		m.heal(n)
		synctest.Wait()
		select {
		case <-n.latch.Done():
			m.stop(n, false)
			m.start(n)
		default:
		}
	}
	<-time.After(2 * timeout)
	synctest.Wait()
	before := m.writes
	m.check()
	if m.writes != before+1 {
		m.failf("%d terms can write, want 1", m.writes-before)
	}
	participants, err := Participants(context.Background(), m.test, root)
	m.ok(err)
	if len(participants) != len(m.all) {
		m.failf("%d are in the queue, want %d: %+v", len(participants), len(m.all), participants)
	}
	for _, n := range m.all {
		m.stop(n, false)
	}
}

// Whatever happens, no two nimbuses believe that they lead, no write of a term
// comes after one of a later term, and in the end one leads.
func TestNeverTwoLeaders(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var failed any
		synctest.Test(t, func(t *testing.T) {
			defer func() { failed = recover() }() // rapid's own way to fail
			store, err := embedded.New(embedded.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			m := &model{T: rt, log: t.Log, store: store}
			defer func() {
				for _, n := range m.all {
					n.latch.cancel()
					n.latch.loop.Wait()
				}
				store.Close()
			}()
			m.test, err = store.Open(context.Background(), timeout)
			m.ok(err)
			m.run()
		})
		if failed != nil {
			panic(failed)
		}
	})
}
