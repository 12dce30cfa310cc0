package layout

import (
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// Recut is l with the executors that the control plane has made of its tasks: a
// rebalance may have changed their number. Tasks that none of them has keep
// l's own executors as far as they can. Ranges that are none of l's are left
// out.
func (l *Layout) Recut(executors []cluster.Executor) *Layout {
	out := *l
	out.Executors = nil
	taken := make([]bool, l.NumTasks()+1)
	for _, e := range executors {
		component := l.ComponentOf(e.First)
		if component == "" || e.Last < e.First || l.ComponentOf(e.Last) != component || slices.Contains(taken[e.First:e.Last+1], true) {
			continue
		}
		out.Executors = append(out.Executors, Executor{Component: component, First: e.First, Last: e.Last})
		for t := e.First; t <= e.Last; t++ {
			taken[t] = true
		}
	}
	for _, e := range l.Executors {
		out.Executors = append(out.Executors, e.without(taken)...)
	}
	slices.SortFunc(out.Executors, func(a, b Executor) int { return int(a.First - b.First) })
	return &out
}

// without are the runs of e's tasks that are not taken.
func (e Executor) without(taken []bool) []Executor {
	var runs []Executor
	start := storm.TaskID(0)
	for t := e.First; t <= e.Last+1; t++ {
		free := t <= e.Last && !taken[t]
		switch {
		case free && start == 0:
			start = t
		case !free && start != 0:
			runs = append(runs, Executor{Component: e.Component, First: start, Last: t - 1})
			start = 0
		}
	}
	return runs
}

// Fits reports whether every range of executors is one of l's executors.
func (l *Layout) Fits(executors []cluster.Executor) bool {
	for _, e := range executors {
		x := l.ExecutorOf(e.First)
		if x < 0 || l.Executors[x].First != e.First || l.Executors[x].Last != e.Last {
			return false
		}
	}
	return true
}
