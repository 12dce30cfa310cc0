// Package queue holds the inbox of an executor: a bounded queue of batches
// from many producers to one consumer.
//
// Begin at Inbox. It is a double buffer, one mutex and two slices: producers
// hand over whole batches and the consumer takes all that is there at once, so
// that each side works a batch long without touching the other's memory. With
// batches of a hundred tuples this beats lock-free rings, which move two cache
// lines an item between cores.
package queue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is returned to producers once the inbox is closed.
var ErrClosed = errors.New("inbox is closed")

const (
	// maxPosts bounds the calls that wait in an inbox.
	maxPosts = 1024
	// maxFree bounds the empty batches kept for producers.
	maxFree = 256
)

// Inbox is a queue of batches of type B, usually a pointer to a slice and
// what belongs to it. It also carries posts: functions to be called on the
// consumer's goroutine.
//
// Any number of goroutines may push and post; one may take and wait.
type Inbox[B any] struct {
	limit int

	// ready is set while there may be something to take, so that a busy
	// consumer can look without the lock.
	ready atomic.Bool
	wake  chan struct{} // capacity 1: a token for the waiting consumer

	mu      sync.Mutex
	space   sync.Cond // producers wait here while the inbox is full
	room    sync.Cond // posters likewise
	batches []B
	spare   []B // the consumer's previous slice, to be filled next
	weight  int // items in batches
	posts   []func()
	idle    []func()
	free    []B
	waiting bool // the consumer sleeps and wants a token
	patient bool // likewise, but only for a post
	blocked int  // producers that wait for space
	closed  bool
}

// New makes an inbox in which producers wait while limit items or more are
// queued. What the consumer has taken no longer counts.
func New[B any](limit int) *Inbox[B] {
	q := &Inbox[B]{limit: max(limit, 1), wake: make(chan struct{}, 1)}
	q.space.L = &q.mu
	q.room.L = &q.mu
	return q
}

// Push hands over a batch of n items, waiting while the inbox is full, and
// returns an empty batch for the producer to fill next if one is at hand, else
// the zero B. After ErrClosed the batch was not taken.
func (q *Inbox[B]) Push(b B, n int) (empty B, err error) {
	q.mu.Lock()
	for q.weight >= q.limit && !q.closed {
		q.blocked++
		q.space.Wait()
		q.blocked--
	}
	if q.closed {
		q.mu.Unlock()
		return empty, ErrClosed
	}
	q.put(b, n)
	empty = q.takeFree()
	q.unlockAndWake()
	return empty, nil
}

// Offer hands over a batch of n items without ever waiting. It is for
// producers that are bounded elsewhere: by the credits of a connection, or by
// the number of pending trees. After ErrClosed the batch was not taken.
func (q *Inbox[B]) Offer(b B, n int) (empty B, err error) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return empty, ErrClosed
	}
	q.put(b, n)
	empty = q.takeFree()
	q.unlockAndWake()
	return empty, nil
}

// Give is Offer for producers that bring batches of their own and want none
// back.
func (q *Inbox[B]) Give(b B, n int) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	q.put(b, n)
	q.unlockAndWake()
	return nil
}

// Free is an empty batch if one is at hand, else the zero B.
func (q *Inbox[B]) Free() (empty B) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.takeFree()
}

func (q *Inbox[B]) takeFree() (empty B) {
	if last := len(q.free) - 1; last >= 0 {
		empty = q.free[last]
		q.free = q.free[:last]
	}
	return empty
}

func (q *Inbox[B]) put(b B, n int) {
	q.batches = append(q.batches, b)
	q.weight += n
}

// Post has f called by the consumer, before the batches that are queued. It
// waits while too many calls wait already, until ctx ends.
func (q *Inbox[B]) Post(ctx context.Context, f func()) error {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.room.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	for len(q.posts) >= maxPosts && !q.closed && ctx.Err() == nil {
		q.room.Wait()
	}
	if q.closed {
		q.mu.Unlock()
		return ErrClosed
	}
	if ctx.Err() != nil {
		q.mu.Unlock()
		return context.Cause(ctx)
	}
	q.posted(f)
	return nil
}

