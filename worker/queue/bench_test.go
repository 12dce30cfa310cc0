package queue

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// The benchmarks move pointers from one goroutine to another; one operation is
// one batch. Compare the items/s: a channel of items pays for each, the others
// for each batch.

type pointers struct{ items []*int }

// queueLimit is how many items are under way in all of them.
const queueLimit = 4096

func BenchmarkInbox(b *testing.B) {
	for _, producers := range []int{1, 4} {
		for _, size := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("producers=%d/batch=%d", producers, size), func(b *testing.B) {
				q := New[*pointers](queueLimit)
				got := make(chan int)
				go func() { got <- drainInbox(q, b.N*size) }()
				produce(b, producers, size, func() func(*pointers) *pointers {
					return func(p *pointers) *pointers {
						empty, _ := q.Push(p, len(p.items))
						return empty
					}
				})
				report(b, size, <-got)
			})
		}
	}
}

func drainInbox(q *Inbox[*pointers], want int) (n int) {
	var empties []*pointers
	for n < want {
		batches, _, _ := q.Take(empties)
		empties = empties[:0]
		for _, p := range batches {
			n += sum(p)
			empties = append(empties, p)
		}
		if !q.Ready() && n < want {
			q.Wait(nil, 0)
		}
	}
	return n
}

// sum reads all items of a batch and empties it.
func sum(p *pointers) (n int) {
	for _, x := range p.items {
		n += *x
	}
	p.items = p.items[:0]
	return n
}

func BenchmarkChanOfBatches(b *testing.B) {
	for _, producers := range []int{1, 4} {
		for _, size := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("producers=%d/batch=%d", producers, size), func(b *testing.B) {
				c, free := make(chan *pointers, queueLimit/size), make(chan *pointers, queueLimit/size)
				got := make(chan int)
				go func() {
					n := 0
					for n < b.N*size {
						p := <-c
						n += sum(p)
						select {
						case free <- p:
						default:
						}
					}
					got <- n
				}()
				produce(b, producers, size, func() func(*pointers) *pointers {
					return func(p *pointers) *pointers {
						c <- p
						select {
						case p = <-free:
							return p
						default:
							return nil
						}
					}
				})
				report(b, size, <-got)
			})
		}
	}
}

func BenchmarkChanOfItems(b *testing.B) {
	for _, producers := range []int{1, 4} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			c := make(chan *int, queueLimit)
			got := make(chan int)
			go func() {
				n := 0
				for n < b.N {
					n += *<-c
				}
				got <- n
			}()
			produce(b, producers, 1, func() func(*pointers) *pointers {
				return func(p *pointers) *pointers {
					c <- p.items[0]
					p.items = p.items[:0]
					return p
				}
			})
			report(b, 1, <-got)
		})
	}
}

// produce sends b.N batches of size items, shared by the producers.
func produce(b *testing.B, producers, size int, newSend func() func(*pointers) *pointers) {
	b.Helper()
	b.ReportAllocs()
	runtime.GC()
	item := new(int)
	*item = 1
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range producers {
		n := b.N / producers
		if i < b.N%producers {
			n++
		}
		all.Go(func() {
			send := newSend()
			p := &pointers{}
			for range n {
				for range size {
					p.items = append(p.items, item)
				}
				if p = send(p); p == nil {
					p = &pointers{items: make([]*int, 0, size)}
				}
			}
		})
	}
	all.Wait()
}

func report(b *testing.B, size, got int) {
	b.Helper()
	b.StopTimer()
	if got != b.N*size {
		b.Errorf("%d items came, want %d", got, b.N*size)
	}
	b.ReportMetric(float64(got)/b.Elapsed().Seconds()/1e6, "Mitems/s")
}
