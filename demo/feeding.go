package demo

import (
	"context"
	"sync"
	"time"
)

// feeding writes the text: at first until the state is large, then a few lines a
// second.
type feeding struct {
	feed *feed
	quit context.CancelFunc
	wg   sync.WaitGroup
	once sync.Once

	mu    sync.Mutex
	words int64 // when it was filled
	full  bool
	err   error
}

func startFeeding(f *feed, state int64, rate int) *feeding {
	ctx, quit := context.WithCancel(context.Background())
	r := &feeding{feed: f, quit: quit}
	r.wg.Go(func() {
		err := r.run(ctx, state, rate)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	})
	return r
}

// filled tells how many words there are when the state is as large as wanted.
func (r *feeding) filled() (words int64, full bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.words, r.full, r.err
}

// stop ends the text, and waits.
func (r *feeding) stop() error {
	r.once.Do(func() {
		r.quit()
		r.wg.Wait()
		if err := r.feed.end(); r.err == nil {
			r.err = err
		}
	})
	return r.err
}

// portions is how often a second lines are written.
const portions = 20

func (r *feeding) run(ctx context.Context, state int64, rate int) error {
	// By parts, so that it can be ended.
	const parts = 64
	for i := int64(1); i <= parts; i++ {
		if ctx.Err() != nil {
			return nil
		}
		if err := r.feed.fill(state * i / parts); err != nil {
			return err
		}
	}
	r.mu.Lock()
	r.words, r.full = r.feed.ledger.words, true
	r.mu.Unlock()
	tick := time.NewTicker(time.Second / portions)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := r.feed.write(rate / portions); err != nil {
				return err
			}
		}
	}
}
