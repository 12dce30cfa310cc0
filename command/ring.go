package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/sr3/inquiry"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/storm"
)

// ringFlags are those of commands that ask the ring.
type ringFlags struct {
	clusterFlags
	nodes  []string
	asJSON bool
}

const aboutNodes = `

The ring is found through nimbus, to which the nodes of supervisors are known. With
--node nimbus is not asked; one node of the ring is enough.`

func (v *verbs) ringVerb(f *ringFlags, use, short, long string) *cobra.Command {
	cmd := verb(&f.clusterFlags, use, short, long+aboutNodes)
	cmd.Flags().StringSliceVar(&f.nodes, "node", nil, "begin with these nodes of the ring, as `HOST:PORT,…`")
	flagJSON(cmd, &f.asJSON)
	completeNothing(cmd, "node")
	return cmd
}

// ring is the command `ring`.
func (v *verbs) ring() *cobra.Command {
	var f ringFlags
	cmd := v.ringVerb(&f, "ring", "Show the ring that keeps the state", `Show the nodes of the ring, what they keep, and which copies are missing. It
succeeds if any node answers, and names those that do not.`)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return v.askRing(cmd, &f, func(ctx context.Context, a asked) error {
			r, err := a.Ring(ctx)
			if err != nil {
				return fmt.Errorf("ring: %w", err)
			}
			if f.asJSON {
				return v.printJSON(r)
			}
			fmt.Fprint(v.stdout, r.Text())
			return nil
		})
	}
	cmd.AddCommand(v.ringLookup())
	return cmd
}

// ringLookup is the command `ring lookup`.
func (v *verbs) ringLookup() *cobra.Command {
	var f ringFlags
	var owner string
	cmd := v.ringVerb(&f, "lookup [KEY]", "Show the way to a key of the ring", `Show which nodes are asked on the way to a key, and which follow it. KEY is a
position, as 0x and up to 16 digits, or else a text, whose position is looked
up. With --owner it is a key of that task's state, and where its copies are is
shown too; without KEY then where the task's manifests are.`)
	cmd.Args = takes(0, 1, "")
	cmd.Flags().StringVar(&owner, "owner", "", "look up state of a task, as `TOPOLOGY/COMPONENT/TASK`")
	completeNothing(cmd, "owner")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && owner == "" {
			return usagef("which key? see %s --help", cmd.CommandPath())
		}
		var o shard.Owner
		if owner != "" {
			var err error
			if o, err = parseOwner(owner); err != nil {
				return err
			}
		}
		return v.askRing(cmd, &f, func(ctx context.Context, a asked) error { return v.lookup(ctx, a, args, o, f.asJSON) })
	}
	return cmd
}

// parseOwner reads topology/component/task.
func parseOwner(text string) (shard.Owner, error) {
	topology, rest, _ := strings.Cut(text, "/")
	i := strings.LastIndex(rest, "/")
	if topology == "" || i < 1 {
		return shard.Owner{}, usagef("--owner is %q; write it as TOPOLOGY/COMPONENT/TASK", text)
	}
	task, err := strconv.ParseInt(rest[i+1:], 10, 32)
	if err != nil {
		return shard.Owner{}, usagef("--owner is %q; its task %q is no number", text, rest[i+1:])
	}
	return shard.Owner{Topology: topology, Component: rest[:i], Task: int32(task)}, nil
}

func (v *verbs) lookup(ctx context.Context, a asked, args []string, o shard.Owner, asJSON bool) error {
	key, of := uint64(0), ""
	if o.Topology != "" {
		id, err := a.topology(ctx, o.Topology)
		if err != nil {
			return fmt.Errorf("ring lookup: %w", err)
		}
		o.Topology = string(id)
		key, of = o.Hash(), "manifests of "+o.String()
	} else if hex, ok := strings.CutPrefix(args[0], "0x"); ok {
		var err error
		if key, err = strconv.ParseUint(hex, 16, 64); err != nil {
			return usagef("position %q: write it as 0x and 1 to 16 hexadecimal digits", args[0])
		}
		of = "a position"
	} else {
		key, of = ring.Key([]byte(args[0])), strconv.Quote(args[0])
	}
	look := func() (string, any, error) {
		l, err := a.Lookup(ctx, key, of)
		return l.Text(), l, err
	}
	if o.Topology != "" && len(args) > 0 {
		look = func() (string, any, error) {
			l, err := a.LookupState(ctx, o, args[0])
			return l.Text(), l, err
		}
	}
	text, l, err := look()
	switch {
	case err != nil:
		return fmt.Errorf("ring lookup: %w", err)
	case asJSON:
		return v.printJSON(l)
	}
	fmt.Fprint(v.stdout, text)
	return nil
}

// asked is the ring, and the nimbus through which it was found.
type asked struct {
	*inquiry.Inquiry
	conf   *conf.Conf
	set    storm.Config // of conf, what the command line sets
	leader leader       // nil if nodes were named
}

