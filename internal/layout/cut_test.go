package layout

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// six is a layout of a bolt with tasks 1 to 6 in two executors, and a spout
// with task 7.
func six(t *testing.T) *Layout {
	t.Helper()
	l, err := Plan(cluster.Topology{Components: map[string]cluster.Component{
		"bolt": {Kind: cluster.Bolt, Parallelism: 2, Conf: `{"topology.tasks":6}`, Streams: map[string]storm.StreamSpec{}},
		"in":   {Kind: cluster.Spout, Streams: map[string]storm.StreamSpec{}},
	}}, storm.Config{"topology.acker.executors": 0})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestRecut(t *testing.T) {
	l := six(t)
	for _, tt := range []struct {
		name string
		in   []cluster.Executor
		want []Executor
	}{
		{"nothing is known", nil, []Executor{{"bolt", 1, 3}, {"bolt", 4, 6}, {"in", 7, 7}}},
		{"the same", []cluster.Executor{{First: 7, Last: 7}, {First: 1, Last: 3}, {First: 4, Last: 6}}, []Executor{{"bolt", 1, 3}, {"bolt", 4, 6}, {"in", 7, 7}}},
		{"one, by a rebalance", []cluster.Executor{{First: 1, Last: 6}, {First: 7, Last: 7}}, []Executor{{"bolt", 1, 6}, {"in", 7, 7}}},
		{"three, one not placed", []cluster.Executor{{First: 1, Last: 2}, {First: 5, Last: 6}}, []Executor{{"bolt", 1, 2}, {"bolt", 3, 3}, {"bolt", 4, 4}, {"bolt", 5, 6}, {"in", 7, 7}}},
		{"not of one component", []cluster.Executor{{First: 6, Last: 7}}, []Executor{{"bolt", 1, 3}, {"bolt", 4, 6}, {"in", 7, 7}}},
		{"twice", []cluster.Executor{{First: 1, Last: 3}, {First: 3, Last: 4}}, []Executor{{"bolt", 1, 3}, {"bolt", 4, 6}, {"in", 7, 7}}},
		{"nonsense", []cluster.Executor{{First: 0, Last: 3}, {First: 3, Last: 2}, {First: 8, Last: 9}}, []Executor{{"bolt", 1, 3}, {"bolt", 4, 6}, {"in", 7, 7}}},
	} {
		if got := l.Recut(tt.in).Executors; !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if l.Fits([]cluster.Executor{{First: 1, Last: 6}}) || !l.Fits([]cluster.Executor{{First: 4, Last: 6}}) {
		t.Error("a layout does not know what fits")
	}
}

// Whatever comes, every task is in exactly one executor.
func TestRecutKeepsTasks(t *testing.T) {
	l := six(t)
	rapid.Check(t, func(rt *rapid.T) {
		in := rapid.SliceOf(rapid.Custom(func(rt *rapid.T) cluster.Executor {
			return cluster.Executor{First: storm.TaskID(rapid.IntRange(-1, 9).Draw(rt, "first")), Last: storm.TaskID(rapid.IntRange(-1, 9).Draw(rt, "last"))}
		})).Draw(rt, "executors")
		next := storm.TaskID(1)
		for _, e := range l.Recut(in).Executors {
			if e.First != next || e.Last < e.First || l.ComponentOf(e.First) != e.Component || l.ComponentOf(e.Last) != e.Component {
				rt.Fatalf("executor %v after task %d", e, next-1)
			}
			next = e.Last + 1
		}
		if int(next) != l.NumTasks()+1 {
			rt.Fatalf("%d tasks, want %d", next-1, l.NumTasks())
		}
	})
}
