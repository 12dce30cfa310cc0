package clustertests

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// network is hosts of their own for the daemons of a cluster: network
// namespaces, each with one link to a switch, which is a bridge in a namespace
// too. The test itself, and with it all clients, is at the switch as well.
type network struct {
	t      *testing.T
	prefix string // of all names
	subnet string
	hosts  []string
}

// newNetwork makes the switch. Without the right to do so the test is skipped,
// except where CI is set.
func newNetwork(t *testing.T) *network {
	t.Helper()
	slow(t)
	n := &network{t: t, prefix: fmt.Sprintf("sr%d-", os.Getpid()), subnet: fmt.Sprintf("10.77.%d.", os.Getpid()%250)}
	if why := n.impossible(); why != "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("no network namespaces: %s", why)
		}
		t.Skipf("no network namespaces: %s", why)
	}
	t.Cleanup(n.remove)
	n.ip("-n", n.name("switch"), "link", "add", "br0", "type", "bridge")
	n.ip("-n", n.name("switch"), "link", "set", "br0", "up")
	n.ip("link", "add", n.port(0), "netns", n.name("switch"), "type", "veth", "peer", "name", n.prefix+"e")
	n.plug(0)
	n.ip("addr", "add", n.subnet+"254/24", "dev", n.prefix+"e")
	n.ip("link", "set", n.prefix+"e", "up")
	return n
}

// impossible makes the switch's namespace and says why that cannot be.
func (n *network) impossible() string {
	switch {
	case runtime.GOOS != "linux":
		return "they are Linux's"
	case os.Geteuid() != 0:
		return "that takes root"
	}
	if out, err := exec.Command("ip", "netns", "add", n.name("switch")).CombinedOutput(); err != nil {
		return fmt.Sprintf("ip: %v: %s", err, out)
	}
	return ""
}

func (n *network) name(host string) string { return n.prefix + host }

// port is the switch's end of a host's link; 0 is the test's.
func (n *network) port(i int) string { return fmt.Sprintf("v%d", i) }

func (n *network) portOf(host string) string {
	i := slices.Index(n.hosts, host)
	if i < 0 {
		n.t.Fatalf("there is no host %s", host)
	}
	return n.port(i + 1)
}

// add adds a host and returns its address.
func (n *network) add(host string) string {
	n.t.Helper()
	n.hosts = append(n.hosts, host)
	i, space := len(n.hosts), n.name(host)
	addr := fmt.Sprint(n.subnet, i)
	n.ip("netns", "add", space)
	n.ip("-n", space, "link", "set", "lo", "up")
	n.ip("link", "add", n.port(i), "netns", n.name("switch"), "type", "veth", "peer", "name", "eth0", "netns", space)
	n.plug(i)
	n.ip("-n", space, "addr", "add", addr+"/24", "dev", "eth0")
	n.ip("-n", space, "link", "set", "eth0", "up")
	return addr
}

// inside is a command that runs on a host.
func (n *network) inside(host string, argv []string) []string {
	return append([]string{"ip", "netns", "exec", n.name(host)}, argv...)
}

func (n *network) plug(i int) {
	n.ip("-n", n.name("switch"), "link", "set", n.port(i), "master", "br0")
	n.ip("-n", n.name("switch"), "link", "set", n.port(i), "up")
}

// cut takes a host off the network; both ends take their link to be good.
func (n *network) cut(host string) {
	n.ip("-n", n.name("switch"), "link", "set", n.portOf(host), "nomaster")
}

// cutBetween has hosts reach everyone but each other. There may be one such
// group at a time.
func (n *network) cutBetween(hosts ...string) {
	for _, host := range hosts {
		n.ip("-n", n.name("switch"), "link", "set", n.portOf(host), "type", "bridge_slave", "isolated", "on")
	}
}

// heal mends all links of a host.
func (n *network) heal(hosts ...string) {
	for _, host := range hosts {
		n.ip("-n", n.name("switch"), "link", "set", n.portOf(host), "master", "br0")
		n.ip("-n", n.name("switch"), "link", "set", n.portOf(host), "type", "bridge_slave", "isolated", "off")
	}
}

func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (n *network) remove() {
	for _, host := range append([]string{"switch"}, n.hosts...) {
		_ = exec.Command("ip", "netns", "del", n.name(host)).Run()
	}
}