// askRing finds the ring and asks it.
func (v *verbs) askRing(cmd *cobra.Command, f *ringFlags, do func(ctx context.Context, a asked) error) error {
	c, set, err := f.load()
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("node") {
		nodes, err := nodeAddrs(f.nodes, c.Int(conf.Sr3Port))
		if err != nil {
			return err
		}
		ctx := cmd.Context()
		err = withRing(nodes, asked{conf: c, set: set}, func(a asked) error { return do(ctx, a) })
		if err != nil && ctx.Err() != nil && !errors.Is(err, errInterrupted) {
			v.say("interrupted: %s", oneLine(err))
			return errInterrupted
		}
		return err
	}
	return v.askAt(cmd.Context(), c, func(ctx context.Context, n leader) error {
		nodes, err := supervisorNodes(ctx, n, c.Int(conf.Sr3Port))
		if err != nil {
			return fmt.Errorf("%s: %w", cmd.Name(), err)
		}
		return withRing(nodes, asked{conf: c, set: set, leader: n}, func(a asked) error { return do(ctx, a) })
	})
}

func withRing(nodes []string, a asked, do func(asked) error) error {
	q, err := inquiry.Open(inquiry.Config{Nodes: nodes})
	if err != nil {
		return err
	}
	defer q.Close()
	a.Inquiry = q
	return do(a)
}

// nodeAddrs completes the addresses on a command line.
func nodeAddrs(nodes []string, port int) ([]string, error) {
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	var addrs []string
	for _, n := range nodes {
		if _, _, err := net.SplitHostPort(n); err == nil {
			addrs = append(addrs, n)
			continue
		}
		if n == "" || port == 0 {
			return nil, usagef("--node %q: write it as HOST:PORT", n)
		}
		addrs = append(addrs, net.JoinHostPort(strings.Trim(n, "[]"), strconv.Itoa(port)))
	}
	return addrs, nil
}

// supervisorNodes are the addresses of the nodes in all supervisors. A nimbus of an
// older release does not tell them: then they are taken to be at their usual port.
func supervisorNodes(ctx context.Context, n leader, port int) ([]string, error) {
	nodes, err := n.RingNodes(ctx)
	if err != nil && !errors.Is(err, client.ErrUnknownCall) {
		return nil, err
	}
	addrs := slices.Collect(maps.Values(nodes))
	if len(addrs) == 0 {
		if addrs, err = usualNodes(ctx, n, port); err != nil {
			return nil, err
		}
	}
	slices.Sort(addrs)
	return slices.Compact(addrs), nil
}

// usualNodes are where the nodes of supervisors are if nobody says otherwise.
func usualNodes(ctx context.Context, n leader, port int) (addrs []string, err error) {
	s, err := n.ClusterSummary(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(s.Supervisors) == 0:
		return nil, errors.New("the cluster has no supervisors, so there is no ring")
	case port == 0:
		return nil, fmt.Errorf("nimbus knows no node of the ring, and %s is 0, so that they may be at any port: name one with --node HOST:PORT", conf.Sr3Port)
	}
	for _, one := range s.Supervisors {
		addrs = append(addrs, net.JoinHostPort(one.Host, strconv.Itoa(port)))
	}
	return addrs, nil
}

// topology is the id of a topology that is given by its name or its id: as nimbus
// knows it or, if that is not asked, the ring.
func (a *asked) topology(ctx context.Context, name string) (cluster.TopologyID, error) {
	var ids []cluster.TopologyID
	if a.leader != nil {
		all, err := a.leader.Topologies(ctx)
		if err != nil {
			return "", err
		}
		for _, t := range all {
			ids = append(ids, t.ID)
		}
	} else {
		r, err := a.Ring(ctx)
		if err != nil {
			return "", err
		}
		for _, id := range r.Topologies() {
			ids = append(ids, cluster.TopologyID(id))
		}
	}
	var found cluster.TopologyID
	for _, id := range ids {
		switch {
		case string(id) == name:
			return id, nil
		case id.Name() == name && (found == "" || since(id) > since(found)):
			found = id
		}
	}
	if found != "" {
		return found, nil
	}
	if a.leader != nil {
		return "", fmt.Errorf("there is no topology %q; there are %s", name, listIDs(ids))
	}
	return "", fmt.Errorf("the ring has no state of topology %q; it has that of %s", name, listIDs(ids))
}

// since is when a topology was submitted, in unix seconds, as its id has it.
func since(id cluster.TopologyID) int64 {
	n, _ := strconv.ParseInt(string(id[strings.LastIndex(string(id), "-")+1:]), 10, 64)
	return n
}

func listIDs(ids []cluster.TopologyID) string {
	var names []string
	for _, id := range ids {
		names = append(names, string(id))
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
