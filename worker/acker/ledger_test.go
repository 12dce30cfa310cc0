package acker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/track"
)

// replay feeds a history such as "init:5 ack:5 rotate" to a ledger and shows
// the outcomes and the number of entries left. A step may name the sequence
// number of its tree, "init:5@9"; else it is 7.
func replay(t *testing.T, l *Ledger, task int32, history string) string {
	t.Helper()
	var out []string
	for step := range strings.FieldsSeq(history) {
		step, at, named := strings.Cut(step, "@")
		seq, val := uint64(7), uint64(0)
		if named {
			scan(t, at, &seq)
		}
		verb, arg, _ := strings.Cut(step, ":")
		if arg != "" {
			scan(t, arg, &val)
		}
		root := track.MakeRoot(task, seq)
		switch verb {
		case "init":
			l.Apply([]Message{{Root: root | InitFlag, Val: val}})
		case "ack":
			l.Apply([]Message{{Root: root, Val: val}})
		case "fail":
			l.Fail(root)
		case "reset":
			l.ResetTimeout(root)
		case "rotate":
			l.Rotate()
		default:
			t.Fatalf("history %q has an unknown step %q", history, step)
		}
		for _, o := range l.Outcomes() {
			if o.Root != root {
				t.Fatalf("step %q decided %x, want %x", step, o.Root, root)
			}
			out = append(out, o.Kind.String())
		}
		l.ClearOutcomes()
	}
	return fmt.Sprintf("%s/%d", strings.Join(out, " "), l.Len())
}

func scan(t *testing.T, s string, n *uint64) {
	t.Helper()
	if _, err := fmt.Sscan(s, n); err != nil {
		t.Fatalf("number %q: %v", s, err)
	}
}

func TestLedgerOrder(t *testing.T) {
	tests := []struct {
		name, history, want string
	}{
		// Init and acks in every order.
		{"init then ack", "init:5 ack:5", "ack/0"},
		{"ack then init", "ack:5 init:5", "ack/0"},
		{"two edges", "init:6 ack:2 ack:4", "ack/0"},
		{"two edges, init last", "ack:2 ack:4 init:6", "ack/0"},
		{"two edges, init between", "ack:4 init:6 ack:2", "ack/0"},
		{"bolt emits one more edge", "init:1 ack:9 ack:8", "ack/0"},
		{"child is acked before its parent", "init:1 ack:8 ack:9", "ack/0"},
		{"open", "init:5", "/1"},
		{"one edge missing", "init:6 ack:2", "/1"},
		{"spout emitted to no task", "init:0", "ack/0"},
		{"value 0 without init stays", "ack:3 ack:3", "/1"},
		{"value 0 without init, then init", "ack:3 ack:3 init:8", "/1"},
		{"value 0 without init, then whole tree", "ack:3 ack:3 init:8 ack:8", "ack/0"},
		{"ack of 0", "ack:0", "/1"},

		// Fail in every order.
		{"init then fail", "init:5 fail", "fail/0"},
		{"init, ack, fail", "init:6 ack:2 fail", "fail/0"},
		{"fail then init", "fail init:5", "fail/0"},
		{"fail alone is remembered", "fail", "/1"},
		{"fail, ack, init", "fail ack:2 init:6", "fail/0"},
		{"ack, fail, init", "ack:2 fail init:6", "fail/0"},
		{"fail wins over value 0", "fail ack:5 init:5", "fail/0"},
		{"fail wins over an empty init", "fail init:0", "fail/0"},
		{"two fails before init", "fail fail init:5", "fail/0"},

		// What comes after the outcome never makes another.
		{"second fail", "init:5 fail fail", "fail/1"},
		{"acks after fail", "init:6 fail ack:2 ack:4", "fail/1"},
		{"acks that cancel out after fail", "init:6 fail ack:2 ack:2", "fail/1"},
		{"fail after ack", "init:5 ack:5 fail", "ack/1"},
		{"ack twice", "init:5 ack:5 ack:5", "ack/1"},
		{"late acks and fails after fail", "fail init:6 ack:2 fail ack:4 fail", "fail/1"},

		// Reset of the time-out.
		{"reset of an open tree", "init:5 reset ack:5", "reset-timeout ack/0"},
		{"reset of nothing", "reset", "/0"},
		{"reset of nothing, then tree", "reset init:5 ack:5", "ack/0"},
		{"reset before init", "ack:5 reset init:5", "ack/0"},
		{"reset after the outcome", "init:5 ack:5 reset", "ack/0"},
		{"every reset is told", "init:5 reset reset", "reset-timeout reset-timeout/1"},

		// Rotation: an entry lives through two and vanishes at the third.
		{"two rotations", "init:5 rotate rotate ack:5", "ack/0"},
		{"three rotations", "init:5 rotate rotate rotate", "/0"},
		{"late ack after expiry", "init:5 rotate rotate rotate ack:5", "/1"},
		{"late init after expiry", "ack:5 rotate rotate rotate init:5", "/1"},
		{"fail after expiry", "init:5 rotate rotate rotate fail", "/1"},
		{"an ack does not lengthen life", "init:6 rotate rotate ack:2 rotate ack:4", "/1"},
		{"init does not lengthen life", "ack:2 rotate rotate init:6 rotate", "/0"},
		{"reset lengthens life", "init:5 rotate rotate reset rotate rotate ack:5", "reset-timeout ack/0"},
		{"reset lengthens life by three", "init:5 rotate rotate reset rotate rotate rotate", "reset-timeout/0"},
		{"reset before init lengthens life", "ack:5 rotate rotate reset rotate rotate init:5", "ack/0"},
		{"fail lengthens life", "ack:2 rotate rotate fail rotate rotate init:6", "fail/0"},
		{"a remembered fail expires", "fail rotate rotate rotate init:5", "/1"},
		{"a straggler expires", "init:5 fail ack:5 rotate rotate rotate", "fail/0"},
		{"a straggler then a new tree of that number", "init:5 fail ack:5 rotate rotate rotate init:1 ack:1", "fail ack/0"},
		{"rotation of nothing", "rotate rotate rotate init:5 ack:5", "ack/0"},

		// Trees do not touch each other.
		{"neighbours", "init:5@1 init:5@2 ack:5@2 ack:5@1", "ack ack/0"},
		{"same slot", "init:5@1 init:6@65 init:7@129 ack:5@1 ack:7@129 ack:6@65", "ack ack ack/0"},
		{"same slot, middle one fails", "init:5@1 init:6@65 init:7@129 fail@65 ack:7@129 ack:5@1", "fail ack ack/0"},
		{"same slot, old one expires", "init:5@1 rotate init:6@65 rotate rotate ack:6@65", "ack/0"},
		{"same slot, old one reset", "init:5@1 init:6@65 rotate reset@1 rotate rotate ack:5@1", "reset-timeout ack/0"},
		{"first and last number", "init:5@0 init:6@281474976710655 ack:5@0 ack:6@281474976710655", "ack ack/0"},
		{"half the range apart", "init:5@1 init:6@140737488355329 ack:5@1 ack:6@140737488355329", "ack ack/0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, task := range []int32{0, 1, track.MaxTask} {
				if got := replay(t, NewLedger(), task, tt.history); got != tt.want {
					t.Errorf("task %d: %q gave %q, want %q", task, tt.history, got, tt.want)
				}
			}
		})
	}
}

