package zookeeper

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestClasspath(t *testing.T) {
	got, err := Classpath(func(key string) string { return map[string]string{ClasspathKey: "/a.jar:/b.jar"}[key] })
	if err != nil || got != "/a.jar:/b.jar" {
		t.Errorf("got %q, %v", got, err)
	}
}

// A program that is no JVM ends at once, and what it said is in the error.
func TestStartFails(t *testing.T) {
	java := filepath.Join(t.TempDir(), "java")
	if err := os.WriteFile(java, []byte("#!/bin/sh\necho no such class\nexit 3\n"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Config{Java: java, Dir: t.TempDir(), Classpath: "none.jar"})
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such class") {
		t.Errorf("error: %v", err)
	}
}

func TestServer(t *testing.T) {
	install := exec.CommandContext(t.Context(), "../../scripts/zookeeper", "install")
	if out, err := install.CombinedOutput(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("%v: %s", err, out)
	}
	classpath, err := Classpath(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), Config{Java: java, Dir: t.TempDir(), Classpath: classpath})
	if err != nil {
		t.Fatal(err)
	}
	if !answers(t.Context(), s.Port()) {
		t.Error("it does not answer")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-s.Done()
	var d net.Dialer
	if c, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(loopback, strconv.Itoa(s.Port()))); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}
