package queue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// batch is what the tests queue: some numbers.
type batch struct{ items []int }

func of(items ...int) *batch { return &batch{items} }

// taken is what Take returned, for comparison.
func taken(batches []*batch) (items []int) {
	for _, b := range batches {
		items = append(items, b.items...)
	}
	return items
}

func mustPush(t *testing.T, q *Inbox[*batch], b *batch) *batch {
	t.Helper()
	empty, err := q.Push(b, len(b.items))
	if err != nil {
		t.Errorf("Push: %v", err)
	}
	return empty
}

func TestPushWaitsAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*batch](3)
		mustPush(t, q, of(1, 2))
		mustPush(t, q, of(3, 4, 5)) // below the limit when it comes, so it is taken whole
		if q.Len() != 5 || q.Limit() != 3 {
			t.Errorf("length %d, limit %d", q.Len(), q.Limit())
		}
		pushed := false
		go func() {
			mustPush(t, q, of(6))
			pushed = true
		}()
		synctest.Wait()
		if pushed {
			t.Fatal("Push did not wait")
		}
		batches, _, ok := q.Take(nil)
		if got := taken(batches); !ok || !slices.Equal(got, []int{1, 2, 3, 4, 5}) {
			t.Errorf("took %v, %t", got, ok)
		}
		synctest.Wait()
		if !pushed {
			t.Fatal("Take did not release the producer")
		}
		if batches, _, _ := q.Take(nil); !slices.Equal(taken(batches), []int{6}) || q.Len() != 0 {
			t.Errorf("took %v, %d are left", taken(batches), q.Len())
		}
	})
}

func TestOneTakeReleasesAllProducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*batch](0) // counts as 1
		mustPush(t, q, of(0))
		released := make(chan int, 5)
		for i := range cap(released) {
			go func() {
				mustPush(t, q, of(i))
				released <- i
			}()
		}
		for n := range cap(released) {
			synctest.Wait()
			if len(released) != n {
				t.Fatalf("%d are released after %d takes", len(released), n)
			}
			q.Take(nil)
		}
		synctest.Wait()
		if len(released) != cap(released) {
			t.Errorf("%d are released in the end", len(released))
		}
	})
}

func TestOfferGiveAndUrgeNeverWait(t *testing.T) {
	q := New[*batch](1)
	calls := 0
	for i := range 2 * maxPosts {
		if _, err := q.Offer(of(2*i), 1); err != nil {
			t.Fatal(err)
		}
		if err := q.Give(of(2*i+1), 1); err != nil {
			t.Fatal(err)
		}
		q.Urge(func() { calls++ })
	}
	if q.Len() != 4*maxPosts {
		t.Errorf("length is %d", q.Len())
	}
	batches, posts, ok := q.Take(nil)
	if !ok || len(posts) != 2*maxPosts {
		t.Fatalf("took %d posts, %t", len(posts), ok)
	}
	for i, item := range taken(batches) {
		if i != item {
			t.Fatalf("item %d is %d", i, item)
		}
	}
	for _, f := range posts {
		f()
	}
	if calls != 2*maxPosts {
		t.Errorf("%d calls", calls)
	}
}

func TestPostWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*batch](1)
		for range maxPosts {
			if err := q.Post(t.Context(), func() {}); err != nil {
				t.Fatal(err)
			}
		}
		reason := errors.New("had enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		impatient, patient := make(chan error, 1), make(chan error, 1)
		go func() { impatient <- q.Post(ctx, func() { t.Error("called after an error") }) }()
		go func() { patient <- q.Post(t.Context(), func() {}) }()
		synctest.Wait()
		if len(impatient)+len(patient) != 0 {
			t.Fatal("Post did not wait")
		}
		cancel(reason)
		if err := <-impatient; !errors.Is(err, reason) {
			t.Errorf("cancelled Post: %v", err)
		}
		synctest.Wait()
		if len(patient) != 0 {
			t.Fatal("the other Post did not wait")
		}
		if _, posts, _ := q.Take(nil); len(posts) != maxPosts {
			t.Errorf("took %d posts", len(posts))
		}
		if err := <-patient; err != nil {
			t.Errorf("patient Post: %v", err)
		}
		if _, posts, _ := q.Take(nil); len(posts) != 1 {
			t.Errorf("took %d posts at last", len(posts))
		}
		if err := q.Post(ctx, func() {}); !errors.Is(err, reason) {
			t.Errorf("Post after its context: %v", err)
		}
	})
}