func TestLedgerBatch(t *testing.T) {
	a, b, c := track.MakeRoot(1, 10), track.MakeRoot(2, 10), track.MakeRoot(1, 11)
	l := NewLedger()
	batch := []Message{
		{Root: a | InitFlag, Val: 1}, {Root: b | InitFlag, Val: 2}, {Root: c, Val: 4},
		{Root: b, Val: 2}, {Root: a, Val: 3}, {Root: c | InitFlag, Val: 4}, {Root: a, Val: 2},
	}
	l.Apply(batch)
	l.Apply(nil)
	want := []Outcome{{b, OutcomeAck}, {c, OutcomeAck}, {a, OutcomeAck}}
	if got := l.Outcomes(); !slices.Equal(got, want) {
		t.Fatalf("outcomes %v, want %v", got, want)
	}
	l.ClearOutcomes()
	if got := l.Outcomes(); len(got) != 0 {
		t.Fatalf("outcomes %v after they were cleared", got)
	}
	if l.Len() != 0 {
		t.Fatalf("%d entries left", l.Len())
	}
}

// Root 0 means untracked and should not come; if it does it harms nothing.
func TestLedgerRootZero(t *testing.T) {
	l := NewLedger()
	l.Apply([]Message{{Root: 0, Val: 9}, {Root: InitFlag, Val: 9}})
	if got, want := l.Outcomes(), []Outcome{{0, OutcomeAck}}; !slices.Equal(got, want) {
		t.Fatalf("outcomes %v, want %v", got, want)
	}
}

// The flag of a message is no part of a root's name.
func TestLedgerIgnoresFlagInNames(t *testing.T) {
	root := track.MakeRoot(4, 4)
	l := NewLedger()
	l.Apply([]Message{{Root: root | InitFlag, Val: 1}})
	l.ResetTimeout(root | InitFlag)
	l.Fail(root | InitFlag)
	want := []Outcome{{root, OutcomeResetTimeout}, {root, OutcomeFail}}
	if got := l.Outcomes(); !slices.Equal(got, want) {
		t.Fatalf("outcomes %v, want %v", got, want)
	}
}

func TestOutcomeKindString(t *testing.T) {
	for kind, want := range map[OutcomeKind]string{
		0: "unknown", OutcomeAck: "ack", OutcomeFail: "fail", OutcomeResetTimeout: "reset-timeout",
	} {
		if got := kind.String(); got != want {
			t.Errorf("kind %d is shown as %q, want %q", kind, got, want)
		}
	}
}

