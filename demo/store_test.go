package demo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/coordtest"
	"github.com/stormring/stormring/internal/coord/embedded"
)

// TestStoreOverASocket has the store that other processes see pass the tests of
// every coordination store.
func TestStoreOverASocket(t *testing.T) {
	coordtest.Run(t, func(t *testing.T) coordtest.Server {
		t.Helper()
		dir, err := os.MkdirTemp("", "sr-") //nolint:usetesting // short: a socket is in it
		if err != nil {
			t.Fatal(err)
		}
		cfg := embedded.DefaultConfig()
		store, err := embedded.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		socket := filepath.Join(dir, "store")
		server, err := serveStore(store, socket)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			server.close()
			os.RemoveAll(dir)
		})
		s, err := storeClient{socket}.Open(t.Context(), cfg.MaxTimeout)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Create(t.Context(), "/root", nil, coord.Persistent); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return coordtest.Server{
			Opener: storeClient{socket}, Root: "/root", MaxDataBytes: cfg.MaxDataBytes,
			Expire: func(s coord.Session) { store.Expire(s.ID()) },
		}
	})
}
