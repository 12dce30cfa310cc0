package slot

import (
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/assert"
)

// advance does all that is due by now. There is at most one process: only a
// slot without one launches.
func (s *Slot) advance() {
	if s.worker != nil {
		s.watch()
	}
	s.prepare()
	if s.worker == nil && s.next != nil && s.next.ready && !s.now.Before(s.notBefore()) {
		s.launch()
	}
}

// notBefore is when the next worker may be launched.
func (s *Slot) notBefore() time.Time {
	if s.doubtful.After(s.trouble.notBefore) {
		return s.doubtful
	}
	return s.trouble.notBefore
}

// watch decides whether the worker has to go, and drives its killing.
func (s *Slot) watch() {
	w := s.worker
	switch {
	case w.killed != unharmed:
		s.killOn()
	case !s.wanted():
		s.kill("it is not assigned any more")
	case w.stale:
		s.kill("its blobs have changed")
	case s.now.Before(s.patience()):
	case w.beat.IsZero():
		s.note(StartTimedOut, "worker %d was not heard of within %v", w.Launch, s.cfg.StartTimeout)
		s.trouble.why = fmt.Sprintf("it was not heard of within %v of its start", s.cfg.StartTimeout)
		s.kill("it did not start")
	default:
		s.note(HeartbeatTimedOut, "worker %d was silent for %v", w.Launch, s.silence())
		s.trouble.why = fmt.Sprintf("it was silent for %v", s.silence())
		s.kill("it is silent")
	}
}

// wanted reports whether the process that there is is the right one.
func (s *Slot) wanted() bool { return s.want != nil && s.want.Same(s.worker.Assignment) }

// silence is how long the worker may be silent.
func (s *Slot) silence() time.Duration {
	asked := s.worker.Assignment.Timeout
	if s.wanted() {
		asked = s.want.Timeout
	}
	return max(s.cfg.HeartbeatTimeout, min(asked, s.cfg.MaxHeartbeatTimeout))
}

// patience is when the worker is given up unless it is heard of.
func (s *Slot) patience() time.Time {
	if s.worker.beat.IsZero() {
		return s.worker.since.Add(s.cfg.StartTimeout)
	}
	return s.worker.beat.Add(s.silence())
}

func (s *Slot) kill(why string) {
	s.worker.killed, s.worker.until = softly, s.now.Add(s.cfg.SoftKill)
	s.note(Killing, "worker %d: %s", s.worker.Launch, why)
	s.do(SoftKill{s.worker.Launch})
}

func (s *Slot) killOn() {
	if s.now.Before(s.worker.until) {
		return
	}
	if s.worker.killed == hard {
		s.note(WontDie, "worker %d lives on though it was killed by force", s.worker.Launch)
	}
	s.worker.killed, s.worker.until = hard, s.now.Add(s.cfg.HardKillAgain)
	s.do(HardKill{s.worker.Launch})
}

// prepare sees to it that the blobs of the next launch are on their way, and
// no others.
func (s *Slot) prepare() {
	needed := s.want != nil && (s.worker == nil || !s.wanted())
	if s.next != nil {
		switch {
		case !needed || !s.next.assignment.Same(*s.want):
			s.drop()
		case !s.next.retry.IsZero() && !s.now.Before(s.next.retry):
			s.fetch(s.next.update) // again
		}
	}
	if needed && s.next == nil {
		s.fetch(false)
	}
}

// fetch asks for the blobs of what is wanted. It does so before it lets go of
// those it has, so that what is in both stays on disk.
func (s *Slot) fetch(update bool) {
	old := s.next
	s.last++
	s.next = &prep{request: s.last, assignment: *s.want, update: update}
	s.do(Localise{Request: s.last, Assignment: *s.want, Update: update})
	if old != nil {
		s.do(Release{old.request})
	}
}

func (s *Slot) drop() {
	s.do(Release{s.next.request})
	s.next = nil
}

func (s *Slot) blobsReady(ev BlobsReady) {
	if s.next == nil || s.next.request != ev.Request || !s.next.retry.IsZero() {
		return
	}
	s.next.ready = true
	if s.trouble.fetches > 0 {
		s.trouble.fetches, s.trouble.why = 0, ""
	}
}

func (s *Slot) blobsFailed(ev BlobsFailed) {
	if s.next == nil || s.next.request != ev.Request || s.next.ready || !s.next.retry.IsZero() {
		return
	}
	s.trouble.fetches++
	s.trouble.why = "its blobs could not be fetched: " + ev.Why
	// A failure to fetch is worth a pause even the first time.
	pause := s.cfg.backoff(s.trouble.fetches + 1)
	s.next.retry = s.now.Add(pause)
	s.note(FetchFailed, "request %d, again in %v: %s", ev.Request, pause, ev.Why)
}

func (s *Slot) blobsChanged(ev BlobsChanged) {
	if s.worker != nil && s.worker.Assignment.Topology == ev.Topology && !s.worker.stale {
		s.worker.stale = true
		if s.wanted() {
			s.trouble, s.dirty = trouble{}, true // what is new may be better
		}
	}
	if s.next != nil && s.want != nil && s.next.assignment.Topology == ev.Topology && s.next.assignment.Same(*s.want) && s.next.retry.IsZero() {
		// If it was ready it becomes an update, else it is as it was.
		s.trouble.deaths, s.trouble.notBefore, s.dirty = 0, time.Time{}, true
		s.fetch(s.next.update || s.next.ready)
	}
}

func (s *Slot) launch() {
	assert.That(s.worker == nil, "two workers in one slot")
	s.last++
	s.worker = &process{
		Worker: Worker{Launch: s.last, Blobs: s.next.request, Assignment: *s.want, Launched: s.now},
		since:  s.now,
	}
	s.next, s.dirty = nil, true
	s.do(Launch{s.worker.Worker})
}

// gone is the end of the worker's process, wanted or not.
func (s *Slot) gone(how string) {
	w := s.worker
	again := s.wanted()
	s.do(Clear{w.Launch})
	s.worker, s.dirty = nil, true
	if !again {
		s.do(Release{w.Blobs})
		return
	}
	s.next = &prep{request: w.Blobs, assignment: w.Assignment, update: true, ready: true}
	if w.stale {
		s.fetch(true)
		return
	}
	if w.killed == unharmed {
		s.trouble.why = how // else the killing's reason says more
	}
	if !w.beat.IsZero() && s.now.Sub(w.Launched) >= s.cfg.Stable {
		s.trouble.deaths = 0
	}
	s.trouble.deaths++
	pause := s.cfg.backoff(s.trouble.deaths)
	s.trouble.notBefore = s.now.Add(pause)
	if pause > 0 {
		s.note(BackedOff, "%d workers died early, the next starts in %v", s.trouble.deaths, pause)
	}
}

// Deadline is when something will be due; zero if nothing will be unless
// something happens.
func (s *Slot) Deadline() time.Time {
	var first time.Time
	at := func(t time.Time) {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	if s.stopped {
		return first
	}
	if w := s.worker; w != nil {
		if w.killed == unharmed {
			at(s.patience())
		} else {
			at(w.until)
		}
	}
	if n := s.next; n != nil {
		switch {
		case !n.retry.IsZero():
			at(n.retry)
		case n.ready && s.worker == nil:
			at(s.notBefore())
		}
	}
	return first
}

func (s *Slot) do(effects ...Effect) { s.out = append(s.out, effects...) }

func (s *Slot) note(what What, format string, args ...any) {
	s.do(Note{What: what, Text: fmt.Sprintf(format, args...)})
}
