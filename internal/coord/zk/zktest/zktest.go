// Package zktest has what tests need for a real ZooKeeper: Start runs one,
// NewProxy stands between it and a client.
package zktest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience is how long starting or ending a server may take; the first time it
// may have to be installed.
const patience = 5 * time.Minute

// Server is a ZooKeeper that ends with its test.
type Server struct {
	Address string // host:port

	tb     testing.TB
	script string
	dir    string
}

// Start runs a ZooKeeper by scripts/zookeeper, whose sessions may time out in
// a second. Where it cannot be had the test fails if CI is set, else it is
// skipped.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{tb: tb, script: filepath.Join(root(tb), "scripts", "zookeeper"), dir: tb.TempDir()}
	if _, err := s.run("install"); err != nil {
		if os.Getenv("CI") == "" {
			tb.Skip(err)
		}
		tb.Fatal(err)
	}
	tb.Cleanup(s.Kill)
	address, err := s.run("start", s.dir, "0")
	if err != nil {
		tb.Fatal(err)
	}
	s.Address = strings.TrimSpace(address)
	return s
}

// Kill ends the server as a crash would.
func (s *Server) Kill() {
	s.tb.Helper()
	if _, err := s.run("kill", s.dir); err != nil {
		s.tb.Error(err)
	}
}

// Restart ends the server and starts it again, at the same address.
func (s *Server) Restart() {
	s.tb.Helper()
	if _, err := s.run("restart", s.dir); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *Server) run(args ...string) (string, error) {
	// The test's own context is over when it cleans up.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.script, args...).Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok && len(e.Stderr) > 0 {
		return "", errors.New(strings.TrimSpace(string(e.Stderr)))
	}
	return string(out), err
}

// root is the folder of the module in which the test runs.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}
