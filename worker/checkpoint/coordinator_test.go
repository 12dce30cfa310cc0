package checkpoint

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

func testConfig() Config {
	return Config{Stateful: []int32{1, 2}, Epoch: 7, Interval: time.Second, Timeout: 5 * time.Second, InstallTimeout: 10 * time.Second, MaxTimeouts: 2}
}

// script feeds a coordinator and compares what comes out.
type script struct {
	t *testing.T
	c *Coordinator
}

func at(ms int) time.Time { return epochStart.Add(time.Duration(ms) * time.Millisecond) }

func (s script) step(ms int, ev Event, want ...Effect) {
	s.t.Helper()
	if got := s.c.Step(at(ms), ev); !reflect.DeepEqual(got, want) {
		s.t.Fatalf("at %d ms, %T %+v:\n got %s\nwant %s", ms, ev, ev, show(got), show(want))
	}
}

func show(effects []Effect) string {
	out := ""
	for _, e := range effects {
		out += fmt.Sprintf("%T %+v; ", e, e)
	}
	return out
}

func (s script) phase(want Phase) {
	s.t.Helper()
	if got := s.c.Phase(); got != want {
		s.t.Fatalf("phase is %v, want %v", got, want)
	}
}

func ok(task int32, kind AnswerKind, era Era, tx int64) Answer {
	return Answer{Task: task, Kind: kind, Era: era, TxID: tx}
}

// begun is a coordinator whose tasks have installed version 3 of era 4 in era 6.
func begun(t *testing.T) script {
	t.Helper()
	s := script{t, NewCoordinator(testConfig())}
	old := Record{Committed: Version{3, 4}, Last: 5, Epoch: 6}
	claimed := Record{Committed: Version{3, 4}, Last: 6, Epoch: 7}
	s.step(0, Tick{}, Load{})
	s.step(1, Tick{})
	s.step(2, Loaded{Record: old}, Store{Expect: old, Next: claimed})
	s.step(3, Stored{Next: claimed, Outcome: Written}, Send{Marker{Action: InitState, Era: 6, TxID: 3, Committed: Version{3, 4}}})
	s.phase(Installing)
	s.step(4, ok(1, Installed, 6, 3))
	s.step(5, ok(1, Installed, 6, 3))
	s.step(6, ok(2, Installed, 5, 3)) // an older era's
	s.phase(Installing)
	s.step(10, ok(2, Installed, 6, 3))
	s.phase(Committed)
	s.step(1009, Tick{})
	s.step(1010, Tick{}, Send{Marker{Action: Prepare, Era: 6, TxID: 4, Committed: Version{3, 4}}})
	s.phase(Preparing)
	return s
}

func TestCommit(t *testing.T) {
	s := begun(t)
	s.step(1020, ok(1, Prepared, 6, 4))
	s.step(1021, ok(2, Prepared, 6, 3)) // an older transaction's
	claimed := Record{Committed: Version{3, 4}, Last: 6, Epoch: 7}
	next := Record{Committed: Version{4, 6}, Last: 6, Epoch: 7}
	s.step(1030, ok(2, Prepared, 6, 4), Store{Expect: claimed, Next: next})
	s.step(1031, Stored{Next: claimed, Outcome: Unknown}) // not the one awaited
	s.step(1032, Stored{Next: next, Outcome: Written},
		Send{Marker{Action: Commit, Era: 6, TxID: 4, Committed: Version{4, 6}}},
		Done{Version: Version{4, 6}, Took: 22 * time.Millisecond})
	if got := s.c.Due(); !got.Equal(at(2010)) {
		t.Errorf("the next checkpoint is due at %v, want %v", got, at(2010))
	}
	s.step(2010, Tick{}, Send{Marker{Action: Prepare, Era: 6, TxID: 5, Committed: Version{4, 6}}})
}

func TestPreCommit(t *testing.T) {
	s := begun(t)
	s.step(1020, Answer{Task: 1, Kind: Prepared, Era: 6, TxID: 4, PreCommits: true})
	s.step(1021, ok(2, Prepared, 6, 4), Send{Marker{Action: PreCommit, Era: 6, TxID: 4, Committed: Version{3, 4}}})
	s.phase(PreCommitting)
	s.step(1022, ok(2, PreCommitted, 6, 4))
	s.step(1023, ok(1, PreCommitted, 6, 4), Store{
		Expect: Record{Committed: Version{3, 4}, Last: 6, Epoch: 7},
		Next:   Record{Committed: Version{4, 6}, Last: 6, Epoch: 7},
	})
	s.phase(Committing)
}

func TestSlowThenAbandonedThenRollback(t *testing.T) {
	s := begun(t)
	s.step(1500, ok(2, Prepared, 6, 4))
	if got := s.c.Due(); !got.Equal(at(2010)) {
		t.Errorf("due at %v, want the time it becomes slow, %v", got, at(2010))
	}
	s.step(2010, Tick{}, Slow{TxID: 4, Phase: Preparing, For: time.Second, Missing: []int32{1}})
	s.step(3010, Tick{})
	s.step(6010, Tick{}, Send{Marker{Action: Abandon, Era: 6, TxID: 4, Committed: Version{3, 4}}},
		Abandoned{TxID: 4, Reason: "tasks [1] have not answered within 5s"})
	s.step(6010, Tick{}, Send{Marker{Action: Prepare, Era: 6, TxID: 5, Committed: Version{3, 4}, Pause: true}})
	s.step(16010, Tick{}, Slow{TxID: 5, Phase: Preparing, For: 10 * time.Second, Missing: []int32{1, 2}},
		RolledBack{TxID: 5, Reason: "2 checkpoints in a row timed out, the last: tasks [1 2] have not answered within 10s"}, Load{})
	rec := Record{Committed: Version{3, 4}, Last: 6, Epoch: 7}
	next := Record{Committed: Version{3, 4}, Last: 7, Epoch: 7}
	s.step(16011, Loaded{Record: rec}, Store{Expect: rec, Next: next})
	s.step(16012, Stored{Next: next, Outcome: Written}, Send{Marker{Action: Rollback, Era: 7, TxID: 3, Committed: Version{3, 4}}})
}

