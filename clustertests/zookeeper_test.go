package clustertests

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// zooKeeper is a server of scripts/zookeeper.
type zooKeeper struct {
	t    *testing.T
	dir  string
	addr string
	net  *network
}

func startZooKeeper(t *testing.T, dir string, in *network) *zooKeeper {
	t.Helper()
	z := &zooKeeper{t: t, dir: dir, net: in}
	host := "127.0.0.1"
	if in != nil {
		host = in.add("zookeeper")
	}
	z.addr = net.JoinHostPort(host, strconv.Itoa(freePort(t)))
	z.start()
	return z
}

func (z *zooKeeper) start() {
	z.t.Helper()
	host, port, _ := net.SplitHostPort(z.addr)
	if out, err := z.script([]string{"ZOOKEEPER_ADDRESS=" + host}, "start", z.dir, port); err != nil {
		if os.Getenv("CI") == "" {
			if _, jerr := exec.LookPath("java"); jerr != nil {
				z.t.Skipf("there is no Java: %s", out)
			}
		}
		z.t.Fatalf("start ZooKeeper: %v\n%s", err, out)
	}
}

// stop ends the server in order; its records stay.
func (z *zooKeeper) stop() {
	z.t.Helper()
	if out, err := z.script(nil, "stop", z.dir); err != nil {
		z.t.Fatalf("stop ZooKeeper: %v\n%s", err, out)
	}
}

// end makes sure that it is gone.
func (z *zooKeeper) end() {
	z.thaw() // a stopped process ends all the same, but let others go on
	_, _ = z.script(nil, "kill", z.dir)
}

func (z *zooKeeper) script(env []string, args ...string) (string, error) {
	script, err := filepath.Abs("../scripts/zookeeper")
	if err != nil {
		return "", err
	}
	argv := append([]string{script}, args...)
	if z.net != nil {
		argv = z.net.inside("zookeeper", argv)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// freeze has the server silent with all connections open.
func (z *zooKeeper) freeze() { z.signal(syscall.SIGSTOP) }

func (z *zooKeeper) thaw() { z.signal(syscall.SIGCONT) }

func (z *zooKeeper) signal(s syscall.Signal) {
	text, err := os.ReadFile(filepath.Join(z.dir, "pid"))
	if err != nil {
		return
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		_ = syscall.Kill(pid, s)
	}
}

var zxid = regexp.MustCompile(`(?m)^Zxid: 0x([0-9a-f]+)$`)

// writes is the number of the last change that the server made, of any kind:
// znodes written and sessions begun or ended.
func (z *zooKeeper) writes() int64 {
	z.t.Helper()
	text, err := z.ask("srvr")
	if err != nil {
		z.t.Fatalf("ask ZooKeeper: %v", err)
	}
	m := zxid.FindStringSubmatch(text)
	if m == nil {
		z.t.Fatalf("ZooKeeper says: %s", text)
	}
	n, err := strconv.ParseInt(m[1], 16, 64)
	if err != nil {
		z.t.Fatal(err)
	}
	return n & 0xffffffff // above is the epoch
}

func (z *zooKeeper) ask(word string) (string, error) {
	conn, err := net.DialTimeout("tcp", z.addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprint(conn, word); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}
