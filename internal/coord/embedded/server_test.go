package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/coord"
)

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"defaults", func(*Config) {}, ""},
		{"clock", func(c *Config) { c.Clock = nil }, "no Clock: use clock.Real{}"},
		{"no data", func(c *Config) { c.MaxDataBytes = 0 }, "MaxDataBytes is 0, has to be from 1 to 2147483647"},
		{"too much data", func(c *Config) { c.MaxDataBytes = 1 << 31 }, "MaxDataBytes is 2147483648, has to be from 1 to 2147483647"},
		{"no time-out", func(c *Config) { c.MinTimeout = 0 }, "MinTimeout is 0s and MaxTimeout 40s: the first has to be positive, the second no less"},
		{"order", func(c *Config) { c.MaxTimeout = time.Second }, "MinTimeout is 4s and MaxTimeout 1s: the first has to be positive, the second no less"},
	} {
		cfg := DefaultConfig()
		tt.change(&cfg)
		got := ""
		if err := cfg.Validate(); err != nil {
			got = err.Error()
			if _, err := New(cfg); err == nil || err.Error() != "embedded coordination store: "+got {
				t.Errorf("%s: New says %v", tt.name, err)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTimeoutIsBounded(t *testing.T) {
	s := mustNew(t, testConfig())
	for asked, want := range map[time.Duration]time.Duration{
		0:                4 * time.Second,
		20 * time.Second: 20 * time.Second,
		time.Hour:        40 * time.Second,
	} {
		c, err := s.Open(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		if c.Timeout() != want {
			t.Errorf("asked for %v, got %v, want %v", asked, c.Timeout(), want)
		}
	}
}

// A session that is cut off expires at its time, no sooner.
func TestCutExpiresInTime(t *testing.T) {
	cfg := testConfig()
	fake := clock.NewFake(start)
	cfg.Clock = fake
	s := mustNew(t, cfg)
	a, b, watcher := mustOpen(t, s), mustOpen(t, s), mustOpen(t, s)
	for path, c := range map[string]coord.Session{"/a": a, "/b": b} {
		if _, err := c.Create(t.Context(), path, nil, coord.Ephemeral); err != nil {
			t.Fatal(err)
		}
	}
	if n, _ := fake.Timers(); n != 0 {
		t.Fatalf("%d timers run while nobody is to expire", n)
	}
	gone := map[string]<-chan coord.Event{}
	for _, path := range []string{"/a", "/b"} {
		_, _, events, err := watcher.GetW(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		gone[path] = events
	}
	s.Cut(a.ID())
	fake.Advance(9 * time.Second)
	s.Cut(b.ID())
	s.Cut(b.ID()) // again changes nothing
	fake.Advance(time.Second)
	if e := <-gone["/a"]; e.Type != coord.EventNodeDeleted {
		t.Fatalf("got %v", e)
	}
	s.Heal(b.ID())
	fake.Advance(time.Hour)
	if _, _, err := watcher.Get(t.Context(), "/b"); err != nil {
		t.Fatalf("b was healed in time: %v", err)
	}
	s.Heal(a.ID())
	<-a.Done()
	if !errors.Is(a.Err(), coord.ErrSessionExpired) {
		t.Fatalf("a is over: %v", a.Err())
	}
	s.Heal(a.ID())
	s.Cut(a.ID())
	s.Expire(a.ID())
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// With the computer's clock too.
func TestCutExpiresInRealTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mustNew(t, DefaultConfig())
		a, b := mustOpen(t, s), mustOpen(t, s)
		if _, err := a.Create(t.Context(), "/a", nil, coord.Ephemeral); err != nil {
			t.Fatal(err)
		}
		_, _, events, err := b.GetW(t.Context(), "/a")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		s.Cut(a.ID())
		if e := <-events; e.Type != coord.EventNodeDeleted || time.Since(began) != 10*time.Second {
			t.Fatalf("%v after %v", e.Type, time.Since(began))
		}
	})
}

func TestServerClose(t *testing.T) {
	s := mustNew(t, testConfig())
	a, cut := mustOpen(t, s), mustOpen(t, s)
	_, _, events, err := a.ExistsW(t.Context(), "/x")
	if err != nil {
		t.Fatal(err)
	}
	s.Cut(cut.ID())
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []coord.Session{a, cut} {
		<-c.Done()
		if !errors.Is(c.Err(), coord.ErrSessionClosed) {
			t.Errorf("the session is over: %v", c.Err())
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if e := <-events; e.Type != coord.EventNotWatching || !errors.Is(e.Err, coord.ErrSessionClosed) {
		t.Errorf("the watch told of %v", e)
	}
	if _, err := s.Open(t.Context(), time.Second); !errors.Is(err, coord.ErrConnectionLoss) {
		t.Errorf("a closed store opens a session: %v", err)
	}
	s.Heal(cut.ID())
	s.Expire(a.ID())
}