func TestFailures(t *testing.T) {
	fail := Answer{Task: 2, Kind: Failed, Era: 6, TxID: 4, Reason: "disk full"}
	abandon := Send{Marker{Action: Abandon, Era: 6, TxID: 4, Committed: Version{3, 4}}}
	t.Run("save", func(t *testing.T) {
		begun(t).step(1020, fail, abandon, Abandoned{TxID: 4, Reason: "task 2: disk full"})
	})
	t.Run("crowded", func(t *testing.T) {
		s, crowded := begun(t), fail
		crowded.Crowded = true
		s.step(1020, crowded, abandon, Abandoned{TxID: 4, Reason: "task 2: disk full"})
		s.step(2010, Tick{}, Send{Marker{Action: Prepare, Era: 6, TxID: 5, Committed: Version{3, 4}, Pause: true}})
	})
	t.Run("rollback", func(t *testing.T) {
		s, lost := begun(t), fail
		lost.Rollback = true
		s.step(1020, lost, RolledBack{TxID: 4, Reason: "task 2: disk full"}, Load{})
	})
	t.Run("rollbacks keep an interval apart", func(t *testing.T) {
		s := begun(t)
		s.step(1020, Broken{Reason: "gone"}, RolledBack{TxID: 4, Reason: "gone"}, Load{})
		rec := Record{Committed: Version{3, 4}, Last: 6, Epoch: 7}
		next := Record{Committed: Version{3, 4}, Last: 7, Epoch: 7}
		s.step(1021, Loaded{Record: rec}, Store{Expect: rec, Next: next})
		s.step(1022, Broken{Reason: "gone too"}) // the coming era reaches it
		s.step(1023, Stored{Next: next, Outcome: Written}, Send{Marker{Action: Rollback, Era: 7, TxID: 3, Committed: Version{3, 4}}})
		s.step(1024, Broken{Reason: "again"}, RolledBack{TxID: 3, Reason: "again"})
		s.step(2020, Tick{})
		s.step(2021, Tick{}, Load{})
	})
	t.Run("another era or transaction", func(t *testing.T) {
		s, other := begun(t), fail
		other.TxID = 3
		s.step(1020, other)
		other.TxID, other.Era, other.Rollback = 4, 5, true
		s.step(1021, other)
		s.phase(Preparing)
	})
}

// A commit whose write is in doubt is what the record says, whichever it is.
func TestUncertainCommit(t *testing.T) {
	before := Record{Committed: Version{3, 4}, Last: 6, Epoch: 7}
	after := Record{Committed: Version{4, 6}, Last: 6, Epoch: 7}
	for _, found := range []Record{before, after} {
		s := begun(t)
		s.step(1020, ok(1, Prepared, 6, 4))
		s.step(1030, ok(2, Prepared, 6, 4), Store{Expect: before, Next: after})
		s.step(1040, Stored{Next: after, Outcome: Unknown}, RolledBack{TxID: 4, Reason: "it is not certain that the commit record was written"}, Load{})
		next := found
		next.Last = 7
		s.step(1050, Loaded{Record: found}, Store{Expect: found, Next: next})
		s.step(1060, Stored{Next: next, Outcome: Written}, Send{Marker{Action: Rollback, Era: 7, TxID: found.Committed.TxID, Committed: found.Committed}})
	}
}

func TestRetires(t *testing.T) {
	s := script{t, NewCoordinator(testConfig())}
	s.step(0, Tick{}, Load{})
	s.step(1, Loaded{Record: Record{Last: 9, Epoch: 8}}, Ended{By: 8})
	s.phase(Retired)
	s.step(2, Tick{})
}

func TestWithoutState(t *testing.T) {
	cfg := testConfig()
	cfg.Stateful = nil
	s := script{t, NewCoordinator(cfg)}
	s.step(0, Tick{}, Load{})
	s.step(0, Loaded{}, Store{Next: Record{Last: 1, Epoch: 7}})
	s.step(0, Stored{Next: Record{Last: 1, Epoch: 7}, Outcome: Written}, Send{Marker{Action: InitState, Era: 1}})
	s.phase(Committed)
}

func TestConfigCheck(t *testing.T) {
	if err := testConfig().Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Config){
		"checkpoint interval 0s: it must be above 0":                    func(c *Config) { c.Interval = 0 },
		"checkpoint time-outs 0s and 10s: they must be above 0":         func(c *Config) { c.Timeout = 0 },
		"checkpoints that may time out in a row: 0, must be at least 1": func(c *Config) { c.MaxTimeouts = 0 },
	} {
		c := testConfig()
		change(&c)
		if err := c.Check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
