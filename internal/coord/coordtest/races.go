package coordtest

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stormring/stormring/internal/coord"
)

var races = []contract{
	{"one of many creates", testRaceCreate},
	{"versions count every set", testRaceSet},
	{"leader by ephemeral sequential znodes", testLeader},
	{"one leader at a time", testLeaders},
	{"clients come and go", testChurn},
}

// run calls f n times at once and ends the test if one fails.
func (w *world) run(n int, f func(i int) error) {
	w.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	w.ok(errors.Join(errs...))
}

func testRaceCreate(w *world) {
	var won atomic.Int32
	clients := w.many(8)
	w.run(len(clients), func(i int) error {
		_, err := clients[i].Create(w.Context(), w.at("/x"), []byte(strconv.Itoa(i)), coord.Ephemeral)
		if err == nil {
			won.Add(1)
		} else if !errors.Is(err, coord.ErrNodeExists) {
			return err
		}
		return nil
	})
	if won.Load() != 1 {
		w.Fatalf("%d clients created the same znode", won.Load())
	}
}

func (w *world) many(n int) []client {
	clients := make([]client, n)
	for i := range clients {
		clients[i] = w.open()
	}
	return clients
}

func testRaceSet(w *world) {
	const each = 25
	clients := w.many(4)
	x := w.at("/x")
	clients[0].create(x, "0", coord.Persistent)
	w.run(len(clients), func(i int) error {
		for done := 0; done < each; {
			data, stat, err := clients[i].Get(w.Context(), x)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(string(data))
			if err != nil {
				return err
			}
			_, err = clients[i].Set(w.Context(), x, []byte(strconv.Itoa(n+1)), stat.Version)
			if err == nil {
				done++
			} else if !errors.Is(err, coord.ErrBadVersion) {
				return err
			}
		}
		return nil
	})
	total := each * len(clients)
	if stat := clients[0].holds(x, strconv.Itoa(total)); stat.Version != int32(total) {
		w.Fatalf("version %d, want %d", stat.Version, total)
	}
}

// testLeader is the election step by step.
func testLeader(w *world) {
	a, b := w.open(), w.open()
	lock := w.at("/lock")
	a.create(lock, "", coord.Persistent)
	a.numbered(lock+"/n-", coord.EphemeralSequential, 0)
	b.numbered(lock+"/n-", coord.EphemeralSequential, 1)
	b.lists(lock, "n-0000000000", "n-0000000001")
	ahead := b.getW(lock + "/n-0000000000")
	w.Expire(a.Session)
	w.fires(ahead, coord.EventNodeDeleted, lock+"/n-0000000000")
	b.lists(lock, "n-0000000001")
	again := w.open()
	again.numbered(lock+"/n-", coord.EphemeralSequential, 2)
	again.lists(lock, "n-0000000001", "n-0000000002")
}

func testLeaders(w *world) {
	const terms = 10
	clients := w.many(2)
	lock := w.at("/lock")
	clients[0].create(lock, "", coord.Persistent)
	var leaders, total atomic.Int32
	w.run(len(clients), func(i int) error {
		for range terms {
			mine, err := clients[i].lead(lock)
			if err != nil {
				return err
			}
			if n := leaders.Add(1); n != 1 {
				return fmt.Errorf("%d leaders at once", n)
			}
			total.Add(1)
			leaders.Add(-1)
			if err := clients[i].Delete(w.Context(), mine, coord.AnyVersion); err != nil {
				return err
			}
		}
		return nil
	})
	if total.Load() != int32(terms*len(clients)) {
		w.Fatalf("%d terms, want %d", total.Load(), terms*len(clients))
	}
	clients[0].lists(lock)
}

// lead queues up for a lock and returns its znode once it is the first.
func (c client) lead(lock string) (string, error) {
	ctx := c.w.Context()
	mine, err := c.Create(ctx, lock+"/n-", nil, coord.EphemeralSequential)
	if err != nil {
		return "", err
	}
	for {
		queue, _, err := c.Children(ctx, lock)
		if err != nil {
			return "", err
		}
		ahead := ""
		for _, name := range queue {
			if name < coord.Base(mine) {
				ahead = lock + "/" + name
			}
		}
		if ahead == "" {
			return mine, nil
		}
		_, _, events, err := c.GetW(ctx, ahead)
		if errors.Is(err, coord.ErrNoNode) {
			continue
		}
		if err != nil {
			return "", err
		}
		if err := fires(events); err != nil {
			return "", err
		}
	}
}

func testChurn(w *world) {
	const rounds = 20
	x := w.at("/x")
	w.open().create(x, "", coord.Persistent)
	w.run(8, func(i int) error {
		for range rounds {
			s, err := w.Open(w.Context(), 0)
			if err != nil {
				return err
			}
			_, createErr := s.Create(w.Context(), x+"/n", nil, coord.EphemeralSequential)
			_, _, events, err := s.ChildrenW(w.Context(), x)
			_, multiErr := s.Multi(w.Context(), coord.CheckOp{Path: x, Version: coord.AnyVersion}, coord.SetOp{Path: x, Version: coord.AnyVersion})
			if err := errors.Join(createErr, err, multiErr); err != nil {
				return err
			}
			if i%2 == 0 {
				w.Expire(s)
			} else if err := s.Close(w.Context()); err != nil {
				return err
			}
			if err := fires(events); err != nil {
				return err
			}
			<-s.Done()
		}
		return nil
	})
	c := w.open()
	if stat := c.lists(x); stat.Version != 8*rounds || stat.Cversion != 2*8*rounds {
		w.Fatalf("after %d sessions: %+v", 8*rounds, stat)
	}
}