func TestPostPassesABlockedProducer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*batch](1)
		mustPush(t, q, of(1))
		go func() { _, _ = q.Push(of(2), 1) }()
		synctest.Wait()
		if err := q.Post(t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
		if batches, posts, _ := q.Take(nil); len(posts) != 1 || !slices.Equal(taken(batches), []int{1}) {
			t.Errorf("took %v and %d posts", taken(batches), len(posts))
		}
		q.Close()
	})
}

func TestCloseReleasesEveryone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, empty := New[*batch](1), New[*batch](1)
		mustPush(t, full, of(1))
		for range maxPosts {
			full.Urge(func() {})
		}
		results := make(chan error, 9)
		for range 4 {
			go func() {
				_, err := full.Push(of(2), 1)
				results <- err
			}()
			go func() { results <- full.Post(t.Context(), func() {}) }()
		}
		go func() {
			empty.Wait(nil, 0)
			results <- ErrClosed
		}()
		synctest.Wait()
		if len(results) != 0 {
			t.Fatalf("%d did not wait", len(results))
		}
		full.Close()
		empty.Close()
		full.Close()
		for range cap(results) {
			if err := <-results; !errors.Is(err, ErrClosed) {
				t.Errorf("error is %v", err)
			}
		}
		checkClosed(t, full)
		checkClosed(t, empty)
	})
}

func checkClosed(t *testing.T, q *Inbox[*batch]) {
	t.Helper()
	if !q.Ready() {
		t.Error("a closed inbox is not ready: its consumer would not notice")
	}
	if _, err := q.Push(of(1), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Push: %v", err)
	}
	if _, err := q.Offer(of(1), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Offer: %v", err)
	}
	if err := q.Give(of(1), 1); !errors.Is(err, ErrClosed) {
		t.Errorf("Give: %v", err)
	}
	if err := q.Post(t.Context(), func() {}); !errors.Is(err, ErrClosed) {
		t.Errorf("Post: %v", err)
	}
	q.Urge(func() { t.Error("called") })
	for range 2 {
		if _, _, ok := q.Take(nil); ok {
			t.Error("Take is ok")
		}
		q.Wait(nil, 0) // returns at once
	}
}

func TestWait(t *testing.T) {
	for name, wake := range map[string]func(q *Inbox[*batch]){
		"Push":  func(q *Inbox[*batch]) { _, _ = q.Push(of(1), 1) },
		"Offer": func(q *Inbox[*batch]) { _, _ = q.Offer(of(1), 1) },
		"Give":  func(q *Inbox[*batch]) { _ = q.Give(of(1), 1) },
		"Urge":  func(q *Inbox[*batch]) { q.Urge(func() {}) },
		"Post":  func(q *Inbox[*batch]) { _ = q.Post(context.Background(), func() {}) },
		"Close": func(q *Inbox[*batch]) { q.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[*batch](9)
				if q.Ready() {
					t.Error("ready while empty")
				}
				timer := time.NewTimer(time.Hour)
				start := time.Now()
				for _, limit := range []time.Duration{0, time.Minute} {
					time.AfterFunc(time.Second, func() { wake(q) })
					q.Wait(timer, limit)
					if took := time.Since(start); took != time.Second && name != "Close" {
						t.Errorf("woken after %v", took)
					}
					if !q.Ready() {
						t.Error("not ready after a wake-up")
					}
					q.Wait(timer, 0) // does not wait: there is something
					q.Take(nil)
					start = time.Now()
				}
			})
		})
	}
}

func TestWaitHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[*batch](9)
		timer := time.NewTimer(time.Hour)
		start := time.Now()
		for range 3 {
			q.Wait(timer, time.Minute)
		}
		if took := time.Since(start); took != 3*time.Minute {
			t.Errorf("three waits took %v", took)
		}
		time.AfterFunc(time.Second, func() { mustPush(t, q, of(1)) })
		start = time.Now()
		q.Wait(timer, 0)
		if took := time.Since(start); took != time.Second {
			t.Errorf("the wait after them took %v", took)
		}
	})
}

func TestEmptyBatchesReturnToProducers(t *testing.T) {
	q := New[*batch](1000)
	if got := q.Free(); got != nil {
		t.Errorf("a new inbox has a free batch %v", got)
	}
	a, b, c := of(1), of(2), of(3)
	if got := mustPush(t, q, a); got != nil {
		t.Errorf("Push gave %v", got)
	}
	q.Take([]*batch{a, b, c})
	got := map[*batch]bool{mustPush(t, q, of(4)): true, q.Free(): true}
	empty, err := q.Offer(of(5), 1)
	if err != nil {
		t.Error(err)
	}
	got[empty] = true
	if len(got) != 3 || !got[a] || !got[b] || !got[c] {
		t.Errorf("producers got %v", got)
	}
	if q.Free() != nil {
		t.Error("a batch was given twice")
	}
	many := make([]*batch, 3*maxFree)
	for i := range many {
		many[i] = of(i)
	}
	q.Take(many)
	q.Take(many[:1]) // the list is full already
	n := 0
	for q.Free() != nil {
		n++
	}
	if n != maxFree {
		t.Errorf("%d free batches are kept, want %d", n, maxFree)
	}
}

// TestInboxAgainstModel does what cannot block in any order, and compares with
// plain slices.
func TestInboxAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		q := New[*batch](limit)
		var queued []int
		var posted, called []int
		next, closed := 0, false
		fresh := func() *batch {
			b := &batch{}
			for range rapid.IntRange(1, 3).Draw(t, "items") {
				b.items = append(b.items, next)
				next++
			}
			return b
		}
		enter := func(b *batch, err error) {
			if (err != nil) != closed {
				t.Fatalf("error %v, closed %t", err, closed)
			}
			if !closed {
				queued = append(queued, b.items...)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				if len(queued) >= limit && !closed {
					t.Skip("would wait")
				}
				b := fresh()
				_, err := q.Push(b, len(b.items))
				enter(b, err)
			},
			"offer": func(*rapid.T) {
				b := fresh()
				_, err := q.Offer(b, len(b.items))
				enter(b, err)
			},
			"give": func(*rapid.T) {
				b := fresh()
				enter(b, q.Give(b, len(b.items)))
			},
			"urge": func(*rapid.T) {
				i := next
				next++
				q.Urge(func() { called = append(called, i) })
				if !closed {
					posted = append(posted, i)
				}
			},
			"take": func(t *rapid.T) {
				batches, posts, ok := q.Take(nil)
				if ok == closed {
					t.Fatalf("ok is %t, closed %t", ok, closed)
				}
				called = nil
				for _, f := range posts {
					f()
				}
				if !closed && (!slices.Equal(taken(batches), queued) || !slices.Equal(called, posted)) {
					t.Fatalf("took %v and %v, want %v and %v", taken(batches), called, queued, posted)
				}
				queued, posted = nil, nil
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					q.Close()
					closed = true
				}
			},
			"": func(t *rapid.T) {
				if closed {
					return
				}
				if q.Len() != len(queued) || q.Ready() != (len(queued)+len(posted) > 0) {
					t.Fatalf("length %d, ready %t; want %d items and %d posts", q.Len(), q.Ready(), len(queued), len(posted))
				}
			},
		})
	})
}
