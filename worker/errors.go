package worker

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

// keptErrors is how many errors of a component are kept, as in Storm.
const keptErrors = 10

// ErrorInfo is one reported error.
type ErrorInfo struct {
	Component string
	Task      storm.TaskID
	Text      string // with the stack after a panic
	Time      time.Time
}

// errorLog logs errors of components and keeps the newest.
type errorLog struct {
	log      *slog.Logger
	publish  func(ErrorInfo)
	interval time.Duration
	most     int

	mu    sync.Mutex
	kept  map[string][]ErrorInfo
	tasks map[storm.TaskID]*throttle
}

type throttle struct {
	since  time.Time
	count  int
	hidden int
}

func newErrorLog(c *conf.Conf, log *slog.Logger, publish func(ErrorInfo)) *errorLog {
	return &errorLog{
		log: log, publish: publish,
		interval: c.Duration(storm.ConfTopologyErrorThrottleIntervalSecs),
		most:     c.Int(storm.ConfTopologyMaxErrorReportPerInterval),
		kept:     map[string][]ErrorInfo{}, tasks: map[storm.TaskID]*throttle{},
	}
}

// report publishes err unless the task has reported too many lately.
func (l *errorLog) report(component string, task storm.TaskID, err error) {
	now := time.Now()
	hidden, ok := l.admit(task, now)
	if !ok {
		return
	}
	if hidden > 0 {
		l.log.Warn("errors were left out", "component", component, "task", int(task), "count", hidden)
	}
	l.log.Error("component reports an error", "component", component, "task", int(task), "error", err)
	l.keep(ErrorInfo{Component: component, Task: task, Text: err.Error(), Time: now})
}

// admit counts an error of task; hidden is how many were left out before it.
func (l *errorLog) admit(task storm.TaskID, now time.Time) (hidden int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tasks[task]
	if t == nil {
		t = &throttle{since: now}
		l.tasks[task] = t
	}
	if now.Sub(t.since) > l.interval {
		hidden = t.hidden
		*t = throttle{since: now}
	}
	if t.count++; t.count > l.most {
		t.hidden++
		return 0, false
	}
	return hidden, true
}

// failure publishes the end of an executor, past any throttling.
func (l *errorLog) failure(f *executor.TaskError) {
	text := fmt.Sprintf("%s: %v", f.Doing, f.Err)
	attrs := []any{"component", f.Component, "task", int(f.Task), "doing", f.Doing, "error", f.Err}
	if f.Stack != "" {
		text += "\n" + f.Stack
		attrs = append(attrs, "stack", f.Stack)
	}
	l.log.Error("component failed; its worker restarts", attrs...)
	l.keep(ErrorInfo{Component: f.Component, Task: f.Task, Text: text, Time: time.Now()})
}

func (l *errorLog) keep(e ErrorInfo) {
	l.mu.Lock()
	list := append(l.kept[e.Component], e)
	if len(list) > keptErrors {
		list = slices.Delete(list, 0, len(list)-keptErrors)
	}
	l.kept[e.Component] = list
	l.mu.Unlock()
	if l.publish != nil {
		l.publish(e)
	}
}

func (l *errorLog) all() map[string][]ErrorInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := maps.Clone(l.kept)
	for id, list := range out {
		out[id] = slices.Clone(list)
	}
	return out
}
