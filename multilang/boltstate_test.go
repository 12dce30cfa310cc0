package multilang

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/storm"
)

// keeperRig is a rig with a bolt that keeps state.
type keeperRig struct {
	*rig
	bolt    *StatefulShellBolt
	state   *storm.MapState
	gate    string   // the file that a child may wait for
	drained []string // what was said of each drain
}

// newKeeperRig prepares a bolt that runs a way of keeper.py, and gives it state.
func newKeeperRig(t *testing.T, way string, tune func(*settings)) *keeperRig {
	t.Helper()
	k := &keeperRig{rig: newRig(t, nil), state: storm.NewMapState(), gate: filepath.Join(t.TempDir(), "gate")}
	if err := k.tryStateful(Spec{Env: []string{"GATE=" + k.gate}, tune: tune}, "keeper.py", way); err != nil {
		t.Fatalf("Prepare: %v\nlog:\n%s", err, k.logs.String())
	}
	k.init(k.state)
	return k
}

func (k *keeperRig) tryStateful(s Spec, argv ...string) (err error) {
	k.fill(&s, argv)
	k.bolt = NewStatefulBolt(s)
	k.on(func() { err = k.bolt.Prepare(k.ctx, storm.NewOutputCollector(k.rig, "shell", shellStreams)) })
	k.t.Cleanup(func() {
		k.stop()
		k.on(func() { _ = k.bolt.Cleanup() })
		close(k.posts)
		<-k.done
	})
	return err
}

func (k *keeperRig) init(s storm.State) {
	k.t.Helper()
	k.on(func() {
		if err := k.bolt.InitState(s); err != nil {
			k.t.Errorf("InitState: %v", err)
		}
	})
}

func (k *keeperRig) preRollback() {
	k.t.Helper()
	k.on(func() {
		if err := k.bolt.PreRollback(); err != nil {
			k.t.Errorf("PreRollback: %v", err)
		}
	})
}

func (k *keeperRig) words(first int, words ...string) {
	k.t.Helper()
	for i, w := range words {
		k.send(&k.bolt.ShellBolt, first+i, 1, word(w)...)
	}
}

// drain begins a drain.
func (k *keeperRig) drain(tx int64) {
	k.t.Helper()
	k.on(func() {
		inside := true
		k.bolt.Drain(tx, func(err error) {
			if inside {
				k.t.Error("done was called from within Drain")
			}
			k.note(func() { k.drained = append(k.drained, fmt.Sprint(err)) })
		})
		inside = false
	})
}

// wantDrained waits for the end of the nth drain, which has to say all parts.
func (k *keeperRig) wantDrained(n int, parts ...string) {
	k.t.Helper()
	k.until(fmt.Sprint("drain ", n), func() bool { return len(k.drained) >= n })
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, part := range parts {
		if len(k.drained) != n || !strings.Contains(k.drained[n-1], part) {
			k.t.Errorf("drains ended with %q, want the last with %q", k.drained, part)
		}
	}
}

// wantState compares the values of words in the state.
func (k *keeperRig) wantState(want map[string]int64) {
	k.t.Helper()
	k.on(func() {
		s := storm.NewKeyValueState(k.state, storm.StringCodec, storm.ValueCodec)
		if s.Len() != len(want) {
			k.t.Errorf("the state has %d keys, want %v", s.Len(), want)
		}
		for key, n := range want {
			v, _, err := s.Get(key)
			if got, ok := v.AsInt(); err != nil || !ok || got != n {
				k.t.Errorf("the value of %q is %v, %v; want %d", key, v, err, n)
			}
		}
	})
}

func (k *keeperRig) wantEmitted(want ...string) {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !slices.Equal(k.emitted, want) {
		k.t.Errorf("emitted\n%q, want\n%q\nlog:\n%s", k.emitted, want, k.logs.String())
	}
}

