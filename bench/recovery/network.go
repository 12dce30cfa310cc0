package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Link is what goes in and out of a host, in Mbit/s; 0 is no limit.
type Link struct {
	Up   int `json:"up"`
	Down int `json:"down"`
}

// network are hosts: namespaces with one link each into a switch. The names of
// all namespaces begin with prefix.
type network struct {
	prefix string
	hosts  map[string]*host
	sites  map[string]bool
}

// host is one namespace.
type host struct {
	name, space, addr string
	port              string // the switch's end of its link
}

// Prefix is what the names of this program's namespaces begin with; the number of
// its process follows.
const Prefix = "sr3lab"

// newNetwork makes the switch.
func newNetwork(ctx context.Context) (*network, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the lab makes network namespaces and shapes links, which only root may do: run it as root")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("the lab needs %s of iproute2: %w", tool, err)
		}
	}
	n := &network{prefix: fmt.Sprintf("%s%d-", Prefix, os.Getpid()), hosts: make(map[string]*host), sites: make(map[string]bool)}
	n.close() // what an earlier process of the same number left
	if err := run(ctx, "ip", "netns", "add", n.sw()); err != nil {
		return nil, err
	}
	return n, n.bridge(ctx, "")
}

func (n *network) sw() string { return n.prefix + "switch" }

// bridge makes the part of the switch that a site has, "" being the middle.
func (n *network) bridge(ctx context.Context, site string) error {
	return errors.Join(
		run(ctx, "ip", "-n", n.sw(), "link", "add", "br-"+site, "type", "bridge"),
		run(ctx, "ip", "-n", n.sw(), "link", "set", "br-"+site, "up"))
}

// addSite puts a site behind a path to the middle that all its hosts share.
func (n *network) addSite(ctx context.Context, site string) error {
	n.sites[site] = true
	sw := n.sw()
	return errors.Join(
		n.bridge(ctx, site),
		run(ctx, "ip", "-n", sw, "link", "add", "out-"+site, "type", "veth", "peer", "name", "in-"+site),
		run(ctx, "ip", "-n", sw, "link", "set", "out-"+site, "master", "br-"+site, "up"),
		run(ctx, "ip", "-n", sw, "link", "set", "in-"+site, "master", "br-", "up"))
}

// addHost makes a host at a site, "" being the middle.
func (n *network) addHost(ctx context.Context, name, site string) error {
	i := len(n.hosts) + 1
	h := &host{name: name, space: n.prefix + name, addr: fmt.Sprintf("10.77.%d.%d", i/250, i%250+1), port: fmt.Sprintf("p%d", i)}
	n.hosts[name] = h
	return errors.Join(
		run(ctx, "ip", "netns", "add", h.space),
		run(ctx, "ip", "-n", h.space, "link", "set", "lo", "up"),
		run(ctx, "ip", "link", "add", h.port, "netns", n.sw(), "type", "veth", "peer", "name", "eth0", "netns", h.space),
		run(ctx, "ip", "-n", n.sw(), "link", "set", h.port, "master", "br-"+site, "up"),
		run(ctx, "ip", "-n", h.space, "addr", "add", h.addr+"/16", "dev", "eth0"),
		run(ctx, "ip", "-n", h.space, "link", "set", "eth0", "up"))
}

// shape sets the rates of a host's link.
func (n *network) shape(ctx context.Context, name string, l Link) error {
	h := n.hosts[name]
	return errors.Join(limit(ctx, h.space, "eth0", l.Up), limit(ctx, n.sw(), h.port, l.Down))
}

// shapeSite sets the rate of a site's shared path, both ways.
func (n *network) shapeSite(ctx context.Context, site string, mbit int) error {
	return errors.Join(limit(ctx, n.sw(), "in-"+site, mbit), limit(ctx, n.sw(), "out-"+site, mbit))
}

// limit bounds what a device sends. The burst must be above the largest packet
// that the kernel hands on, and is small, since it is a free start.
func limit(ctx context.Context, space, device string, mbit int) error {
	if mbit == 0 {
		// There may have been no limit.
		_ = run(ctx, "tc", "-n", space, "qdisc", "del", "dev", device, "root")
		return nil
	}
	return run(ctx, "tc", "-n", space, "qdisc", "replace", "dev", device, "root", "tbf",
		"rate", fmt.Sprintf("%dmbit", mbit), "burst", "128kb", "latency", "50ms")
}

// unplug takes a host's link down, so that it is silent; plug undoes that.
func (n *network) unplug(ctx context.Context, name string) error {
	return run(ctx, "ip", "-n", n.sw(), "link", "set", n.hosts[name].port, "down")
}

func (n *network) plug(ctx context.Context, name string) error {
	return run(ctx, "ip", "-n", n.sw(), "link", "set", n.hosts[name].port, "up")
}

// in is what starts a process on a host.
func (n *network) in(name string) []string {
	return []string{"ip", "netns", "exec", n.hosts[name].space}
}

// close takes all namespaces away, with the processes in them.
func (n *network) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	list, err := exec.CommandContext(ctx, "ip", "netns", "list").Output()
	if err != nil {
		return
	}
	for line := range strings.Lines(string(list)) {
		space, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !strings.HasPrefix(space, n.prefix) {
			continue
		}
		pids, _ := exec.CommandContext(ctx, "ip", "netns", "pids", space).Output() // none is fine
		if list := strings.Fields(string(pids)); len(list) > 0 {
			_ = run(ctx, "kill", slices.Concat([]string{"-9"}, list)...) // they may have ended
		}
		_ = run(ctx, "ip", "netns", "del", space) // the script that runs this looks again
	}
}

// run runs a command; the error has what it said.
func run(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
