package clustertests

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
)

// patience is how long anything may take that has no promise of its own.
const patience = 60 * time.Second

// options say what a cluster is made of.
type options struct {
	nimbuses, supervisors, slots int
	conf                         map[string]string // keys of storm.yaml for all daemons, values as YAML
	net                          *network          // nil: all on the loopback of this host
	// apart gives each supervisor a loopback address of its own, so that they
	// count as hosts.
	apart bool
}

// rig is a running cluster. It ends with its test.
type rig struct {
	t    *testing.T
	dir  string
	opts options
	zk   *zooKeeper

	nimbus     []*daemon // by number, from 0
	supervisor []*daemon
	client     *client.Client
	conf       string // storm.yaml of clients
}

// daemon is a nimbus or a supervisor.
type daemon struct {
	rig  *rig
	name string
	dir  string
	host string
	port int
	ring int // port of a supervisor's ring node
	// slots are a supervisor's ports.
	slots []int
	cmd   *exec.Cmd
	ended chan struct{}
}

// startCluster starts all daemons and waits until nimbus knows all.
func startCluster(t *testing.T, o options) *rig {
	t.Helper()
	slow(t)
	dir, err := os.MkdirTemp("", "sr-") //nolint:usetesting // short, since sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir, opts: o}
	t.Cleanup(func() { r.remove() })
	r.zk = startZooKeeper(t, filepath.Join(dir, "zookeeper"), o.net)
	for i := range o.nimbuses {
		r.nimbus = append(r.nimbus, r.newDaemon(fmt.Sprintf("nimbus%d", i+1), nil))
	}
	for i := range o.supervisors {
		slots := make([]int, max(o.slots, 1))
		for i := range slots {
			slots[i] = freePort(t)
		}
		r.supervisor = append(r.supervisor, r.newDaemon(fmt.Sprintf("supervisor%d", i+1), slots))
	}
	for _, d := range r.all() {
		d.configure()
		d.start()
	}
	r.connect()
	r.awaitSupervisors(o.supervisors)
	return r
}

func (r *rig) newDaemon(name string, slots []int) *daemon {
	d := &daemon{rig: r, name: name, dir: filepath.Join(r.dir, name), host: "127.0.0.1", port: freePort(r.t), ring: freePort(r.t), slots: slots}
	if r.opts.net != nil {
		d.host = r.opts.net.add(name)
	} else if r.opts.apart && slots != nil {
		d.host = fmt.Sprintf("127.0.0.%d", 2+len(r.supervisor))
	}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	return d
}

func (r *rig) all() []*daemon { return slices.Concat(r.nimbus, r.supervisor) }

// settings are those that daemons and clients share.
func (r *rig) settings() map[string]string {
	var seeds []string
	for _, d := range r.nimbus {
		seeds = append(seeds, strconv.Quote(d.addr()))
	}
	host, port, _ := net.SplitHostPort(r.zk.addr)
	s := map[string]string{
		"storm.zookeeper.servers":         `["` + host + `"]`,
		"storm.zookeeper.port":            port,
		"storm.zookeeper.session.timeout": "4000",
		"nimbus.seeds":                    "[" + strings.Join(seeds, ", ") + "]",
	}
	maps.Copy(s, r.opts.conf)
	return s
}

func (d *daemon) addr() string { return net.JoinHostPort(d.host, strconv.Itoa(d.port)) }

func (d *daemon) isNimbus() bool { return strings.HasPrefix(d.name, "nimbus") }

// configure writes the daemon's storm.yaml.
func (d *daemon) configure() {
	s := d.rig.settings()
	s["storm.local.hostname"], s["storm.local.dir"] = d.host, d.dir
	if d.isNimbus() {
		s["nimbus.thrift.port"] = strconv.Itoa(d.port)
	} else {
		s["supervisor.thrift.port"] = strconv.Itoa(d.port)
		s["sr3.port"] = strconv.Itoa(d.ring)
		s["supervisor.slots.ports"] = strings.ReplaceAll(fmt.Sprint(d.slots), " ", ", ")
	}
	writeYAML(d.rig.t, d.yaml(), s)
}

func (d *daemon) yaml() string { return filepath.Join(d.dir, "storm.yaml") }

func writeYAML(t *testing.T, path string, s map[string]string) {
	t.Helper()
	var text bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&text, "%s: %s\n", key, s[key])
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts the daemon, and does not wait.
func (d *daemon) start() {
	t := d.rig.t
	t.Helper()
	log, err := os.OpenFile(d.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	argv := []string{program, strings.TrimRight(d.name, "0123456789"), "--config", d.yaml()}
	if d.rig.opts.net != nil {
		argv = d.rig.opts.net.inside(d.name, argv)
	}
	d.cmd = exec.Command(argv[0], argv[1:]...)
	d.cmd.Dir, d.cmd.Stdout, d.cmd.Stderr = d.dir, log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", d.name, err)
	}
	cmd, ended := d.cmd, make(chan struct{})
	d.ended = ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // how it ended, its log tells
	}()
}

func (d *daemon) logFile() string { return filepath.Join(d.dir, "log") }