func (k *keeperRig) openGate() {
	k.t.Helper()
	if err := os.WriteFile(k.gate, nil, 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// A drain ends when the child has done all before it, and then all is in the
// state: also what was acked long ago, and what is not acked yet.
func TestDrainWaitsForTheChild(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "counts", nil)
	k.words(1, "a", "a", "gate", "hold")
	k.until("two acks", k.acked(2))
	k.wantState(map[string]int64{})
	k.drain(7)
	k.on(func() {
		if len(k.drained) != 0 {
			t.Errorf("drained before the child was through: %q", k.drained)
		}
	})
	k.openGate()
	k.wantDrained(1, "<nil>")
	k.wantState(map[string]int64{"a": 2, "gate": 1, "hold": 1})
	k.words(5, "a")
	k.until("all acks", k.acked(5))
	k.drain(8)
	k.wantDrained(2, "<nil>")
	k.wantState(map[string]int64{"a": 3, "gate": 1, "hold": 1})
	k.wantEmitted("0 [a 1] <1", "0 [a 2] <2", "0 [gate 1] <3", "0 [a 3] <4,5")
}

// What a child had in its memory is gone with it: its state has to go back.
func TestDrainAfterTheChildDied(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "counts", nil)
	k.words(1, "a", "die")
	k.until("the error", k.says("exited with code 3"))
	k.drain(1)
	k.wantDrained(1, "has to go back", "exited with code 3")
	k.words(3, "b")
	k.until("two acks", k.acked(2))
	k.drain(2)
	k.wantDrained(2, "has to go back", "exited with code 3")
	k.init(k.state)
	k.words(4, "b")
	k.until("three acks", k.acked(3))
	k.drain(3)
	k.wantDrained(3, "<nil>")
	k.wantState(map[string]int64{"b": 1})
}

// A child that dies behind a checkpoint, with nothing in hand, loses nothing.
func TestDrainAfterAChildWithNothingInHandDied(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "counts", nil)
	k.words(1, "a")
	k.drain(1)
	k.wantDrained(1, "<nil>")
	k.on(func() { k.bolt.child.doom(errFailed) })
	k.until("the error", k.says("was killed"))
	k.drain(2)
	k.wantDrained(2, "<nil>")
	k.wantState(map[string]int64{"a": 1})
}

func TestChildDiesWhileDraining(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "counts", nil)
	k.words(1, "die with it")
	k.drain(1)
	k.wantDrained(1, "has to go back", "exited with code 4")
	k.words(2, "a")
	k.until("an ack", func() bool { return slices.Contains(k.settled, "ack 2") })
	if len(k.drained) != 1 {
		t.Errorf("done was called more than once: %q", k.drained)
	}
}

func TestDrainOfADeafChild(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "deaf", func(set *settings) { set.checkpoint = 200 * time.Millisecond })
	k.words(1, "a")
	k.drain(1)
	k.wantDrained(1, "has to go back", "for 200ms has neither answered nor got on", "topology.state.synchronization.timeout.secs")
}

// A child that is slow but gets on may take longer than the time-out.
func TestDrainOfASlowChild(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "slow", func(set *settings) { set.checkpoint, set.timeout = 700*time.Millisecond, patient })
	k.words(1, "a", "b")
	k.drain(1)
	k.wantDrained(1, "<nil>")
	if len(k.errs) != 0 {
		t.Errorf("errors %q", k.errs)
	}
}

func TestAnswerToAnotherCheckpoint(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "muddled", nil)
	k.drain(5)
	k.wantDrained(1, "<nil>")
	k.until("the error", k.says("checkpointed for 6, which is not the step that it owes"))
}

// Where a failed tuple has all go back, nothing is saved before that.
func TestDrainAfterAFailure(t *testing.T) {
	t.Parallel()
	for _, rewinds := range []bool{false, true} {
		k := newKeeperRig(t, "counts", nil)
		k.on(func() { k.bolt.rewinds = rewinds })
		k.words(1, "fail")
		k.drain(1)
		want := "<nil>"
		if rewinds {
			want = "has to go back"
		}
		k.wantDrained(1, want)
	}
}

// After a rollback nothing counts that the child does with what it had before.
func TestRollbackDropsThePast(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "counts", nil)
	k.words(1, "a")
	k.until("an ack", k.acked(1))
	k.words(2, "gate", "a", "asks", "fail")
	k.preRollback()
	if want := []string{"ack 1", "fail 2", "fail 3", "fail 4", "fail 5"}; !slices.Equal(k.settled, want) {
		t.Errorf("settled %q, want %q", k.settled, want)
	}
	k.openGate()
	committed := storm.NewKeyValueState(k.state, storm.StringCodec, storm.ValueCodec)
	k.on(func() {
		if err := committed.Put("a", storm.Int(100)); err != nil {
			t.Error(err)
		}
	})
	k.init(k.state)
	k.words(6, "a")
	k.until("an ack", k.acked(2))
	k.wantEmitted("0 [a 1] <1", "0 [a 101] <6")
	k.drain(1)
	k.wantDrained(1, "<nil>")
	k.wantState(map[string]int64{"a": 101})
	if log := k.logs.String(); strings.Count(log, "back 1") != 1 || !strings.Contains(log, "asked and got []") {
		t.Errorf("log:\n%s", log)
	}
	if len(k.errs) != 0 || len(k.settled) != 6 {
		t.Errorf("errors %q, settled %q", k.errs, k.settled)
	}
}

