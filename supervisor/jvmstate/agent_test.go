package jvmstate

import (
	"errors"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/worker/checkpoint"
)

var empty = checkpoint.Version{}

func v(tx int64, era checkpoint.Era) checkpoint.Version {
	return checkpoint.Version{TxID: tx + 1, Era: era}
}

// TestCheckpoints: a transaction of Storm is prepared and committed, its state comes
// back whole, also what is larger than a frame, and what was deleted is gone.
func TestCheckpoints(t *testing.T) {
	r := newRig(t)
	s := r.spout(7)
	if s.record != (checkpoint.Record{}) {
		t.Fatalf("the record is %v", s.record)
	}
	s.saves(settled, -1, true)
	j := r.opened(r.hello(), empty)
	if got := j.contents(); len(got) != 0 {
		t.Fatalf("it is not empty: %v", got)
	}
	s.saves(preparing, 0, true)
	large := values{"a": "1", "": "", "large": strings.Repeat("x", 3<<20), "gone": "soon"}
	j.prepare(0, empty, 0, large)
	j.wantVersion(prepared, v(0, 1))
	s.saves(committing, 0, false)
	j.commit(0)
	j.wantVersion(base, v(0, 1))
	j.commit(0) // again
	j.wantVersion(base, v(0, 1))
	s.saves(settled, 0, false)

	// A second one of the same era, as none was tried in vain.
	s.saves(preparing, 1, false)
	j.prepare(1, v(0, 1), 0, values{"a": "2", "gone": "-"})
	j.wantVersion(prepared, v(1, 1))
	s.saves(committing, 1, false)
	j.commit(1)
	j.wantVersion(base, v(1, 1))

	want := maps.Clone(large)
	want["a"] = "2"
	delete(want, "gone")
	h := r.hello()
	h.boot = 2
	other := r.opened(h, v(1, 1))
	if got := other.contents(); !maps.Equal(got, want) {
		t.Errorf("%d entries came back, not %d", len(got), len(want))
	}
	if !j.ended() {
		t.Error("the older connection goes on")
	}
	if want := (checkpoint.Record{Committed: v(1, 1), Last: 1, Epoch: 7<<8 | committing}); s.record != want {
		t.Errorf("the record is %v, not %v", s.record, want)
	}
}

// started is a topology of which transaction 0 is committed with one entry.
func started(t *testing.T) (*rig, *spout, *jvm) {
	t.Helper()
	r := newRig(t)
	s := r.spout(7)
	s.saves(settled, -1, true)
	j := r.opened(r.hello(), empty)
	s.saves(preparing, 0, true)
	j.prepare(0, empty, 0, values{"a": "1"})
	j.wantVersion(prepared, v(0, 1))
	s.saves(committing, 0, false)
	j.commit(0)
	j.wantVersion(base, v(0, 1))
	s.saves(settled, 0, false)
	return r, s, j
}

func TestPrepareIsRefused(t *testing.T) {
	_, s, j := started(t)
	j.prepare(1, v(0, 1), 0, values{"a": "2"}) // the spout does not prepare
	j.wantFailure(refused, "phase 3")
	s.saves(preparing, 1, false)
	j.prepare(1, empty, 0, values{"a": "2"}) // changes of another version
	j.wantFailure(refused, "the changes are to version 0 of era 0")
	j.prepare(2, v(0, 1), 0, values{"a": "2"}) // a later transaction
	j.wantFailure(refused, "prepare transaction 2")
	j.prepare(1, v(0, 1), 1, values{"a": "2"}) // there was a rollback in this era
	j.wantFailure(refused, "has to be above 1")
	j.commit(1) // nobody has committed it
	j.wantFailure(refused, "has committed 0")
	j.prepare(1, v(0, 1), 0, values{"a": "3"})
	j.wantVersion(prepared, v(1, 1))
	j.commit(0) // late
	j.wantVersion(base, v(0, 1))
}