// A spout task that is gone must not hold a ring for ever.
func TestLedgerGivesIdleRingsBack(t *testing.T) {
	l := NewLedger()
	for seq := range uint64(5000) {
		l.Apply([]Message{{Root: track.MakeRoot(9, seq) | InitFlag, Val: 1}})
	}
	if got := len(l.tasks[9].slots); got != 8192 {
		t.Fatalf("ring of 5000 open trees has %d slots, want 8192", got)
	}
	for range ledgerBuckets {
		if l.tasks[9] == nil {
			t.Fatal("ring given back while trees were open")
		}
		l.Rotate()
	}
	if l.tasks[9] != nil {
		t.Fatalf("ring of an idle task kept, %d entries", l.Len())
	}
	if got := replay(t, l, 9, "init:5 ack:5"); got != "ack/0" {
		t.Fatalf("after the ring was given back: %q", got)
	}
	l.Rotate()
	if l.tasks[9] == nil {
		t.Fatal("ring of a task that was active since the last rotation given back")
	}
}

// Neither must an overflow that was long once.
func TestLedgerTrimsOverflow(t *testing.T) {
	l := &Ledger{limit: 4}
	for seq := range uint64(100) {
		l.Apply([]Message{{Root: track.MakeRoot(9, seq) | InitFlag, Val: 1}})
	}
	l.Rotate()
	if got := len(l.tasks[9].over); got != 96 {
		t.Fatalf("%d entries in the overflow, want 96", got)
	}
	for seq := range uint64(99) {
		l.Apply([]Message{{Root: track.MakeRoot(9, seq), Val: 1}})
	}
	l.Rotate()
	if l.tasks[9].over != nil || l.Len() != 1 {
		t.Errorf("overflow %v kept, %d entries left", l.tasks[9].over, l.Len())
	}
}

// With time-outs disabled nobody rotates; failed trees then leave stragglers.
func TestLedgerBoundsStragglers(t *testing.T) {
	const trees, limit = 100_000, 4096
	tests := []struct {
		name     string
		open     uint64 // number of a tree that is open all the time; 0: none
		maxSlots int
	}{
		// A tree that is in the way makes the ring grow even if most of what
		// crowds it are stragglers; the limit holds.
		{"only stragglers", 0, startSlots},
		{"and an open tree", 1, limit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &Ledger{limit: limit}
			held := track.MakeRoot(2, tt.open)
			if tt.open != 0 {
				l.Apply([]Message{{Root: held | InitFlag, Val: 77}})
			}
			for seq := uint64(2); seq < 2+trees; seq++ {
				root := track.MakeRoot(2, seq)
				l.Apply([]Message{{Root: root | InitFlag, Val: 3}})
				l.Fail(root)
				l.Apply([]Message{{Root: root, Val: 3}}) // of another branch, late
			}
			if got := len(l.Outcomes()); got != trees {
				t.Fatalf("%d outcomes, want %d", got, trees)
			}
			l.ClearOutcomes()
			r := &l.tasks[2].ring
			checkRing(t, r)
			if got := len(r.slots); got != tt.maxSlots {
				t.Errorf("%d slots, want %d", got, tt.maxSlots)
			}
			if got, want := l.Len(), tt.maxSlots+maxStrays+int(tt.open); got != want {
				t.Errorf("%d entries kept, want %d", got, want)
			}
			if tt.open == 0 {
				return
			}
			l.Apply([]Message{{Root: held, Val: 77}})
			if got, want := l.Outcomes(), []Outcome{{held, OutcomeAck}}; !slices.Equal(got, want) {
				t.Errorf("the open tree gave %v, want %v", got, want)
			}
		})
	}
}

// Acks that overtake their init, by however many trees, are no stragglers.
func TestLedgerKeepsAcksBeforeInit(t *testing.T) {
	const trees = 50_000
	l := &Ledger{limit: 1024}
	for seq := range uint64(trees) {
		l.Apply([]Message{{Root: track.MakeRoot(2, 1<<47+seq), Val: edge(seq)}})
	}
	if l.Len() != trees {
		t.Fatalf("%d entries, want %d", l.Len(), trees)
	}
	for seq := range uint64(trees) {
		l.Apply([]Message{{Root: track.MakeRoot(2, 1<<47+seq) | InitFlag, Val: edge(seq)}})
	}
	if got := len(l.Outcomes()); got != trees || l.Len() != 0 {
		t.Fatalf("%d outcomes and %d entries, want %d and 0", got, l.Len(), trees)
	}
}

func TestLedgerSteadyStateDoesNotAllocate(t *testing.T) {
	l := NewLedger()
	seq := uint64(1)<<48 - 5000 // wraps on the way
	for range uint64(1000) {
		l.Apply([]Message{{Root: track.MakeRoot(5, seq) | InitFlag, Val: edge(seq)}})
		seq++
	}
	batch := make([]Message, 0, 3)
	step := func() {
		for range 100 {
			batch = append(batch[:0],
				Message{Root: track.MakeRoot(5, seq) | InitFlag, Val: edge(seq)},
				Message{Root: track.MakeRoot(5, seq-1000), Val: edge(seq - 1000)})
			l.Apply(batch)
			seq++
		}
		l.ClearOutcomes()
	}
	for range 30 {
		step()
	}
	if n := testing.AllocsPerRun(100, step); n != 0 {
		t.Errorf("%v allocations per 100 trees, want none", n)
	}
}
