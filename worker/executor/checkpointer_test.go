package executor

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/checkpoint"
)

// slate is a commit record that several write.
type slate struct {
	mu sync.Mutex
	r  checkpoint.Record
}

func (s *slate) Record(context.Context) (checkpoint.Record, error) { return s.now(), nil }

func (s *slate) Swap(_ context.Context, expect, next checkpoint.Record) checkpoint.Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.r != expect {
		return checkpoint.Refused
	}
	s.r = next
	return checkpoint.Written
}

func (s *slate) now() checkpoint.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r
}

func (s *slate) change(f func(*checkpoint.Record)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.r)
}

// A checkpoint task that found another one leading rests for as long as that commits,
// and leads again when it does no more: it may have been started in error, and ended.
func TestCheckpointerLeadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slate
		cfg := checkpoint.Config{Stateful: []int32{7}, Interval: time.Second, Timeout: time.Minute, InstallTimeout: 10 * time.Second, MaxTimeouts: 3}
		x := NewCheckpointer(CheckpointerSpec{
			Config: cfg, Send: func(storm.TaskID, checkpoint.Marker) {}, Records: &s, Logger: slog.New(slog.DiscardHandler),
		})
		ended := make(chan error)
		go func() { ended <- x.Run() }()
		x.Activate()
		synctest.Wait()
		own := s.now()
		if own.Epoch == 0 || own.Last != 1 {
			t.Fatalf("it has not claimed the record: %+v", own)
		}
		rival := own.Epoch + 1<<16
		s.change(func(r *checkpoint.Record) { r.Epoch, r.Last = rival, 2 })
		x.Broken("something") // upon which it wants to write
		for i := range 12 {
			<-time.After(3 * time.Second)
			s.change(func(r *checkpoint.Record) {
				if r.Epoch == rival {
					r.Committed = checkpoint.Version{TxID: int64(i + 1), Era: 2}
				}
			})
		}
		if r := s.now(); r.Epoch != rival || r.Committed.TxID != 12 {
			t.Fatalf("it has disturbed the one that leads: %+v", r)
		}
		<-time.After(21 * time.Second)
		if r := s.now(); r.Epoch <= rival || r.Last != 3 || r.Committed != (checkpoint.Version{TxID: 12, Era: 2}) {
			t.Errorf("it does not lead again: %+v", r)
		}
		x.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