// TestPrepareAgain: what is prepared twice is saved once; if it has changed it is
// refused, and after a rollback saved in the next era.
func TestPrepareAgain(t *testing.T) {
	r, s, j := started(t)
	s.saves(preparing, 1, false)
	j.prepare(1, v(0, 1), 0, values{"a": "2", "b": "x"})
	j.wantVersion(prepared, v(1, 1))
	j.prepare(1, v(0, 1), 0, values{"a": "2", "b": "x", "c": "-"})
	j.wantVersion(prepared, v(1, 1))
	for _, other := range []values{{"a": "3"}, {"b": "-"}, {"d": "new"}} {
		j.prepare(1, v(0, 1), 0, other)
		j.wantFailure(refused, "has changed since")
	}
	j.send(rollback, nil)
	if last := j.wantVersion(base, v(0, 1)); last != 1 {
		t.Errorf("the era is %d, not 1", last)
	}
	if got := j.contents(); !maps.Equal(got, values{"a": "1"}) {
		t.Errorf("after the rollback there is %v", got)
	}
	s.saves(settled, 0, false)
	s.saves(preparing, 1, true)
	j.prepare(1, v(0, 1), 1, values{"a": "4"})
	j.wantVersion(prepared, v(1, 2))
	s.saves(committing, 1, false)
	j.commit(1)
	j.wantVersion(base, v(1, 2))
	if got := r.opened(later(r.hello()), v(1, 2)).contents(); !maps.Equal(got, values{"a": "4"}) {
		t.Errorf("%v came back", got)
	}
}

func later(h hello) hello {
	h.serial++
	return h
}

// TestAgentRestarts: what was prepared before is there when it is committed, whether
// the JVM comes back before or after.
func TestAgentRestarts(t *testing.T) {
	r, s, j := started(t)
	s.saves(preparing, 1, false)
	j.prepare(1, v(0, 1), 0, values{"a": "2"})
	j.wantVersion(prepared, v(1, 1))
	r.restart()
	early := r.opened(r.hello(), v(0, 1))
	known := s.record
	s = r.spout(7)
	if s.record != known {
		t.Fatalf("the record is %v, not %v", s.record, known)
	}
	s.saves(committing, 1, false)
	early.commit(1)
	early.wantVersion(base, v(1, 1))
	if got := early.contents(); !maps.Equal(got, values{"a": "2"}) {
		t.Errorf("%v was loaded", got)
	}
	r.restart()
	if got := r.opened(r.hello(), v(1, 1)).contents(); !maps.Equal(got, values{"a": "2"}) {
		t.Errorf("%v was loaded", got)
	}
	r.stop()
	r.ring.until(t, "nothing is open", func() bool { return r.ring.open == 0 && r.ring.kept == 0 })
	r.start()
}

// TestRollbackIsCommit: a rollback that comes late finds that what is prepared is
// committed.
func TestRollbackIsCommit(t *testing.T) {
	_, s, j := started(t)
	s.saves(preparing, 1, false)
	j.prepare(1, v(0, 1), 0, values{"a": "2"})
	j.wantVersion(prepared, v(1, 1))
	s.saves(committing, 1, false)
	j.send(rollback, nil)
	j.wantVersion(base, v(1, 1))
	j.commit(1)
	j.wantVersion(base, v(1, 1))
}

// TestLateMarker: the spout did not wait for a task that never saved before, whose
// prepare comes when the transaction is committed: it is saved under the name that was
// committed.
func TestLateMarker(t *testing.T) {
	r := newRig(t)
	s := r.spout(7)
	s.saves(settled, -1, true)
	j := r.opened(r.hello(), empty)
	s.saves(preparing, 0, true)
	s.saves(committing, 0, false)
	j.prepare(0, empty, 0, values{"a": "2"})
	j.wantVersion(prepared, v(0, 1))
	j.commit(0)
	j.wantVersion(base, v(0, 1))
	if got := r.opened(later(r.hello()), v(0, 1)).contents(); !maps.Equal(got, values{"a": "2"}) {
		t.Errorf("%v came back", got)
	}
}

// TestCommitTooEarly: an acknowledgement of an earlier try makes the spout commit what
// a task has not saved. It waits for the task; and if that does not save, nothing is
// committed.
func TestCommitTooEarly(t *testing.T) {
	r, s, j := started(t)
	before := s.record
	s.saves(preparing, 1, false)
	s.say(committing, 1, false)
	s.wantFailure(refused, "sum/5")
	r.ring.mu.Lock()
	record := r.ring.record
	r.ring.mu.Unlock()
	if record.Committed != before.Committed || phase(record) != preparing {
		t.Errorf("the record is %v", record)
	}

	r.ring.set(func() { r.ring.asked = make(chan struct{}, 1000) })
	s.say(committing, 1, false)
	<-r.ring.asked // it has seen that nothing is saved
	j.prepare(1, v(0, 1), 0, values{"a": "3"})
	j.wantVersion(prepared, v(1, 1))
	s.take()
	if s.record.Committed != v(1, 1) {
		t.Errorf("the record is %v", s.record)
	}
}

