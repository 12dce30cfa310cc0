package client

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/stormring/stormring/sr3/shard"
)

// Task is the state of one task. All its methods but Owner are called on the
// task's goroutine.
type Task struct {
	c      *Client
	o      TaskOptions
	ctx    context.Context //nolint:containedctx // of all that runs in the background; ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	life   sync.Mutex // guards closed
	closed bool

	// What follows is of the task's goroutine.

	table *shard.Table
	// missing tells that a key may be of a shard that is not there yet.
	missing bool
	// committed is the version that the table goes back to, manifest names its
	// objects (nil for version 0). Both are void before the first Load.
	committed shard.Version
	manifest  *shard.Manifest
	saving    *saving  // the newest freeze, until it is committed or rolled back
	loading   *loading // the newest load

	handover
	folds folds
	notes notes
}

// Task makes the state of a task, which is empty until Load.
func (c *Client) Task(o TaskOptions) (*Task, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	t := &Task{c: c, o: o}
	t.handover = handover{post: o.Post, came: make(chan struct{}, 1)}
	t.table = t.newTable()
	t.notes.init(t)
	t.ctx, t.cancel = context.WithCancel(c.ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		t.cancel()
		return nil, fmt.Errorf("state of %v: the client is %w", o.Owner, ErrClosed)
	}
	c.tasks[t] = struct{}{}
	return t, nil
}

func (t *Task) newTable() *shard.Table {
	return shard.NewTable(shard.Options{Owner: t.o.Owner, Target: t.o.ShardBytes, Limit: t.o.Limit})
}

// Owner is whose state it is.
func (t *Task) Owner() shard.Owner { return t.o.Owner }

// Close ends all that is under way and waits for it.
func (t *Task) Close() {
	t.end()
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	delete(t.c.tasks, t)
}

func (t *Task) end() {
	t.life.Lock()
	t.closed = true
	t.life.Unlock()
	t.cancel()
	t.wg.Wait()
}

// spawn starts a goroutine of the task; false if the task is closed.
func (t *Task) spawn(f func()) bool {
	t.life.Lock()
	defer t.life.Unlock()
	if !t.closed {
		t.wg.Go(f)
	}
	return !t.closed
}

// Get is the value of a key. It is valid until the next call that writes, and must
// not be changed. If the key's shard is not there yet, Get waits for it; if it will
// never come, since the client was closed say, Get panics with an error that says
// so, as any answer would be wrong.
func (t *Task) Get(key []byte) (value []byte, ok bool) {
	if t.missing {
		if err := t.await(key); err != nil {
			panic(err)
		}
	}
	return t.table.Get(key)
}

// Put sets the value of a key; both are copied. Errors wrap shard.ErrTooLarge if
// the state would grow beyond its limit, and change nothing.
func (t *Task) Put(key, value []byte) error {
	if t.missing {
		if err := t.await(key); err != nil {
			return err
		}
	}
	return t.table.Put(key, value)
}

// Delete removes a key; it is no error if there is none.
func (t *Task) Delete(key []byte) error {
	if t.missing {
		if err := t.await(key); err != nil {
			return err
		}
	}
	return t.table.Delete(key)
}

// All are the entries whose keys begin with prefix, in an order that is the same
// for the same entries. See shard.Table.All for writing meanwhile. It waits for all
// shards, and panics as Get does.
func (t *Task) All(prefix []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(k, v []byte) bool) {
		if err := t.awaitAll(); err != nil {
			panic(err)
		}
		t.table.All(prefix)(yield)
	}
}

// Len is the number of keys. It waits for all shards, and panics as Get does.
func (t *Task) Len() int {
	if err := t.awaitAll(); err != nil {
		panic(err)
	}
	return t.table.Len()
}

// await waits until the shard of the key is there.
func (t *Task) await(key []byte) error {
	told := false
	return t.wait(func() bool {
		if t.table == nil {
			return true
		}
		r, missing := t.table.MissingRange(key)
		if missing && !told && t.loading != nil {
			told = true
			t.loading.want(r)
		}
		return missing
	})
}

func (t *Task) awaitAll() error {
	if !t.missing {
		return nil
	}
	return t.wait(func() bool { return t.missing })
}

// wait installs what comes until it is no longer missing.
func (t *Task) wait(missing func() bool) error {
	for {
		for _, install := range t.take() {
			install()
		}
		switch {
		case !missing():
			return nil
		case t.loading != nil && t.loading.failed != nil:
			return fmt.Errorf("state of %v: %w", t.o.Owner, t.loading.failed)
		case t.ctx.Err() != nil:
			return fmt.Errorf("state of %v: a shard will not come: %w", t.o.Owner, ErrClosed)
		}
		select {
		case <-t.came:
		case <-t.ctx.Done():
		}
	}
}

// handover brings what other goroutines have to the task's.
type handover struct {
	post func(func())
	came chan struct{} // there are new installs

	mu sync.Mutex
	// installs change the table and may run within a Get; calls may not.
	installs, calls []func()
	posted          bool
}

// install has f, which installs something in the table, run by the task's
// goroutine, by a Get that waits if there is one.
func (h *handover) install(f func()) {
	h.mu.Lock()
	h.installs = append(h.installs, f)
	h.mu.Unlock()
	select {
	case h.came <- struct{}{}:
	default:
	}
	h.ring()
}

// call has f run by the task's goroutine, after all installs before it.
func (h *handover) call(f func()) {
	h.mu.Lock()
	h.calls = append(h.calls, f)
	h.mu.Unlock()
	h.ring()
}

func (h *handover) ring() {
	h.mu.Lock()
	already := h.posted
	h.posted = true
	h.mu.Unlock()
	if !already {
		h.post(h.drain)
	}
}

// take gives the installs that have come.
func (h *handover) take() []func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	installs := h.installs
	h.installs = nil
	return installs
}

// drain runs what has come.
func (h *handover) drain() {
	h.mu.Lock()
	h.posted = false
	installs, calls := h.installs, h.calls
	h.installs, h.calls = nil, nil
	h.mu.Unlock()
	for _, f := range installs {
		f()
	}
	for _, f := range calls {
		f()
	}
}
