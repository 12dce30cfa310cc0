package bench

import (
	"context"
	"sync"
	"time"

	"github.com/stormring/stormring/worker/queue"
)

// rawTuple is a tuple with nothing but what the floor needs.
type rawTuple struct {
	root, edge uint64
	word       string
	n          int64
}

type rawMessage struct{ root, val uint64 }

const (
	rawBatch = 100
	rawLimit = 4096
	rawRing  = 1 << 16 // trees in flight, more than maxPending
)

// floor is the bare hand-off that a scenario can be compared with, or nil.
func (sh shape) floor() func(ctx context.Context, m *meter) {
	switch {
	case sh.rate > 0 || sh.workers > 1 || sh.hops > 1:
		return nil
	case sh.acked:
		return rawAcked
	default:
		return rawUnacked
	}
}

func measureRaw(ctx context.Context, floor func(context.Context, *meter), o Options) (Result, error) {
	m := &meter{start: time.Now()}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { floor(running, m) })
	r, err := m.measure(ctx, o)
	stop()
	wg.Wait()
	return r, err
}

// rawUnacked moves tuples from one goroutine to another, batch by batch.
func rawUnacked(ctx context.Context, m *meter) {
	toBolt := queue.New[*[]rawTuple](rawLimit)
	stop := context.AfterFunc(ctx, toBolt.Close)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		sum := int64(0)
		consume(toBolt, func(b []rawTuple) {
			for i := range b {
				sum += b[i].n + int64(len(b[i].word))
			}
			m.count.Add(int64(len(b)))
		}, nil)
		_ = sum
	})
	b := new([]rawTuple)
	for n := int64(0); ; n++ {
		*b = append(*b, rawTuple{word: "word", n: n})
		if len(*b) == rawBatch && push(toBolt, &b) != nil {
			break
		}
	}
	wg.Wait()
}

// rawAcked adds an acker and the way back, with maxPending trees in flight.
func rawAcked(ctx context.Context, m *meter) {
	toBolt := queue.New[*[]rawTuple](rawLimit)
	toAcker := queue.New[*[]rawMessage](rawLimit)
	toSpout := queue.New[*[]uint64](rawLimit)
	stop := context.AfterFunc(ctx, func() {
		toBolt.Close()
		toAcker.Close()
		toSpout.Close()
	})
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { rawBolt(toBolt, toAcker) })
	wg.Go(func() { rawAcker(toAcker, toSpout) })
	rawSpout(toBolt, toAcker, toSpout, m)
	wg.Wait()
}

func rawSpout(toBolt *queue.Inbox[*[]rawTuple], toAcker *queue.Inbox[*[]rawMessage], toSpout *queue.Inbox[*[]uint64], m *meter) {
	tuples, inits := new([]rawTuple), new([]rawMessage)
	var done []*[]uint64
	random, pending := uint64(1), 0
	for root := uint64(1); ; root++ {
		for pending >= maxPending || toSpout.Ready() {
			if pending >= maxPending {
				if len(*inits) > 0 && (push(toAcker, &inits) != nil || push(toBolt, &tuples) != nil) {
					return
				}
				toSpout.Wait(nil, 0)
			}
			batches, _, ok := toSpout.Take(done)
			if !ok {
				return
			}
			done = done[:0]
			for _, b := range batches {
				pending -= len(*b)
				m.count.Add(int64(len(*b)))
				*b = (*b)[:0]
				done = append(done, b)
			}
		}
		random = xorshift(random)
		pending++
		*tuples = append(*tuples, rawTuple{root: root, edge: random, word: "word", n: int64(root)})
		*inits = append(*inits, rawMessage{root, random})
		if len(*tuples) == rawBatch && (push(toAcker, &inits) != nil || push(toBolt, &tuples) != nil) {
			return
		}
	}
}

func rawBolt(toBolt *queue.Inbox[*[]rawTuple], toAcker *queue.Inbox[*[]rawMessage]) {
	acks := new([]rawMessage)
	sum := int64(0)
	consume(toBolt, func(b []rawTuple) {
		for i := range b {
			sum += b[i].n + int64(len(b[i].word))
			*acks = append(*acks, rawMessage{b[i].root, b[i].edge})
			if len(*acks) == rawBatch && push(toAcker, &acks) != nil {
				return
			}
		}
	}, func() {
		if len(*acks) > 0 {
			_ = push(toAcker, &acks) // closed: consume ends by itself
		}
	})
}

func rawAcker(toAcker *queue.Inbox[*[]rawMessage], toSpout *queue.Inbox[*[]uint64]) {
	ring := make([]uint64, rawRing)
	done := new([]uint64)
	flush := func() {
		if len(*done) > 0 {
			_ = push(toSpout, &done) // closed: consume ends by itself
		}
	}
	consume(toAcker, func(b []rawMessage) {
		for _, msg := range b {
			slot := &ring[msg.root&(rawRing-1)]
			if *slot ^= msg.val; *slot == 0 {
				if *done = append(*done, msg.root); len(*done) == rawBatch {
					flush()
				}
			}
		}
	}, flush)
}

func xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}

// push hands over *b and puts an empty batch in its place.
func push[T any](q *queue.Inbox[*[]T], b **[]T) error {
	empty, err := q.Push(*b, len(**b))
	if err != nil {
		return err
	}
	if empty == nil {
		empty = new([]T)
	}
	*b = empty
	return nil
}

// consume gives each batch to each until the queue is closed; idle runs
// whenever the queue is empty.
func consume[T any](q *queue.Inbox[*[]T], each func([]T), idle func()) {
	var done []*[]T
	for {
		batches, _, ok := q.Take(done)
		if !ok {
			return
		}
		done = done[:0]
		for _, b := range batches {
			each(*b)
			*b = (*b)[:0]
			done = append(done, b)
		}
		if q.Ready() {
			continue
		}
		if idle != nil {
			idle()
		}
		q.Wait(nil, 0)
	}
}
