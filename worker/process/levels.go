package process

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

// componentKey is the attribute of the records of a component's tasks.
const componentKey = "component"

// Levels are the log levels of a worker's loggers, as Storm's set_log_level
// changes them: ROOT is everything, a component's id are its records.
type Levels struct {
	// base is what holds where nothing is set.
	base slog.Level
	set  atomic.Pointer[map[string]level]
	now  func() time.Time
}

type level struct {
	level slog.Level
	until time.Time // zero is for ever
}

// NewLevels makes levels that are base everywhere.
func NewLevels(base slog.Level) *Levels { return &Levels{base: base, now: time.Now} }

// Set takes over levels. Names of levels that nobody knows are left out.
func (l *Levels) Set(c cluster.LogConfig) {
	set := map[string]level{}
	for name, entry := range c {
		v, ok := parseLevel(entry.Target)
		if !ok || entry.Action == cluster.LogLevelRemove {
			continue
		}
		e := level{level: v}
		if entry.TimeoutEpochMS > 0 {
			e.until = time.UnixMilli(entry.TimeoutEpochMS)
		}
		set[name] = e
	}
	l.set.Store(&set)
}

// parseLevel knows the names of log4j.
func parseLevel(name string) (slog.Level, bool) {
	switch strings.ToUpper(name) {
	case "ALL", "TRACE", "DEBUG":
		return slog.LevelDebug, true
	case "INFO":
		return slog.LevelInfo, true
	case "WARN":
		return slog.LevelWarn, true
	case "ERROR", "FATAL":
		return slog.LevelError, true
	case "OFF":
		return slog.LevelError + 100, true
	default:
		return 0, false
	}
}

// of is the level of a component's records; "" is everything else.
func (l *Levels) of(component string) slog.Level {
	if set := l.set.Load(); set != nil {
		for _, name := range []string{component, "ROOT"} {
			if e, ok := (*set)[name]; ok && name != "" && (e.until.IsZero() || l.now().Before(e.until)) {
				return e.level
			}
		}
	}
	return l.base
}

// Handler lets through to next what the levels ask for. next itself should let
// everything through.
func (l *Levels) Handler(next slog.Handler) slog.Handler { return handler{levels: l, next: next} }

type handler struct {
	levels    *Levels
	next      slog.Handler
	component string
}

// Enabled implements slog.Handler.
func (h handler) Enabled(_ context.Context, v slog.Level) bool { return v >= h.levels.of(h.component) }

// Handle implements slog.Handler.
func (h handler) Handle(ctx context.Context, r slog.Record) error { return h.next.Handle(ctx, r) }

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		if a.Key == componentKey {
			h.component = a.Value.String()
		}
	}
	h.next = h.next.WithAttrs(attrs)
	return h
}

// WithGroup implements slog.Handler.
func (h handler) WithGroup(name string) slog.Handler {
	h.next = h.next.WithGroup(name)
	return h
}
