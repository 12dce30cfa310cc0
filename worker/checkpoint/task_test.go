package checkpoint

import (
	"reflect"
	"testing"
)

func mark(action Action, era Era, tx int64) Marker {
	return Marker{Action: action, Era: era, TxID: tx}
}

// bolt is a stateless task with inputs 10 and 20 that is in era 1.
func bolt(mode Mode) *Task[string] {
	t := NewTask[string](5, NewAligner(mode, []int32{10, 20}, 2), nil)
	t.Marker(0, mark(InitState, 1, 0), 0)
	t.Marker(1, mark(InitState, 1, 0), 0)
	return t
}

func wantEffects(t *testing.T, what string, got []TaskEffect, want ...TaskEffect) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v\nwant %#v", what, got, want)
	}
}

func wantVerdict(t *testing.T, task *Task[string], input int, want Verdict) {
	t.Helper()
	if got, effects := task.Tuple(input); got != want || effects != nil {
		t.Errorf("a tuple of input %d: %v %v, want %v", input, got, effects, want)
	}
}

func TestAlignment(t *testing.T) {
	prepare := mark(Prepare, 1, 1)
	for _, c := range []struct {
		mode Mode
		want Verdict
	}{{Aligned, Hold}, {Unaligned, Run}} {
		task := bolt(c.mode)
		wantVerdict(t, task, 0, Run)
		wantEffects(t, "first", task.Marker(0, prepare, 1))
		wantEffects(t, "doubled", task.Marker(0, prepare, 1))
		wantVerdict(t, task, 0, c.want)
		wantVerdict(t, task, 1, Run)
		wantEffects(t, "last", task.Marker(1, prepare, 1), Forward{prepare}, RunHeld{})
		wantVerdict(t, task, 0, Run)
		wantEffects(t, "late", task.Marker(1, prepare, 1))
	}
}

func TestNewerTransactionSupersedes(t *testing.T) {
	task := bolt(Aligned)
	task.Marker(0, mark(Prepare, 1, 1), 0)
	wantVerdict(t, task, 0, Hold)
	wantEffects(t, "2 on the other input", task.Marker(1, mark(Prepare, 1, 2), 0), RunHeld{})
	wantVerdict(t, task, 0, Run)
	wantVerdict(t, task, 1, Hold)
	wantEffects(t, "late 1", task.Marker(1, mark(Prepare, 1, 1), 0))
	wantEffects(t, "2", task.Marker(0, mark(Prepare, 1, 2), 2), Forward{mark(Prepare, 1, 2)}, RunHeld{})
}

func TestAbandonEndsAlignment(t *testing.T) {
	task := bolt(Aligned)
	task.Marker(0, mark(Prepare, 1, 1), 0)
	abandon := mark(Abandon, 1, 1)
	wantEffects(t, "abandon", task.Marker(1, abandon, 0), Forward{abandon}, RunHeld{})
	wantEffects(t, "on the other input", task.Marker(0, abandon, 0))
	wantEffects(t, "late marker", task.Marker(1, mark(Prepare, 1, 1), 0))
	wantVerdict(t, task, 1, Run)
}

func TestCrowded(t *testing.T) {
	task := bolt(Aligned)
	task.Marker(0, mark(Prepare, 1, 1), 0)
	wantVerdict(t, task, 0, Hold)
	wantVerdict(t, task, 0, Hold)
	verdict, effects := task.Tuple(0)
	if verdict != Hold {
		t.Errorf("verdict %v, want it held like those before", verdict)
	}
	wantEffects(t, "third", effects, Reply{Answer{
		Task: 5, Kind: Failed, Era: 1, TxID: 1, Crowded: true,
		Reason: "more than 2 tuples came behind the marker of transaction 1 before all inputs had it",
	}}, RunHeld{})
	wantVerdict(t, task, 0, Run)
	wantEffects(t, "marker of what was given up", task.Marker(1, mark(Prepare, 1, 1), 0))
}

func TestLostTuple(t *testing.T) {
	task := bolt(Aligned)
	wantVerdict(t, task, 0, Run)
	wantEffects(t, "one is missing", task.Marker(0, mark(Prepare, 1, 1), 2), Reply{Answer{
		Task: 5, Kind: Failed, Era: 1, TxID: 1, Rollback: true,
		Reason: "1 tuples have come from an input that sent 2 before the marker",
	}})
}

func TestEras(t *testing.T) {
	task := NewTask[string](5, NewAligner(Aligned, []int32{10, 20}, 2), nil)
	wantVerdict(t, task, 0, Drop)
	wantEffects(t, "a task that knows no era", task.Marker(0, mark(Prepare, 3, 8), 0), Reply{Answer{
		Task: 5, Kind: Failed, Era: 3, TxID: 8, Rollback: true, Reason: "a marker of era 3 came before the one that begins it",
	}})
	begin := mark(Rollback, 4, 7)
	wantEffects(t, "begin", task.Marker(0, begin, 0), DropHeld{}, Forward{begin})
	wantVerdict(t, task, 0, Run)
	wantVerdict(t, task, 1, Drop)
	wantEffects(t, "begin on the other input", task.Marker(1, begin, 0))
	wantVerdict(t, task, 1, Run)
	wantEffects(t, "older era", task.Marker(1, mark(InitState, 3, 7), 0))
	if task.Era() != 4 {
		t.Errorf("era %d, want 4", task.Era())
	}
}

