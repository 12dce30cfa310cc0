// Package zookeeper runs a ZooKeeper of one server that lives and ends with this
// process, for a cluster on one machine whose workers speak to ZooKeeper
// themselves. It is no store to trust with what must survive a power cut.
//
// Begin at [Start].
package zookeeper

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// ClasspathKey names the environment variable with the jars of ZooKeeper, for where
// Debian's are not.
const ClasspathKey = "ZOOKEEPER_CLASSPATH"

const (
	loopback = "127.0.0.1"
	// startPatience is how long the server is given to answer, endPatience how long to end.
	startPatience = 30 * time.Second
	endPatience   = 5 * time.Second
	lookEvery     = 50 * time.Millisecond
	// attempts are made when another process takes the port that was free.
	attempts = 3
	// tickMillis is the server's unit of time: a session may be as short as two.
	tickMillis = 500
)

// Config says what to run.
type Config struct {
	// Java is the program of the JVM.
	Java string
	// Dir has the data and the log; it is made if it is not there.
	Dir string
	// Classpath has the jars; see [Classpath].
	Classpath string
}

// Server is one that runs.
type Server struct {
	port int
	stop context.CancelFunc
	done chan struct{}
	err  error // why it ended; read it after done
}

// Classpath is where this host has the jars of ZooKeeper: what the environment
// says, or what Debian's package libzookeeper-java brings.
func Classpath(getenv func(string) string) (string, error) {
	if path := getenv(ClasspathKey); path != "" {
		return path, nil
	}
	const dir = "/usr/share/java"
	jars := []string{filepath.Join(dir, "zookeeper.jar"), filepath.Join(dir, "slf4j-log4j12.jar"), filepath.Join(dir, "log4j-1.2.jar")}
	for _, jar := range jars {
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("there is no ZooKeeper on this host (%w): install Debian's libzookeeper-java, or set %s to its jars", err, ClasspathKey)
		}
	}
	return strings.Join(jars, string(os.PathListSeparator)), nil
}

// Start starts a server for this host alone and waits until it answers.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	var err error
	for range attempts {
		var s *Server
		if s, err = start(ctx, cfg); err == nil || ctx.Err() != nil {
			return s, err
		}
	}
	return nil, err
}

func start(ctx context.Context, cfg Config) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, fmt.Errorf("zookeeper: a port: %w", err)
	}
	settings, err := configure(cfg.Dir, port)
	if err != nil {
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(cfg.Dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	defer log.Close() // the child has its own
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	cmd := exec.CommandContext(life, cfg.Java, "-Xms16m", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", //nolint:gosec // the host's own Java
		"-Djava.awt.headless=true", "-Dzookeeper.jmx.log4j.disable=true", "-Dlog4j.configuration=file:"+filepath.Join(cfg.Dir, "log4j.properties"),
		"-cp", cfg.Dir+string(os.PathListSeparator)+cfg.Classpath, "org.apache.zookeeper.server.quorum.QuorumPeerMain", settings)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = endPatience
	keepApart(cmd)
	s := &Server{port: port, stop: stop, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() { // ends with the process, which Close ends
		defer close(s.done)
		// The system ends the process with the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			s.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		stop()
		return nil, fmt.Errorf("zookeeper: %w", err)
	}
	if err := s.await(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("zookeeper at port %d: %w; its log ends with:\n%s", port, err, tail(log.Name())), s.Close())
	}
	return s, nil
}

// Port is where it listens, on this host alone.
func (s *Server) Port() int { return s.port }

// Done is closed when the server has ended, by itself or not.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close ends the server.
func (s *Server) Close() error {
	s.stop()
	<-s.done
	return nil
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("it did not answer within %v", startPatience))
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for !answers(ctx, s.port) {
		select {
		case <-s.done:
			return fmt.Errorf("it ended: %w", s.err)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

// answers asks a server whether it serves.
func answers(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: time.Second}
	c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	defer c.Close()
	if c.SetDeadline(time.Now().Add(time.Second)) != nil {
		return false
	}
	if _, err := io.WriteString(c, "srvr"); err != nil {
		return false
	}
	text, _ := io.ReadAll(io.LimitReader(c, 1<<16))
	return bytes.Contains(text, []byte("Mode: standalone"))
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, err
	}
	addr, _ := ln.Addr().(*net.TCPAddr)
	return addr.Port, ln.Close()
}

// configure writes the server's files and gives the path of the one it is started
// with.
func configure(dir string, port int) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "data"), 0o750); err != nil {
		return "", err
	}
	settings := fmt.Sprintf(`dataDir=%s
clientPort=%d
clientPortAddress=%s
tickTime=%d
maxSessionTimeout=60000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr
forceSync=no
`, filepath.Join(dir, "data"), port, loopback, tickMillis)
	const logging = `log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %-5p %c{1}: %m%n
`
	if err := os.WriteFile(filepath.Join(dir, "log4j.properties"), []byte(logging), 0o640); err != nil { //nolint:gosec // nothing secret
		return "", err
	}
	file := filepath.Join(dir, "zoo.cfg")
	return file, os.WriteFile(file, []byte(settings), 0o640) //nolint:gosec // nothing secret
}

// tail is the end of a log.
func tail(file string) []byte {
	text, err := os.ReadFile(file)
	if err != nil {
		return []byte(err.Error())
	}
	return text[max(0, len(text)-2000):]
}
