package slot

import (
	"slices"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

func words(execs ...cluster.Executor) Assignment {
	return Assignment{Topology: "words-1-1", Executors: execs}
}

func ex(first, last storm.TaskID) cluster.Executor {
	return cluster.Executor{First: first, Last: last}
}

func TestSame(t *testing.T) {
	a := words(ex(1, 2), ex(3, 3))
	other := a
	other.Topology = "words-2-1"
	patient := a
	patient.Timeout = time.Hour
	hungry := a
	hungry.Need = cluster.Resources{MemoryMB: 1}
	for _, c := range []struct {
		name string
		b    Assignment
		want bool
	}{
		{"itself", a, true},
		{"another order", words(ex(3, 3), ex(1, 2)), true},
		{"another time-out", patient, true},
		{"another topology", other, false},
		{"one executor less", words(ex(1, 2)), false},
		{"another executor", words(ex(1, 2), ex(4, 4)), false},
		{"more memory", hungry, false},
	} {
		if got := a.Same(c.b); got != c.want || c.b.Same(a) != got {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestBackoff(t *testing.T) {
	c := DefaultConfig()
	var got []int
	for n := range 11 {
		got = append(got, int(c.backoff(n)/time.Second))
	}
	if want := []int{0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := c.backoff(1 << 40); got != time.Minute {
		t.Errorf("after very many failures %v", got)
	}
}

func TestConfigRules(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.StartTimeout = 0 }, "slot: StartTimeout is 0s; give more than 0"},
		{func(c *Config) { c.HeartbeatTimeout = -1 }, "slot: HeartbeatTimeout is -1ns; give more than 0"},
		{func(c *Config) { c.MaxHeartbeatTimeout = 0 }, "slot: MaxHeartbeatTimeout is 0s; give more than 0"},
		{func(c *Config) { c.HardKillAgain = 0 }, "slot: HardKillAgain is 0s; give more than 0"},
		{func(c *Config) { c.BackoffFirst = 0 }, "slot: BackoffFirst is 0s; give more than 0"},
		{func(c *Config) { c.AssignmentWait = -1 }, "slot: AssignmentWait is -1ns; give 0 or more"},
		{func(c *Config) { c.SoftKill = -1 }, "slot: SoftKill is -1ns; give 0 or more"},
		{func(c *Config) { c.Stable = -1 }, "slot: Stable is -1ns; give 0 or more"},
		{func(c *Config) { c.BackoffMax = 1 }, "slot: BackoffMax is 1ns; give at least BackoffFirst, 1s"},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		if err := cfg.Validate(); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestStateNames(t *testing.T) {
	var got []string
	for s := range KillAndRelaunch + 2 {
		got = append(got, s.String())
	}
	want := []string{
		"EMPTY", "WAITING_FOR_BLOB_LOCALIZATION", "WAITING_FOR_WORKER_START", "RUNNING", "WAITING_FOR_BLOB_UPDATE",
		"KILL", "KILL_BLOB_UPDATE", "KILL_AND_RELAUNCH", "State(8)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// running is a slot whose worker, launch 2, was heard of at the start.
func running(tb testing.TB) *Slot {
	tb.Helper()
	s := New(DefaultConfig())
	s.Step(start(), Assign{Assignment: new(words(ex(1, 2), ex(3, 3)))})
	s.Step(start(), BlobsReady{1})
	s.Step(start(), Heartbeat{2, start()})
	if s.State() != Running {
		tb.Fatalf("it is %v", s.State())
	}
	return s
}

func TestAssignmentIsCopied(t *testing.T) {
	s := New(DefaultConfig())
	a := words(ex(3, 3), ex(1, 2))
	s.Step(start(), Assign{Assignment: &a})
	a.Topology, a.Executors[0] = "other", ex(9, 9)
	if want := words(ex(1, 2), ex(3, 3)); !s.Record().Want.Same(want) {
		t.Errorf("it wants %v, want %v", s.Record().Want, want)
	}
}

func TestTimeDoesNotGoBack(t *testing.T) {
	s := running(t)
	s.Step(start().Add(20*time.Second), Heartbeat{2, start().Add(20 * time.Second)})
	s.Step(start().Add(-time.Hour), Heartbeat{2, start().Add(-time.Hour)})
	if got, want := s.Deadline(), start().Add(50*time.Second); !got.Equal(want) {
		t.Errorf("deadline %v, want %v", got, want)
	}
}

func TestDeadlines(t *testing.T) {
	s := New(DefaultConfig())
	for _, c := range []struct {
		at   int // seconds
		ev   Event
		want int // seconds; -1 for none
	}{
		{0, Tick{}, -1},
		{0, Assign{Assignment: new(words(ex(1, 1)))}, -1}, // the answer is waited for
		{1, BlobsFailed{1, "no"}, 2},
		{2, Tick{}, -1},
		{3, BlobsReady{2}, 123},
		{5, Heartbeat{3, start().Add(4 * time.Second)}, 34},
		{34, Tick{}, 37},
		{37, Tick{}, 47},
		{47, Tick{}, 57},
		{48, Exited{3, -1}, 168},
		{48, Exited{4, -1}, 49},
		{49, Shutdown{}, -1},
	} {
		s.Step(start().Add(time.Duration(c.at)*time.Second), c.ev)
		got := -1
		if d := s.Deadline(); !d.IsZero() {
			got = int(d.Sub(start()) / time.Second)
		}
		if got != c.want {
			t.Errorf("after %T at %d s the deadline is %d, want %d", c.ev, c.at, got, c.want)
		}
	}
}

func TestBrokenInvariants(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"adopts late", func() { running(t).Step(start(), Adopt{}) }},
		{"no event", func() { running(t).Step(start(), nil) }},
		{"bad configuration", func() { New(Config{}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			c.f()
		})
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	s := running(b)
	now := start()
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		s.Step(now, Heartbeat{2, now})
	}
}

func BenchmarkRestart(b *testing.B) {
	s := running(b)
	now, launch := start(), Serial(2)
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(2 * time.Minute)
		s.Step(now, Heartbeat{launch, now})
		s.Step(now, Exited{launch, 1})
		launch++
	}
}
