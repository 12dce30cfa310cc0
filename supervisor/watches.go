package supervisor

import (
	"context"
	"sync"

	"github.com/stormring/stormring/internal/coord"
)

// watches are those that one session has set and that have not fired. All but
// fired is the watcher's goroutine's.
type watches struct {
	wg    sync.WaitGroup
	fired chan string // names of those that have fired
	set   map[string]chan struct{}
}

func newWatches() *watches {
	return &watches{fired: make(chan string), set: map[string]chan struct{}{}}
}

// add waits for a watch to fire.
func (w *watches) add(name string, ch <-chan coord.Event) {
	given := make(chan struct{})
	w.set[name] = given
	w.wg.Go(func() {
		select {
		case <-ch:
		case <-given:
			return
		}
		select {
		case w.fired <- name:
		case <-given:
		}
	})
}

// has reports whether a watch is set.
func (w *watches) has(name string) bool { return w.set[name] != nil }

// drop gives up waiting for those watches that are not wanted.
func (w *watches) drop(wanted func(name string) bool) {
	for name, given := range w.set {
		if !wanted(name) {
			close(given)
			delete(w.set, name)
		}
	}
}

// close gives up waiting for all.
func (w *watches) close() {
	w.drop(func(string) bool { return false })
	w.wg.Wait()
}

// look reads something with a watch, or without one if the last has not fired.
func look[T any](ctx context.Context, w *watches, name string, plain func(context.Context) (T, error),
	watched func(context.Context) (T, <-chan coord.Event, error),
) (T, error) {
	if w.has(name) {
		return plain(ctx)
	}
	v, ch, err := watched(ctx)
	if ch != nil {
		w.add(name, ch)
	}
	return v, err
}
