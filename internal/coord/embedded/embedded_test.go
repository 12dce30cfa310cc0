package embedded

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/clock"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/coordtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func testConfig() Config {
	cfg := DefaultConfig()
	cfg.Clock = clock.NewFake(start)
	return cfg
}

func mustNew(tb testing.TB, cfg Config) *Server {
	tb.Helper()
	s, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

func mustOpen(tb testing.TB, s *Server) coord.Session {
	tb.Helper()
	c, err := s.Open(tb.Context(), 10*time.Second)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestContract(t *testing.T) {
	coordtest.Run(t, func(t *testing.T) coordtest.Server { return world(t, testConfig()) })
}

func TestContractOnDisk(t *testing.T) {
	coordtest.Run(t, func(t *testing.T) coordtest.Server {
		cfg := testConfig()
		cfg.Dir = t.TempDir()
		return world(t, cfg)
	})
}

func world(t *testing.T, cfg Config) coordtest.Server {
	t.Helper()
	s := mustNew(t, cfg)
	c := mustOpen(t, s)
	if _, err := c.Create(t.Context(), "/test", nil, coord.Persistent); err != nil {
		t.Fatal(err)
	}
	return coordtest.Server{
		Opener:       s,
		Root:         "/test",
		MaxDataBytes: cfg.MaxDataBytes,
		Expire:       func(c coord.Session) { s.Expire(c.ID()) },
		Cut:          func(c coord.Session) { s.Cut(c.ID()) },
		Heal:         func(c coord.Session) { s.Heal(c.ID()) },
	}
}
