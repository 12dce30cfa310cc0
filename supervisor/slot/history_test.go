package slot

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

// update rewrites the outputs in testdata; the diff is to be reviewed.
var update = flag.Bool("update", false, "rewrite testdata")

func start() time.Time { return time.Unix(1_700_000_000, 0) }

// history runs a file of testdata: events by line, each with what came of it
// below. A line is "<time> <event> <arguments>", the time counted from the
// start of the history:
//
//	0s assign words [1,2] [3,3] timeout=60s   or "assign none"; "repeat" if it was not read
//	1s ready #1, failed #1 <why>, changed words
//	1s started 2 pid=100, launch-failed 2 <why>, exited 2 code=1, beat 2 [1s]
//	9s tick
//	9s run              steps Tick at every deadline up to that time
//	9s shutdown, restart alive|dead [beat]
type history struct {
	slot   *Slot
	record Record
	out    strings.Builder
}

func TestHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			h := &history{slot: New(DefaultConfig())}
			for line := range strings.Lines(string(text)) {
				if strings.HasPrefix(line, "    ") {
					continue // output of an earlier run
				}
				h.out.WriteString(line)
				if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
					continue
				}
				if err := h.run(line); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
			}
			got := h.out.String()
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("run with -update and look at the diff; got\n%s", got)
			}
		})
	}
}

func (h *history) run(line string) error {
	f := strings.Fields(line)
	d, err := time.ParseDuration(f[0])
	if err != nil || len(f) < 2 {
		return fmt.Errorf("want <time> <event>: %w", err)
	}
	now := start().Add(d)
	if f[1] == "run" {
		return h.runTo(now)
	}
	ev, err := h.parse(f[1], f[2:])
	if err != nil {
		return err
	}
	h.step(now, ev)
	return nil
}

func (h *history) runTo(end time.Time) error {
	for range 100 {
		next := h.slot.Deadline()
		if next.IsZero() || next.After(end) {
			return nil
		}
		fmt.Fprintf(&h.out, "    at %v\n", next.Sub(start()))
		h.step(next, Tick{})
	}
	return fmt.Errorf("more than 100 deadlines until %v", end)
}

func (h *history) step(now time.Time, ev Event) {
	before, why := h.slot.State(), h.slot.Why()
	effects := h.slot.Step(now, ev)
	for _, e := range effects {
		if p, ok := e.(Persist); ok {
			h.record = p.Record
		}
		fmt.Fprintf(&h.out, "    %s\n", describe(e))
	}
	if len(effects) == 0 && h.slot.State() == before {
		h.out.WriteString("    -\n")
	}
	if now := h.slot.Why(); now != why && now != "" {
		fmt.Fprintf(&h.out, "    why: %s\n", now)
	}
}

// parse reads an event; a restart makes a new slot.
func (h *history) parse(name string, args []string) (Event, error) {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	serial := func() Serial {
		n, err := strconv.Atoi(strings.TrimPrefix(arg(0), "#"))
		if err != nil {
			panic(err)
		}
		return Serial(n)
	}
	number := func(s string) int {
		n, err := strconv.Atoi(s[strings.IndexByte(s, '=')+1:])
		if err != nil {
			panic(err)
		}
		return n
	}
	rest := func() string { return strings.Join(args[min(1, len(args)):], " ") }
	switch name {
	case "tick":
		return Tick{}, nil
	case "assign", "repeat":
		ev, err := parseAssign(args)
		ev.Read = name == "assign"
		return ev, err
	case "ready":
		return BlobsReady{serial()}, nil
	case "failed":
		return BlobsFailed{serial(), rest()}, nil
	case "changed":
		return BlobsChanged{cluster.TopologyID(arg(0))}, nil
	case "started":
		return Started{serial(), number(arg(1))}, nil
	case "launch-failed":
		return LaunchFailed{serial(), rest()}, nil
	case "exited":
		return Exited{serial(), number(arg(1))}, nil
	case "beat":
		d, err := time.ParseDuration(arg(1))
		return Heartbeat{serial(), start().Add(d)}, err
	case "shutdown":
		return Shutdown{}, nil
	case "restart":
		h.slot = New(DefaultConfig())
		ev := Adopt{Record: h.record, Alive: arg(0) == "alive"}
		if arg(1) == "beat" {
			ev.LastHeartbeat = start()
		}
		return ev, nil
	}
	return nil, fmt.Errorf("no event %q", name)
}

func parseAssign(args []string) (Assign, error) {
	if len(args) == 1 && args[0] == "none" {
		return Assign{}, nil
	}
	if len(args) == 0 {
		return Assign{}, fmt.Errorf("assign what?")
	}
	a := Assignment{Topology: cluster.TopologyID(args[0])}
	for _, s := range args[1:] {
		if d, ok := strings.CutPrefix(s, "timeout="); ok {
			timeout, err := time.ParseDuration(d)
			if err != nil {
				return Assign{}, err
			}
			a.Timeout = timeout
			continue
		}
		var e cluster.Executor
		if _, err := fmt.Sscanf(s, "[%d,%d]", &e.First, &e.Last); err != nil {
			return Assign{}, fmt.Errorf("executor %q: %w", s, err)
		}
		a.Executors = append(a.Executors, e)
	}
	return Assign{Assignment: &a}, nil
}

func describe(e Effect) string {
	switch e := e.(type) {
	case Persist:
		text := fmt.Sprintf("persist last=%d", e.Record.Last)
		if w := e.Record.Want; w != nil {
			text += fmt.Sprintf(" want=%s", w)
		}
		if w := e.Record.Worker; w != nil {
			text += fmt.Sprintf(" worker=%d pid=%d", w.Launch, w.PID)
		}
		if n := e.Record.Failures; n > 0 {
			text += fmt.Sprintf(" failures=%d", n)
		}
		return text
	case Localise:
		if e.Update {
			return fmt.Sprintf("localise #%d %s, the newest", e.Request, e.Assignment)
		}
		return fmt.Sprintf("localise #%d %s", e.Request, e.Assignment)
	case Release:
		return fmt.Sprintf("release #%d", e.Request)
	case Launch:
		return fmt.Sprintf("LAUNCH %d %s with #%d", e.Worker.Launch, e.Worker.Assignment, e.Worker.Blobs)
	case SoftKill:
		return fmt.Sprintf("KILL %d", e.Launch)
	case HardKill:
		return fmt.Sprintf("KILL %d by force", e.Launch)
	case Clear:
		return fmt.Sprintf("clear %d", e.Launch)
	case Note:
		return fmt.Sprintf("note %s: %s", e.What, e.Text)
	default:
		panic(fmt.Sprintf("unknown effect %T", e))
	}
}