// posted queues f and unlocks.
func (q *Inbox[B]) posted(f func()) {
	q.posts = append(q.posts, f)
	q.waiting = q.waiting || q.patient
	q.patient = false
	q.unlockAndWake()
}

// Urge posts f without waiting. It is for the worker's own calls, of which
// there are few and which must not be held up by a component's.
func (q *Inbox[B]) Urge(f func()) {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return
	}
	q.posted(f)
}

func (q *Inbox[B]) unlockAndWake() {
	q.ready.Store(true)
	wake := q.waiting
	q.waiting = false
	q.mu.Unlock()
	if wake {
		q.token()
	}
}

func (q *Inbox[B]) token() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Ready reports whether Take may find something. It costs one load.
func (q *Inbox[B]) Ready() bool { return q.ready.Load() }

// Take returns everything that is queued; both slices are valid until the next
// Take. done are empty batches to be handed to producers. ok is false once the
// inbox is closed; what was queued then is gone.
func (q *Inbox[B]) Take(done []B) (batches []B, posts []func(), ok bool) {
	q.mu.Lock()
	if n := min(len(done), maxFree-len(q.free)); n > 0 {
		q.free = append(q.free, done[:n]...)
	}
	batches, q.batches = q.batches, q.spare[:0]
	q.spare = batches
	posts, q.posts = q.posts, q.idle[:0]
	q.idle = posts
	q.weight = 0
	q.ready.Store(q.closed) // that stays to be seen
	ok = !q.closed
	if q.blocked > 0 {
		q.space.Broadcast()
	}
	if len(posts) >= maxPosts {
		q.room.Broadcast()
	}
	q.mu.Unlock()
	return batches, posts, ok
}

// TakePosts returns the posts and leaves the batches, for a consumer that cannot
// go on before one of its posts comes. ok is false once the inbox is closed.
func (q *Inbox[B]) TakePosts() (posts []func(), ok bool) {
	q.mu.Lock()
	posts, q.posts = q.posts, q.idle[:0]
	q.idle = posts
	ok = !q.closed
	if len(posts) >= maxPosts {
		q.room.Broadcast()
	}
	q.mu.Unlock()
	return posts, ok
}

// WaitPost blocks until there is a post or the inbox is closed.
func (q *Inbox[B]) WaitPost() {
	q.mu.Lock()
	if q.closed || len(q.posts) > 0 {
		q.mu.Unlock()
		return
	}
	q.patient = true
	q.mu.Unlock()
	<-q.wake
}

// Wait blocks until there is something to take, until limit has passed if it
// is positive, or until the inbox is closed.
func (q *Inbox[B]) Wait(timer *time.Timer, limit time.Duration) {
	q.mu.Lock()
	if q.closed || len(q.batches) > 0 || len(q.posts) > 0 {
		q.mu.Unlock()
		return
	}
	q.waiting = true
	q.mu.Unlock()
	if limit <= 0 {
		<-q.wake
		return
	}
	timer.Reset(limit)
	select {
	case <-q.wake:
	case <-timer.C:
		q.mu.Lock()
		q.waiting = false
		q.mu.Unlock()
	}
	timer.Stop()
}

// Len is the number of queued items.
func (q *Inbox[B]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.weight
}

// Limit is the number of items from which on producers wait.
func (q *Inbox[B]) Limit() int { return q.limit }

// Close releases everyone who waits; nothing can be queued any more. It may be
// called more than once.
func (q *Inbox[B]) Close() {
	q.mu.Lock()
	q.closed = true
	q.ready.Store(true)
	q.waiting = false
	q.space.Broadcast()
	q.room.Broadcast()
	q.mu.Unlock()
	q.token()
}
