package clustertests

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stormring/stormring/clienttests/fetch"
)

// startLocal starts `local` without a topology and gives nimbus's port.
func startLocal(t *testing.T, more ...string) (cmd *exec.Cmd, port int) {
	t.Helper()
	args := append([]string{"local", "-c", "nimbus.thrift.port=0", "-c", "sr3.port=0", "-c", "stormring.jvm.libs=" + javaLibs(t)}, more...)
	cmd = exec.CommandContext(t.Context(), program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context is over, so it is ending already
		if err := cmd.Wait(); err != nil && !strings.Contains(err.Error(), "context canceled") || t.Failed() {
			t.Errorf("local ended: %v\n%s", err, log.String())
		}
	})
	lines := bufio.NewReader(out)
	if _, err := fmt.Fscanf(lines, "nimbus: 127.0.0.1:%d\n", &port); err != nil {
		t.Fatalf("local printed no address of nimbus: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	return cmd, port
}

// TestLocalJava: a local cluster refuses topologies in Java and says how to have them
// run; with ZooKeeper it runs them, and leaves nothing behind.
func TestLocalJava(t *testing.T) {
	slow(t)
	fetch.Client(t, []string{"javac", "mvn"}, "prepare", "2.8")
	t.Run("without ZooKeeper", func(t *testing.T) {
		_, port := startLocal(t)
		_, err := newStormClient(t, t.TempDir(), port).trySubmitNumbers(t, "refused", 1)
		if err == nil || !strings.Contains(err.Error(), "--zookeeper") {
			t.Errorf("submitting: %v", err)
		}
	})
	t.Run("with ZooKeeper", func(t *testing.T) {
		dir := t.TempDir()
		cmd, port := startLocal(t, "--zookeeper", "--data", dir)
		n := newStormClient(t, t.TempDir(), port).submitNumbers(t, "numbers", 300)
		await(t, patience, "all numbers are written", func() bool { return n.all(t) })
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		await(t, patience, "no process is left", func() bool {
			left, err := exec.CommandContext(t.Context(), "pgrep", "-f", dir).Output()
			return err != nil && len(left) == 0
		})
		if logs, err := filepath.Glob(filepath.Join(dir, "logs", "workers-artifacts", "numbers-*", "*", "worker.log")); err != nil || len(logs) != 2 {
			t.Errorf("logs of workers: %v, %v", logs, err)
		}
	})
}
