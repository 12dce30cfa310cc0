package recovery

import (
	"context"
	"fmt"
	"slices"
)

// build makes the hosts, whose links have no limits yet.
func (t *trial) build(ctx context.Context) error {
	n, site := t.lab.net, ""
	if t.Shared > 0 {
		site = "far"
		if err := n.addSite(ctx, site); err != nil {
			return err
		}
	}
	for _, name := range append(t.holders(), "saver") {
		if err := n.addHost(ctx, name, site); err != nil {
			return err
		}
	}
	for _, name := range append(t.receivers(), "store") {
		if err := n.addHost(ctx, name, ""); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) rack(i int) string {
	switch {
	case t.Racks > 0:
		return fmt.Sprintf("rack%d", i/t.perRack()+1)
	case t.Shared > 0:
		return "far"
	}
	return ""
}

// up starts some of the holders.
func (t *trial) up(ctx context.Context, hosts ...string) error {
	for i, name := range t.holders() {
		if slices.Contains(hosts, name) {
			if err := t.lab.node(ctx, name, t.rack(i)); err != nil {
				return err
			}
		}
	}
	return t.lab.join(ctx)
}

// fill starts the holders and saves the states.
func (t *trial) fill(ctx context.Context) error {
	hosts := t.holders()
	parts := [][]string{hosts}
	if t.Scattered {
		parts = slices.Collect(slices.Chunk(hosts, len(hosts)/(t.Deltas+1)))
	}
	if err := t.up(ctx, parts[0]...); err != nil {
		return err
	}
	w, err := t.lab.worker(ctx, "saver", slices.Concat(parts[1:]...)...)
	if err != nil {
		return err
	}
	defer w.kill()
	owners := len(t.receivers())
	t.say("saving")
	for task := range owners {
		s := state{Task: int32(task + 1), Bytes: int64(t.mib) << 20, Seed: 1}
		a, err := w.ask(request{Fill: &fillRequest{state: s, Version: 1, Share: 1, Replicas: t.Replicas, ShardKiB: t.ShardKiB}}, nil)
		if err != nil {
			return err
		}
		t.states = append(t.states, saved{state: s, version: 1, digest: a.Digest, stored: a.Stored})
	}
	if err := t.fillDeltas(ctx, w, parts); err != nil {
		return err
	}
	if t.Redis {
		if t.store, err = t.lab.redis(ctx, "store"); err != nil {
			return err
		}
		s := t.states[0]
		if _, err := w.ask(request{Store: &storeRequest{state: s.state, Addr: t.store, Put: true}}, nil); err != nil {
			return err
		}
	}
	return nil
}

// shape limits all links.
func (t *trial) shape(ctx context.Context) error {
	for i, name := range t.holders() {
		if err := t.lab.net.shape(ctx, name, t.link(i)); err != nil {
			return err
		}
	}
	for _, name := range t.receivers() {
		if err := t.lab.net.shape(ctx, name, t.Receiver); err != nil {
			return err
		}
	}
	if t.Shared > 0 {
		if err := t.lab.net.shapeSite(ctx, "far", t.Shared); err != nil {
			return err
		}
	}
	return t.lab.net.shape(ctx, "store", t.Link)
}

// fillDeltas saves the versions after the first, each by another part of the
// holders if there are several.
func (t *trial) fillDeltas(ctx context.Context, w *child, parts [][]string) error {
	for version := int64(2); version < int64(t.Deltas)+2; version++ {
		if len(parts) > 1 {
			for _, name := range parts[version-2] {
				t.lab.kill(name)
			}
			if err := t.up(ctx, parts[version-1]...); err != nil {
				return err
			}
		}
		for i := range t.states {
			s := &t.states[i]
			a, err := w.ask(request{Fill: &fillRequest{state: s.state, Version: version, Share: t.Share, Replicas: t.Replicas}}, nil)
			if err != nil {
				return err
			}
			s.version, s.digest = version, a.Digest
		}
	}
	var rest []string
	for _, name := range t.holders() {
		if n := t.lab.nodes[name]; n.child == nil {
			rest = append(rest, name)
		}
	}
	return t.up(ctx, rest...)
}