func (d *daemon) pid() int { return d.cmd.Process.Pid }

// kill ends the daemon as a crash would.
func (d *daemon) kill() {
	d.rig.t.Helper()
	select {
	case <-d.ended:
		d.rig.t.Fatalf("%s has ended by itself; its log ends:\n%s", d.name, tail(d.logFile()))
	default:
	}
	_ = d.cmd.Process.Kill()
	<-d.ended
}

// alive reports whether the daemon's process is there.
func (d *daemon) alive() bool {
	select {
	case <-d.ended:
		return false
	default:
		return true
	}
}

// remove ends everything, whether or not it is there, and tells of failures.
func (r *rig) remove() {
	if r.client != nil {
		r.client.Close()
	}
	for _, d := range r.all() {
		if d.cmd != nil {
			_ = d.cmd.Process.Kill()
			<-d.ended
		}
	}
	for _, workers := range []map[int]int{r.workerPIDs(), r.jvms()} {
		for _, pid := range slices.Sorted(maps.Values(workers)) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for _, d := range r.supervisor {
		if pid := d.agent(); pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if r.zk != nil {
		r.zk.end()
	}
	if r.t.Failed() {
		for _, d := range r.all() {
			r.t.Logf("the log of %s ends:\n%s", d.name, tail(d.logFile()))
		}
	}
	if os.Getenv("STORMRING_KEEP") != "" {
		r.t.Logf("the cluster's files are in %s", r.dir)
		return
	}
	_ = os.RemoveAll(r.dir) // a worker may have written a last line
	_ = os.RemoveAll(r.dir)
}

// connect makes a client that lives through changes of leader.
func (r *rig) connect() {
	r.t.Helper()
	r.conf = filepath.Join(r.dir, "storm.yaml")
	writeYAML(r.t, r.conf, r.settings())
	r.client = r.newClient(r.nimbus...)
}

func (r *rig) newClient(of ...*daemon) *client.Client {
	cfg := client.Config{Patience: 30 * time.Second, CallTimeout: 60 * time.Second, MaxFrame: 64 << 20, MaxConns: 32, Logger: slog.New(slog.DiscardHandler)}
	for _, d := range of {
		cfg.Seeds = append(cfg.Seeds, d.addr())
	}
	return client.New(cfg)
}

// summary asks nimbus for all that there is; false if it does not answer now.
func (r *rig) summary() (cluster.ClusterSummary, bool) {
	ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Second)
	defer cancel()
	s, err := r.client.ClusterSummary(ctx)
	return s, err == nil
}

func (r *rig) awaitSupervisors(n int) {
	r.t.Helper()
	await(r.t, patience, fmt.Sprintf("nimbus knows %d supervisors", n), func() bool {
		s, ok := r.summary()
		return ok && len(s.Supervisors) == n
	})
}

// leader waits until a nimbus leads.
func (r *rig) leader() *daemon {
	r.t.Helper()
	var found *daemon
	await(r.t, patience, "a nimbus leads", func() bool {
		// One whose host is cut off says nothing, and keeps the connection.
		ctx, cancel := context.WithTimeout(r.t.Context(), 3*time.Second)
		defer cancel()
		l, err := r.client.Leader(ctx)
		if err != nil {
			return false
		}
		i := slices.IndexFunc(r.nimbus, func(d *daemon) bool { return d.port == l.Port && d.alive() })
		if i >= 0 {
			found = r.nimbus[i]
		}
		return i >= 0
	})
	return found
}

// run runs a command of the client's and returns what it prints.
func (r *rig) run(args ...string) (string, error) {
	argv := append([]string{program}, args...)
	argv = append(argv, "--config", r.conf)
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is run, which has to succeed.
func (r *rig) must(args ...string) string {
	r.t.Helper()
	out, err := r.run(args...)
	if err != nil {
		r.t.Fatalf("stormring %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// await asks until the answer is yes.
func await(t *testing.T, within time.Duration, what string, ask func() bool) {
	t.Helper()
	if _, ok := watch(t, within, ask); !ok {
		t.Fatalf("still waiting after %s for this: %s", within, what)
	}
}

// watch asks every few milliseconds until the answer is yes, and returns how
// long that took.
func watch(t *testing.T, within time.Duration, ask func() bool) (time.Duration, bool) {
	t.Helper()
	begin := time.Now()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		if time.Since(begin) > within || t.Context().Err() != nil {
			return time.Since(begin), false
		}
		<-again.C
	}
	return time.Since(begin), true
}

// ports that were handed out; what listens there comes and goes.
var ports = struct {
	sync.Mutex
	given map[int]bool
}{given: map[int]bool{}}

// freePort is a port that nothing uses, below those that the system takes for
// connections, so that it stays free while its daemon is dead.
func freePort(t *testing.T) int {
	t.Helper()
	ports.Lock()
	defer ports.Unlock()
	for try := range 5000 {
		port := 12000 + (os.Getpid()*37+try)%18000
		if ports.given[port] {
			continue
		}
		l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		l.Close()
		ports.given[port] = true
		return port
	}
	t.Fatal("there is no free port")
	return 0
}

// tail is the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.SplitAfter(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "")
}