// TestJoinFails: who cannot be taken down does not save, or the spout would not wait
// for it.
func TestJoinFails(t *testing.T) {
	r := newRig(t)
	s := r.spout(7)
	s.saves(settled, -1, true)
	j := r.opened(r.hello(), empty)
	r.ring.set(func() { r.ring.join = func() error { return errors.New("no session") } })
	s.saves(preparing, 0, true)
	j.prepare(0, empty, 0, values{"a": "1"})
	j.wantFailure(refused, "no session")
	r.ring.set(func() {
		r.ring.join = nil
		if len(r.ring.saved) > 0 {
			t.Error("it was saved")
		}
	})
	j.prepare(0, empty, 0, values{"a": "1"})
	j.wantVersion(prepared, v(0, 1))
}

func TestSaveFails(t *testing.T) {
	r, s, j := started(t)
	r.ring.set(func() { r.ring.save = func(checkpoint.Version) error { return errors.New("no node answers") } })
	s.saves(preparing, 1, false)
	j.prepare(1, v(0, 1), 0, values{"a": "2"})
	j.wantFailure(refused, "no node answers")
	r.ring.set(func() { r.ring.save = nil })
	j.prepare(1, v(0, 1), 0, values{"a": "3"})
	j.wantVersion(prepared, v(1, 1))
}

// TestLoadHangs: a JVM that waits hears of it; when it goes, what it waits for ends.
func TestLoadHangs(t *testing.T) {
	r := newRig(t)
	r.ring.set(func() { r.ring.load = func(checkpoint.Version) error { return errHang } })
	j := r.say(r.hello())
	f, err := readFrame(j.net, maxFrame)
	if err != nil || f.kind != wait {
		t.Fatalf("a message of kind %d, error %v", f.kind, err)
	}
	_ = j.net.Close()
	r.ring.until(t, "the keeper and the store are closed", func() bool { return r.ring.open == 0 && r.ring.kept == 0 })
	r.ring.set(func() { r.ring.load = func(checkpoint.Version) error { return errors.New("fenced") } })
	j = r.say(r.hello())
	j.wantFailure(refused, "fenced")
	if !j.ended() {
		t.Error("the connection goes on, with a state that nobody knows")
	}
}

func TestNewerWins(t *testing.T) {
	r := newRig(t)
	h := r.hello()
	h.boot, h.serial = 5, 5
	first := r.opened(h, empty)
	r.opened(h, empty) // the same, again
	if !first.ended() {
		t.Error("the broken connection goes on")
	}
	h.boot, h.serial = 4, 9
	r.say(h).wantFailure(superseded, "a newer worker")
	h.boot, h.serial = 5, 6
	r.opened(h, empty)
	// Another namespace of the task is another owner; all of a topology have one store.
	h.namespace, h.serial = "sum-5-window", 1
	r.opened(h, empty)
	r.ring.until(t, "there are two", func() bool { return r.ring.open == 1 && r.ring.kept == 2 })
}

