package clienttests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/clienttests/fetch"
)

const (
	storm   = "org.apache.storm.command." // where Storm's commands are
	program = "stormring.clienttests."    // where ours are

	commandTimeout = 2 * time.Minute
)

// runner runs a Java command to its end: in a process of its own (client), or
// in one that is there already (driver).
type runner interface {
	run(t *testing.T, class string, args ...string) result
}

// client is one version of Storm's Java client, configured for one nimbus.
type client struct {
	classpath, jar, conf string
	options              []string // as -c of the storm script: key=value
}

// newClient fetches a client. Without a cluster it can be given an address
// with options only.
func newClient(t *testing.T, version string, cl *cluster) *client {
	t.Helper()
	needs := []string{"javac", "mvn"}
	c := &client{
		classpath: fetch.Client(t, needs, "classpath", version),
		jar:       fetch.Client(t, needs, "jar", version),
		conf:      t.TempDir(),
	}
	port := "1"
	if cl != nil {
		port = cl.port
	}
	yaml := fmt.Sprintf("nimbus.seeds: [\"127.0.0.1\"]\nnimbus.thrift.port: %s\nnimbus.thrift.max_buffer_size: %d\n", port, frameLimit)
	if err := os.WriteFile(filepath.Join(c.conf, "storm.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

// java is the command line that Storm's script makes, with flags that only
// make the JVM start faster.
func (c *client) java(t *testing.T, class string, args ...string) *exec.Cmd {
	line := []string{
		"-client", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
		"-Dstorm.options=" + strings.Join(c.options, ","),
		"-Dstorm.conf.file=", "-Dstorm.jar=" + c.jar, "-Dstorm.dependency.jars=", "-Dstorm.dependency.artifacts={}",
		"-cp", c.classpath + ":" + c.jar + ":" + c.conf, class,
	}
	cmd := exec.CommandContext(t.Context(), "java", append(line, args...)...)
	cmd.Dir = c.conf
	return cmd
}

func (c *client) run(t *testing.T, class string, args ...string) result {
	t.Helper()
	return c.runWith(t, "", class, args...)
}

// runWith gives the command an input.
func (c *client) runWith(t *testing.T, input, class string, args ...string) result {
	t.Helper()
	cmd := c.java(t, class, args...)
	cmd.Stdin = strings.NewReader(input)
	return runCommand(t, cmd, class, args)
}

// runCommand runs cmd to its end. A code other than 0 is not yet a failure.
func runCommand(t *testing.T, cmd *exec.Cmd, name string, args []string) result {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	kill := time.AfterFunc(commandTimeout, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%s: %v", name, err)
	}
	return result{
		command: name + " " + strings.Join(args, " "),
		out:     out.String(), err: errs.String(), code: cmd.ProcessState.ExitCode(),
	}
}

// driver is a JVM that runs commands one after the other (Driver.java).
type driver struct {
	in        io.Writer
	out, errs *bufio.Reader
	kill      func()
}

// driver starts one; it ends with the test.
func (c *client) driver(t *testing.T) *driver {
	t.Helper()
	cmd := c.java(t, program+"Driver")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	errs, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	d := &driver{
		in: in, out: bufio.NewReader(out), errs: bufio.NewReader(errs),
		kill: func() { _ = cmd.Process.Kill() },
	}
	t.Cleanup(func() {
		_ = in.Close()
		// The test's context has killed it by now if it was still at work.
		_ = cmd.Wait()
	})
	d.collect(t, "start of the driver")
	return d
}

func (d *driver) run(t *testing.T, class string, args ...string) result {
	t.Helper()
	words := append([]string{class}, args...)
	if _, err := io.WriteString(d.in, strings.Join(words, "\t")+"\n"); err != nil {
		t.Fatalf("%s: %v", class, err)
	}
	return d.collect(t, strings.Join(words, " "))
}

// collect reads both outputs up to the marks behind a command.
func (d *driver) collect(t *testing.T, name string) result {
	t.Helper()
	kill := time.AfterFunc(commandTimeout, d.kill)
	defer kill.Stop()
	r := result{command: name}
	var code int
	var err1, err2 error
	var both sync.WaitGroup
	both.Go(func() { r.out, r.code, err1 = untilMark(d.out) })
	both.Go(func() { r.err, code, err2 = untilMark(d.errs) })
	both.Wait()
	if err := errors.Join(err1, err2); err != nil || code != r.code {
		t.Fatalf("%s: the driver broke off: %v\n%s\n%s", name, err, r.out, r.err)
	}
	return r
}

// untilMark reads text, and the exit code behind it.
func untilMark(in *bufio.Reader) (text string, code int, err error) {
	text, err = in.ReadString(0)
	if err != nil {
		return text, 0, err
	}
	line, err := in.ReadString('\n')
	if err != nil {
		return text, 0, err
	}
	code, err = strconv.Atoi(strings.TrimSpace(line))
	return strings.TrimSuffix(text, "\x00"), code, err
}