func TestEndedInput(t *testing.T) {
	task := bolt(Aligned)
	task.Marker(0, mark(Prepare, 1, 1), 0)
	wantEffects(t, "the awaited input ends", task.Ended(1), Forward{mark(Prepare, 1, 1)}, RunHeld{})
	wantEffects(t, "one is enough now", task.Marker(0, mark(Prepare, 1, 2), 0), Forward{mark(Prepare, 1, 2)}, RunHeld{})
}

func TestPause(t *testing.T) {
	spout := NewTask[string](5, NewAligner(Aligned, []int32{0}, 2), nil)
	spout.Marker(0, mark(InitState, 1, 0), 0)
	prepare := Marker{Action: Prepare, Era: 1, TxID: 1, Pause: true}
	for _, end := range []Marker{
		{Action: Commit, Era: 1, TxID: 1, Committed: Version{1, 1}},
		mark(Prepare, 1, 3), mark(Abandon, 1, 4), mark(Rollback, 2, 0),
	} {
		spout.Marker(0, prepare, 0)
		if !spout.Paused() {
			t.Errorf("not paused by %+v", prepare)
		}
		spout.Marker(0, mark(PreCommit, 1, prepare.TxID), 0)
		if !spout.Paused() {
			t.Error("precommit ended the pause")
		}
		spout.Marker(0, end, 0)
		if spout.Paused() {
			t.Errorf("paused after %v", end.Action)
		}
		prepare.TxID = max(prepare.TxID, end.TxID) + 1
	}
}

func TestParticipant(t *testing.T) {
	task := NewTask(5, NewAligner(Aligned, []int32{10}, 2), NewParticipant[string](5, true))
	v0, v1, v2 := Version{}, Version{1, 1}, Version{2, 1}
	begin := mark(InitState, 1, 0)
	wantEffects(t, "initstate", task.Marker(0, begin, 0), DropHeld{}, LoadState{Version: v0}, Forward{begin})
	wantVerdict(t, task, 0, Hold)
	wantEffects(t, "loaded", task.Loaded(v0, nil), Reply{ok(5, Installed, 1, 0)}, RunHeld{})
	wantEffects(t, "loaded twice", task.Loaded(v0, nil))
	settle := func(ack string, era Era, want Settlement) {
		t.Helper()
		if got := task.Settle(ack, era); got != want {
			t.Errorf("settling %s: %v, want %v", ack, got, want)
		}
	}
	settle("a", 1, AckLater)
	p1 := mark(Prepare, 1, 1)
	wantEffects(t, "prepare 1", task.Marker(0, p1, 1), SaveState{Version: v1, Base: v0}, Forward{p1}, RunHeld{})
	settle("b", 1, AckLater)
	wantEffects(t, "save failed", task.Saved(v1, errBad, false),
		Reply{Answer{Task: 5, Kind: Failed, Era: 1, TxID: 1, Reason: "transaction 1 was not saved: bad luck"}})
	p2 := mark(Prepare, 1, 2)
	wantEffects(t, "prepare 2", task.Marker(0, p2, 1), ThawState{TxID: 1}, SaveState{Version: v2, Base: v0}, Forward{p2}, RunHeld{})
	settle("c", 1, AckLater)
	wantEffects(t, "an old save", task.Saved(v1, nil, false))
	prepared := ok(5, Prepared, 1, 2)
	prepared.PreCommits = true
	wantEffects(t, "saved", task.Saved(v2, nil, false), Reply{prepared})
	pre := mark(PreCommit, 1, 2)
	wantEffects(t, "precommit", task.Marker(0, pre, 1), RunPreCommit{TxID: 2}, Forward{pre})
	wantEffects(t, "precommitted", task.PreCommitted(2, nil), Reply{ok(5, PreCommitted, 1, 2)})
	// The commit is lost, and the next marker makes up for it.
	p3 := Marker{Action: Prepare, Era: 1, TxID: 3, Committed: v2}
	wantEffects(t, "prepare 3", task.Marker(0, p3, 1), StateCommitted{v2}, AckAll[string]{[]string{"a"}}, AckAll[string]{[]string{"b"}},
		SaveState{Version: Version{3, 1}, Base: v2}, Forward{p3}, RunHeld{})
	settle("d", 1, AckLater)
	roll := Marker{Action: Rollback, Era: 2, TxID: 2, Committed: v2}
	wantEffects(t, "rollback", task.Marker(0, roll, 0), DropHeld{}, FailAll[string]{[]string{"c", "d"}},
		LoadState{Version: v2, Running: true}, Forward{roll})
	settle("e", 1, FailNow)
	wantEffects(t, "a save of the older era", task.Saved(Version{3, 1}, nil, false))
	again := Marker{Action: Rollback, Era: 3, TxID: 2, Committed: v2}
	wantEffects(t, "the load goes on", task.Marker(0, again, 0), DropHeld{}, Forward{again})
	wantEffects(t, "loaded in era 3", task.Loaded(v2, nil), Reply{ok(5, Installed, 3, 2)}, RunHeld{})
	// The transaction has the number that one of an older era had, whose save ends
	// only now; nor is what an older era committed news.
	p4 := Marker{Action: Prepare, Era: 3, TxID: 3, Committed: Version{3, 1}}
	wantEffects(t, "prepare 3 of era 3", task.Marker(0, p4, 0), SaveState{Version: Version{3, 3}, Base: v2}, Forward{p4}, RunHeld{})
	wantEffects(t, "the save of era 1", task.Saved(Version{3, 1}, nil, false))
	prepared.Era, prepared.TxID = 3, 3
	wantEffects(t, "the save of era 3", task.Saved(Version{3, 3}, nil, false), Reply{prepared})
}