func TestStrangers(t *testing.T) {
	r := newRig(t)
	h := r.hello()
	h.token = strings.Repeat("0", len(h.token))
	j := r.say(h)
	j.wantFailure(stranger, "token")
	if !j.ended() {
		t.Error("it may go on")
	}
	j = &jvm{t: t, net: r.dial()}
	j.send(open, helloBody(r.hello(), format+1))
	j.wantFailure(stranger, "it speaks version 3 of the protocol")
	for name, first := range map[string][]byte{
		"no open":   appendFrame(nil, commit, appendLongs(nil, 1)),
		"too large": {0, 16, 0, 0, byte(open)},
		"no length": {0, 0, 0, 0, 0},
		"short":     appendFrame(nil, open, helloBody(r.hello(), format)[:20]),
	} {
		j = &jvm{t: t, net: r.dial()}
		if _, err := j.net.Write(first); err != nil {
			t.Fatal(err)
		}
		if !j.ended() {
			t.Errorf("%s: it may go on", name)
		}
	}
	h = r.hello()
	h.settings = "bad"
	r.say(h).wantFailure(refused, "settings are bad")
	if info, err := os.Stat(r.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
}

// TestOutOfTurn: what makes no sense ends the connection.
func TestOutOfTurn(t *testing.T) {
	r := newRig(t)
	for name, send := range map[string]func(*jvm){
		"open again":    func(j *jvm) { j.send(open, helloBody(r.hello(), format)) },
		"changes":       func(j *jvm) { j.send(changes, nil) },
		"step":          func(j *jvm) { j.send(step, nil) },
		"short commit":  func(j *jvm) { j.send(commit, nil) },
		"long rollback": func(j *jvm) { j.send(rollback, []byte{1}) },
		"half an entry": func(j *jvm) {
			j.send(prepare, appendLongs(appendVersion(appendLongs(nil, 0), empty), 0))
			j.send(changes, []byte{0, 0, 0, 9, 1})
			j.send(end, nil)
		},
		"a huge key": func(j *jvm) {
			j.send(prepare, appendLongs(appendVersion(appendLongs(nil, 0), empty), 0))
			j.send(changes, []byte{0x7f, 0, 0, 0})
		},
		"commit between changes": func(j *jvm) {
			j.send(prepare, appendLongs(appendVersion(appendLongs(nil, 0), empty), 0))
			j.commit(0)
		},
		"a frame too large": func(j *jvm) { _, _ = j.net.Write([]byte{0x7f, 0, 0, 0, 2}) },
	} {
		j := r.opened(r.hello(), empty)
		send(j)
		if !j.ended() {
			t.Errorf("%s: it may go on", name)
		}
	}
	s := r.spout(1)
	s.send(rollback, nil)
	if !s.ended() {
		t.Error("a spout that rolls back may go on")
	}
}

// TestSpoutSteps: what the checkpoint spout may do, and that it is alone.
func TestSpoutSteps(t *testing.T) {
	r := newRig(t)
	s := r.spout(7)
	s.saves(settled, -1, true)
	s.say(committing, 0, false)
	s.wantFailure(refused, "phase 2 of transaction 0")
	s.say(preparing, 1, false)
	s.wantFailure(refused, "phase 1 of transaction 1")
	s.saves(preparing, 0, false)
	if s.record.Last != 1 {
		t.Errorf("the first era is %d", s.record.Last)
	}
	s.saves(settled, -1, false) // rolled back
	s.saves(preparing, 0, true)
	if s.record.Last != 2 {
		t.Errorf("the second attempt is of era %d", s.record.Last)
	}
	s.say(settled, 0, false)
	s.wantFailure(refused, "phase 3")

	// Another one takes over; what the first says then does not count.
	other := r.spout(8)
	other.saves(settled, -1, false)
	if !s.ended() {
		t.Error("the first spout's connection goes on")
	}
	r.ring.set(func() { r.ring.record.Last = 9 })
	other.say(preparing, 0, true)
	other.wantFailure(refused, "another checkpoint spout")
}

// TestUnknownSwap: it is not known whether the record was written.
func TestUnknownSwap(t *testing.T) {
	r := newRig(t)
	s := r.spout(7)
	for _, written := range []bool{true, false} {
		left := 2
		r.ring.set(func() {
			r.ring.swap = func(_, _ checkpoint.Record) (checkpoint.Outcome, bool) {
				if left--; left == 0 && !written {
					return checkpoint.Written, true
				}
				return checkpoint.Unknown, written
			}
		})
		s.saves(settled, -1, true)
		if got := s.record; got != (checkpoint.Record{Epoch: 7<<8 | settled}) {
			t.Errorf("the record is %v", got)
		}
	}
	r.ring.set(func() {
		r.ring.swap = func(_, _ checkpoint.Record) (checkpoint.Outcome, bool) { return checkpoint.Unknown, false }
	})
	s.say(preparing, 0, true)
	s.wantFailure(refused, "could not be written")
}

func TestOwnerOf(t *testing.T) {
	for _, c := range []struct {
		component string
		task      int32
		namespace string
		want      string
	}{
		{"count", 5, "count-5", "count"},
		{"count", 5, "count-5-window-partitions", "count-window-partitions"},
		{"count", 5, "else-5", "else-5"},
		{"count", 5, "count-6", "count-6"},
		{"count", 5, "count-55", "count-55"},
	} {
		if got := ownerOf(c.component, c.task, c.namespace); got != c.want {
			t.Errorf("%q of %s/%d is %q, not %q", c.namespace, c.component, c.task, got, c.want)
		}
	}
}

// The keeper of a namespace is told of its component's settings, and since when its
// worker was missed, if the JVM knows.
func TestNamespacesAreDescribed(t *testing.T) {
	r := newRig(t)
	h := r.hello()
	h.settings, h.noticed, h.detect = `{"topology.sr3.replicas": 2}`, 1_700_000_000_123, 2_500
	r.opened(h, empty)
	r.opened(later(r.hello()), empty)
	r.ring.mu.Lock()
	defer r.ring.mu.Unlock()
	for i, want := range []Namespace{
		{Component: h.component, Task: h.task, Settings: h.settings, Noticed: time.UnixMilli(1_700_000_000_123), Detect: 2500 * time.Microsecond},
		{Component: h.component, Task: h.task, Settings: r.hello().settings},
	} {
		got := r.ring.namespaces[i]
		if got.Post == nil {
			t.Error("there is no way to post")
		}
		if got.Post = nil; !reflect.DeepEqual(got, want) {
			t.Errorf("namespace %d is %+v, not %+v", i, got, want)
		}
	}
}