// A child that keeps an input beyond a rollback emits it anew in vain.
func TestEmissionOfAnInputBeforeARollback(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "counts", nil)
	k.words(1, "hold")
	k.init(k.state) // without a word before
	k.init(k.state)
	k.words(2, "a", "a")
	k.until("two acks", k.acked(2))
	k.wantEmitted("0 [a 2] <3")
	if want := []string{"fail 1", "ack 2", "ack 3"}; !slices.Equal(k.settled, want) {
		t.Errorf("settled %q, want %q", k.settled, want)
	}
}

// Between PreRollback and InitState there is no state to ask for; the child
// waits, and what it puts in vain is dropped.
func TestChildAsksDuringARollback(t *testing.T) {
	t.Parallel()
	k := newKeeperRig(t, "through", func(set *settings) { set.timeout = 500 * time.Millisecond })
	k.words(1, "a")
	k.until("an ack", k.acked(1))
	k.words(2, "gate", "b")
	k.preRollback()
	k.openGate()
	asked := &askedState{MapState: storm.NewMapState()}
	k.on(func() {
		s := storm.NewKeyValueState(asked, storm.StringCodec, storm.ValueCodec)
		if err := s.Put("n", storm.Int(10)); err != nil {
			t.Error(err)
		}
		old, _ := k.state.Get([]byte("n"))
		if n, err := storm.ValueCodec.Decode(old); err != nil || n.String() != "1" {
			t.Errorf("the state that was is %v, %v", n, err)
		}
	})
	// It asks now, if it ever does, and has to wait for longer than it may be silent.
	k.until("a notice", func() bool { k.bolt.sh.notify(); return len(k.bolt.sh.events) > 0 })
	<-time.After(700 * time.Millisecond)
	k.state = asked.MapState
	k.init(asked)
	k.words(4, "c")
	k.until("another ack", k.acked(2))
	k.wantEmitted("0 [a 1] <1", "0 [c 11] <4")
	k.drain(1)
	k.wantDrained(1, "<nil>")
	k.wantState(map[string]int64{"n": 11})
	if asked.gets != 3 || len(k.errs) != 0 {
		t.Errorf("the state was asked %d times, want 3; errors %q", asked.gets, k.errs)
	}
}

// askedState counts questions.
type askedState struct {
	*storm.MapState
	gets int
}

func (s *askedState) Get(key []byte) ([]byte, bool) {
	s.gets++
	return s.MapState.Get(key)
}

// What a child does before its first input waits for the state.
func TestStateComesBeforeTheChildIsHeard(t *testing.T) {
	t.Parallel()
	k := &keeperRig{rig: newRig(t, nil), state: storm.NewMapState()}
	if err := k.tryStateful(Spec{tune: func(set *settings) { set.timeout = 500 * time.Millisecond }}, "keeper.py", "eager"); err != nil {
		t.Fatal(err)
	}
	// It waits longer than it may be silent, and is not to blame.
	<-time.After(700 * time.Millisecond)
	k.wantEmitted()
	k.init(k.state)
	k.until("the emission", func() bool { return len(k.emitted) == 1 })
	k.drain(1)
	k.wantDrained(1, "<nil>")
	k.wantState(map[string]int64{"first": 1})
	k.wantEmitted("0 [first 1] <")
	if len(k.errs) != 0 {
		t.Errorf("errors %q", k.errs)
	}
}

func TestRefusedState(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		spec Spec
		way  []string
		err  []string
	}{
		{"a child without state", Spec{}, []string{"nasty.py", "plain"}, []string{`component "shell" has topology.sr3.stateful`, "nasty.py", "does not ask for state"}},
		{"two states", Spec{State: func(*storm.TopologyContext) (State, error) { return NewMemory(), nil }}, []string{"keeper.py", "counts"}, []string{`component "shell" has a Spec.State`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			k := &keeperRig{rig: newRig(t, nil)}
			wantError(t, k.tryStateful(tt.spec, tt.way...), tt.err)
		})
	}
	conf := storm.Config{"topology.sr3.stateful": true}
	t.Run("a plain bolt", func(t *testing.T) {
		t.Parallel()
		_, err := newRig(t, conf).tryBolt(Spec{}, "keeper.py", "counts")
		wantError(t, err, []string{`component "shell" has topology.sr3.stateful`, "NewStatefulBolt"})
	})
	t.Run("a spout", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, conf)
		s := Spec{}
		r.fill(&s, []string{"spout.py"})
		err := NewSpout(s).Open(r.ctx, nil)
		wantError(t, err, []string{`component "shell" has topology.sr3.stateful`, "spouts in other languages cannot"})
		close(r.posts)
		<-r.done
	})
}

func wantError(t *testing.T, err error, parts []string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error is %v, want %q in it", err, part)
		}
	}
}