// A load goes on for the version that it is of only; what comes of another one is
// not taken for the state.
func TestLoadOfAnotherVersion(t *testing.T) {
	task := NewTask(5, NewAligner(Aligned, []int32{10}, 2), NewParticipant[string](5, false))
	v1, v2 := Version{1, 1}, Version{4, 3}
	first := Marker{Action: InitState, Era: 2, TxID: 1, Committed: v1}
	wantEffects(t, "initstate", task.Marker(0, first, 0), DropHeld{}, LoadState{Version: v1}, Forward{first})
	second := Marker{Action: Rollback, Era: 4, TxID: 4, Committed: v2}
	wantEffects(t, "a newer version is wanted", task.Marker(0, second, 0), DropHeld{}, LoadState{Version: v2}, Forward{second})
	wantEffects(t, "the older one is loaded", task.Loaded(v1, nil))
	if task.Open() {
		t.Error("it is open with the older version")
	}
	wantEffects(t, "the older one failed", task.Loaded(v1, errBad))
	wantEffects(t, "the newer one is loaded", task.Loaded(v2, nil), Reply{ok(5, Installed, 4, 4)}, RunHeld{})
	if !task.Open() {
		t.Error("it is not open")
	}
}

// A rollback to a version that this task prepared is the news of its commit.
func TestRollbackToOwnVersion(t *testing.T) {
	task := NewTask(5, NewAligner(Aligned, []int32{10}, 2), NewParticipant[string](5, false))
	task.Marker(0, mark(InitState, 1, 0), 0)
	task.Loaded(Version{}, nil)
	task.Settle("in", 1)
	task.Marker(0, mark(Prepare, 1, 1), 0)
	task.Settle("behind", 1)
	v := Version{1, 1}
	roll := Marker{Action: Rollback, Era: 2, TxID: 1, Committed: v}
	wantEffects(t, "rollback", task.Marker(0, roll, 0), DropHeld{}, StateCommitted{v}, AckAll[string]{[]string{"in"}},
		FailAll[string]{[]string{"behind"}}, LoadState{Version: v, Running: true}, Forward{roll})
	wantEffects(t, "load failed", task.Loaded(v, errBad), Reply{Answer{
		Task: 5, Kind: Failed, Era: 2, TxID: 1, Rollback: true, Reason: "version 1 of era 1 was not installed: bad luck",
	}})
}

func TestTupleAllocates(t *testing.T) {
	task := bolt(Aligned)
	if n := testing.AllocsPerRun(100, func() { task.Tuple(0) }); n != 0 {
		t.Errorf("a tuple allocates %v times", n)
	}
}

func BenchmarkTuple(b *testing.B) {
	task := bolt(Aligned)
	b.ReportAllocs()
	for b.Loop() {
		task.Tuple(0)
	}
}

func TestPlan(t *testing.T) {
	p, err := NewPlan([]Component{
		{ID: "count", Tasks: []int32{5, 4}, Inputs: []string{"split", "words", "split"}, Stateful: true},
		{ID: "words", Tasks: []int32{1}, Stateful: true},
		{ID: "split", Tasks: []int32{2, 3}, Inputs: []string{"words"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{p.Sources, p.Stateful, p.Rewinds, p.InputsOf("count"), p.InputsOf("words"), p.TargetsOf("words"), p.TargetsOf("count")}
	want := []any{[]int32{1}, []int32{1, 4, 5}, true, []int32{1, 2, 3}, []int32(nil), []int32{2, 3, 4, 5}, []int32(nil)}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for want, comps := range map[string][]Component{
		`component "a" takes the streams of "z", which there is not`: {{ID: "a", Inputs: []string{"z"}}},
		`checkpoints need a topology without cycles, but components feed each other: b <- c <- b`: {
			{ID: "s"},
			{ID: "a", Inputs: []string{"s", "b"}},
			{ID: "b", Inputs: []string{"s", "c"}},
			{ID: "c", Inputs: []string{"b"}},
		},
	} {
		if _, err := NewPlan(comps); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
