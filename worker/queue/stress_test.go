package queue

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// row is one item of the stress test.
type row struct{ producer, seq int }

type rows struct{ items []row }

// TestManyProducersOneConsumer expects that nothing is lost, doubled, or out of
// the order of its producer; that the queue stays bounded; and that nobody
// sleeps for ever.
func TestManyProducersOneConsumer(t *testing.T) {
	const (
		producers = 8
		perEach   = 20000
		limit     = 64
		maxBatch  = 7
	)
	q := New[*rows](limit)
	var all sync.WaitGroup
	var posted atomic.Int64 // calls accepted
	for p := range producers {
		all.Go(func() {
			b := &rows{}
			flush := func() {
				n := len(b.items)
				if p == 0 { // one producer is bounded elsewhere
					n = 0
				}
				empty, err := q.Push(b, n)
				if err != nil {
					t.Error(err)
				}
				if b = empty; b == nil {
					b = &rows{}
				}
				if len(b.items) != 0 {
					t.Errorf("got a batch with %d items to fill", len(b.items))
				}
			}
			for i := range perEach {
				b.items = append(b.items, row{p, i})
				if len(b.items) > (i+p)%maxBatch {
					flush()
				}
			}
			if len(b.items) > 0 {
				flush()
			}
		})
		all.Go(func() {
			for range perEach / 100 {
				if err := q.Post(context.Background(), func() { posted.Add(-1) }); err != nil {
					t.Error(err)
				}
				posted.Add(1)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		q.Urge(func() { close(done) })
	}()
	consume(t, q, done, limit+maxBatch-1, [producers]int{}, perEach)
	if n := posted.Load(); n != 0 {
		t.Errorf("%d calls were accepted and not made", n)
	}
	q.Close()
}

// consume takes until done is closed, which a post does after all the rest.
func consume(t *testing.T, q *Inbox[*rows], done chan struct{}, most int, next [8]int, want int) {
	t.Helper()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var empties []*rows
	for turn := 0; ; turn++ {
		if n := q.Len(); n > most {
			t.Errorf("%d items are queued, more than %d", n, most)
		}
		batches, posts, ok := q.Take(empties)
		if !ok {
			t.Fatal("closed")
		}
		empties = empties[:0]
		for _, f := range posts {
			f()
		}
		for _, b := range batches {
			for _, r := range b.items {
				if r.seq != next[r.producer] {
					t.Fatalf("item %d of producer %d came, want %d", r.seq, r.producer, next[r.producer])
				}
				next[r.producer]++
			}
			b.items = b.items[:0]
			empties = append(empties, b)
		}
		select {
		case <-done:
			for p, n := range next {
				if n != want {
					t.Errorf("%d items of producer %d came, want %d", n, p, want)
				}
			}
			return
		default:
		}
		if turn%2 == 0 {
			q.Wait(nil, 0)
		} else {
			q.Wait(timer, 10*time.Microsecond) // so that time-outs meet wake-ups
		}
	}
}

// TestCloseUnderLoad closes while producers push, post and wait.
func TestCloseUnderLoad(t *testing.T) {
	for range 50 {
		q := New[*rows](4)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for {
					if _, err := q.Push(&rows{}, 1); err != nil {
						return
					}
				}
			})
			all.Go(func() {
				for q.Post(context.Background(), func() {}) == nil {
				}
			})
		}
		all.Go(func() {
			for turn := 0; ; turn++ {
				if _, _, ok := q.Take(nil); !ok {
					return
				}
				if turn == 20 {
					all.Go(q.Close)
				}
				q.Wait(nil, 0)
			}
		})
		all.Wait()
	}
}
