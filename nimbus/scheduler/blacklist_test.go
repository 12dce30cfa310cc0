package scheduler

import (
	"slices"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
)

func TestBlacklist(t *testing.T) {
	b, err := NewBlacklist(BlacklistConfig{ToleranceSecs: 100, ToleranceCount: 3, ResumeSecs: 1000})
	if err != nil {
		t.Fatal(err)
	}
	fail := func(id cluster.SupervisorID, now int64, want bool) {
		t.Helper()
		if got := b.Fail(id, now); got != want {
			t.Errorf("failure of %s at %d lists it: %v, want %v", id, now, got, want)
		}
	}
	listed := func(now int64, want ...cluster.SupervisorID) {
		t.Helper()
		if got := b.All(now); !slices.Equal(got, want) {
			t.Errorf("at %d listed are %v, want %v", now, got, want)
		}
	}
	fail("s1", 0, false)
	fail("s1", 50, false)
	fail("s1", 100, false) // the first is forgotten
	listed(100)
	fail("s1", 149, true)
	listed(149, "s1")
	fail("s1", 150, false)
	for range 3 {
		fail("s0", 200, b.known["s0"] != nil && len(b.known["s0"].failures) == 2)
	}
	listed(200, "s0", "s1")
	listed(1148, "s0", "s1")
	listed(1149, "s0")
	if got := b.Expire(1200); !slices.Equal(got, []cluster.SupervisorID{"s0", "s1"}) {
		t.Errorf("back are %v", got)
	}
	if len(b.known) != 0 {
		t.Errorf("%d records are left", len(b.known))
	}
	for i := range 3 {
		fail("s2", 1300, i == 2)
	}
	if b.Release("s1") || !b.Release("s2") || b.Listed("s2", 1300) {
		t.Error("Release is wrong")
	}
}

func TestBlacklistConfig(t *testing.T) {
	if err := DefaultBlacklistConfig().Validate(); err != nil {
		t.Error(err)
	}
	for want, c := range map[string]BlacklistConfig{
		"blacklist.scheduler.tolerance.time.secs is 0; it must be at least 1": {0, 3, 1},
		"blacklist.scheduler.tolerance.count is 0; it must be at least 1":     {1, 0, 1},
		"blacklist.scheduler.resume.time.secs is -1; it must not be negative": {1, 1, -1},
	} {
		if b, err := NewBlacklist(c); err == nil || err.Error() != want || b != nil {
			t.Errorf("got %v, %v, want %q", b, err, want)
		}
	}
}
