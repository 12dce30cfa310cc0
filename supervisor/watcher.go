package supervisor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
)

const (
	// readAllEvery is how often everything is read though no watch has fired,
	// as in Storm.
	readAllEvery = 10 * time.Second
	// refreshPause is how long at least lies between two such readings.
	refreshPause = time.Second
	// Bounds of the pause before the store is tried again.
	leastPause = 100 * time.Millisecond
	mostPause  = 5 * time.Second
	// askTimeout is how long one round of questions to the store may take.
	askTimeout = 30 * time.Second
)

// follow keeps up with the coordination store until ctx ends: a session after
// the other, for ever.
func (s *Supervisor) follow(ctx context.Context) {
	pause := leastPause
	for ctx.Err() == nil {
		began := s.cfg.Clock.Now()
		err := s.attend(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.cfg.Clock.Now().Sub(began) > mostPause {
			pause = leastPause
		}
		s.log.Warn("there is no session with the coordination store; workers run on as they are", "error", err, "pause", pause)
		if !rest(ctx, s.cfg.Clock, pause) {
			return
		}
		pause = min(2*pause, mostPause)
	}
}

// attend is one session's life.
func (s *Supervisor) attend(ctx context.Context) (err error) {
	session, err := s.cfg.Coord.Open(ctx, s.cfg.Conf.Duration(conf.ZookeeperSessionTimeout))
	if err != nil {
		return fmt.Errorf("open a session: %w", err)
	}
	w := &watcher{s: s, session: session, reader: &reader{
		s: s, store: records.New(session, s.root), watches: newWatches(), ill: map[string]string{},
	}}
	defer func() {
		s.sorrows.detach()
		s.beats.attach(nil)
		w.reader.watches.close()
		bye, done := context.WithTimeout(context.WithoutCancel(ctx), mostPause)
		defer done()
		err = errors.Join(err, session.Close(bye))
	}()
	return w.run(ctx)
}

// watcher follows one session.
type watcher struct {
	s       *Supervisor
	session coord.Session
	reader  *reader
	ready   bool // the parents of all records are there
	failing bool // and that was said
}

// run reads and announces until the session or ctx ends.
func (w *watcher) run(ctx context.Context) error {
	s := w.s
	beat, read := s.cfg.Clock.NewTimer(0), s.cfg.Clock.NewTimer(time.Hour)
	defer beat.Stop()
	defer read.Stop()
	first, last := true, time.Time{}
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-w.session.Done():
			return w.session.Err()
		case <-beat.C():
			// The first announcement comes before the first look: having written,
			// this client cannot be shown what was before an earlier session.
			err = w.ask(ctx, w.announce)
			beat.Reset(s.cfg.Conf.Duration(conf.SupervisorHeartbeatSecs))
			if err != nil {
				beat.Reset(leastPause * 10)
			} else if first {
				first = false
				read.Reset(0)
			}
		case <-read.C():
			last = s.cfg.Clock.Now()
			err = w.ask(ctx, w.reader.all)
			s.publish()
			w.again(read, err)
		case <-s.refresh:
			// Anybody may ask for this, so not too often.
			if !first {
				read.Reset(max(0, refreshPause-s.cfg.Clock.Now().Sub(last)))
			}
			continue
		case name := <-w.reader.watches.fired:
			err = w.ask(ctx, func(ctx context.Context) error { return w.reader.some(ctx, name) })
			s.publish()
			if err != nil {
				w.again(read, err)
			}
		}
		w.say(err)
	}
}

// again sets when all is read next.
func (w *watcher) again(t clock.Timer, err error) {
	if err != nil {
		t.Reset(leastPause * 10)
		return
	}
	t.Reset(readAllEvery)
}

// ask puts questions to the store, for so long.
func (w *watcher) ask(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	return f(ctx)
}

// announce gives a sign of life.
func (w *watcher) announce(ctx context.Context) error {
	if !w.ready {
		if err := w.reader.store.Init(ctx); err != nil {
			return fmt.Errorf("make the folders of the store: %w", err)
		}
		w.ready = true
		w.s.sorrows.attach(w.reader.store)
		w.s.beats.attach(w.reader.store)
	}
	if err := w.reader.store.PutSupervisor(ctx, w.s.id, w.s.record()); err != nil {
		return fmt.Errorf("announce the supervisor: %w", err)
	}
	return nil
}

// say logs that the store has gone or come back, once.
func (w *watcher) say(err error) {
	switch {
	case err != nil && !w.failing:
		w.s.log.Warn("the coordination store does not answer; workers run on as they are", "error", err)
	case err == nil && w.failing:
		w.s.log.Info("the coordination store answers again")
	}
	w.failing = err != nil
}

// rest waits for d; false if ctx was done first.
func rest(ctx context.Context, c clock.Clock, d time.Duration) bool {
	t := c.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C():
		return true
	}
}
