package clienttests

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// frameLimit is what our clusters read at most: more than 17 MB.
	frameLimit   = 32 << 20
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second
)

// cluster is a running nimbus with supervisors.
type cluster struct {
	process *exec.Cmd
	addr    string // host:port of nimbus
	port    string
	log     *bytes.Buffer // standard error; read it after stop only
	stop    func()        // in order, and waits
}

// startCluster starts `stormring local` on a free port with more arguments; it
// ends with the test.
func startCluster(t *testing.T, more ...string) *cluster {
	t.Helper()
	if isReference() {
		return startReference(t, 2)
	}
	name, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"local", "-c", "nimbus.thrift.port=0",
		"-c", "nimbus.thrift.max_buffer_size=" + strconv.Itoa(frameLimit),
		"-c", "nimbus.topology.blobstore.deletion.delay.ms=0",
	}
	return start(t, exec.Command(name, append(args, more...)...), func(c *exec.Cmd) error {
		return c.Process.Signal(syscall.SIGTERM)
	})
}

// startReference starts Storm's own nimbus, with supervisors in its process:
// it ends if one of their workers fails.
func startReference(t *testing.T, supervisors int) *cluster {
	t.Helper()
	c := newClient(t, "2.8", nil)
	port := freePort(t)
	process := exec.Command("java", "-Xmx1g", "-cp", c.classpath+":"+c.jar,
		program+"Reference", port, strconv.Itoa(frameLimit), strconv.Itoa(supervisors))
	in, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	return start(t, process, func(*exec.Cmd) error { return in.Close() })
}

// start runs a cluster until it says where its nimbus is.
func start(t *testing.T, process *exec.Cmd, end func(*exec.Cmd) error) *cluster {
	t.Helper()
	c := &cluster{process: process, log: new(bytes.Buffer)}
	process.Dir = t.TempDir()
	process.Stderr = c.log
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	found, drained := make(chan string, 1), make(chan struct{})
	var tail []string // the last lines of standard output
	go func() {
		defer close(drained)
		defer close(found)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			addr, ok := strings.CutPrefix(lines.Text(), "nimbus: ")
			if ok && len(found) == 0 {
				found <- addr
			}
			tail = append(tail[max(0, len(tail)-20):], lines.Text())
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	stopped := false
	c.stop = func() {
		if stopped {
			return
		}
		stopped = true
		kill := time.AfterFunc(stopTimeout, func() { _ = process.Process.Kill() })
		defer kill.Stop()
		if err := end(process); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
		<-drained
		if err := process.Wait(); err != nil {
			t.Errorf("%s was to stop and ended with %v\nstderr: %s\nstdout ends: %s", process.Path, err, c.log, strings.Join(tail, "\n"))
		}
	}
	t.Cleanup(c.stop)

	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case addr, ok := <-found:
		c.addr = addr
		if !ok {
			t.Fatalf("%s ended without telling the address of its nimbus", process.Path)
		}
	case <-timeout.C:
		t.Fatalf("%s has not told the address of its nimbus after %s", process.Path, startTimeout)
	}
	if _, c.port, err = net.SplitHostPort(c.addr); err != nil {
		t.Fatalf("the address of nimbus: %v", err)
	}
	return c
}

// freePort is a port where nothing listens now.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}

// await asks again and again until the answer is yes.
func await(t *testing.T, what string, ask func() bool) {
	t.Helper()
	deadline := time.Now().Add(startTimeout)
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		if time.Now().After(deadline) {
			t.Fatalf("still waiting after %s for: %s", startTimeout, what)
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatalf("the test ended while it waited for: %s", what)
		}
	}
}
