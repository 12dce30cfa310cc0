package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
)

// machine is a host with its supervisors.
type machine struct {
	name   string
	sups   []*sup
	owner  *topo
	slots  int // that may hold workers of whom the host is given to
	mine   int // executors of the topology that asks
	others int // workers of others
}

// isolate gives the topologies that want hosts for themselves those hosts, and
// sends everybody else away from there. A topology prefers hosts where it runs,
// then hosts where nobody does, then those with most slots. If there are too
// few it takes what there is: running in a narrow place beats not running.
func (b *board) isolate() {
	var machines []*machine
	for _, t := range b.topos {
		if t.Machines <= 0 || t.frozen() {
			continue
		}
		if machines == nil {
			machines = b.machines()
		}
		got := 0
		for _, m := range b.candidates(t, machines) {
			if got == t.Machines {
				break
			}
			m.owner = t
			got++
		}
		b.reserve(t, machines)
		if got < t.Machines {
			t.notes = append(t.notes, fmt.Sprintf("has %d of %s of its own: %s", got, count(t.Machines, "machine"), whyNoMachines(machines, t)))
		}
	}
	if machines != nil {
		b.evacuate()
	}
}

func (b *board) machines() []*machine {
	byName := map[string]*machine{}
	for _, s := range b.sups {
		m := byName[s.Host]
		if m == nil {
			m = &machine{name: s.Host}
			byName[s.Host] = m
		}
		m.sups = append(m.sups, s)
		if s.takes() {
			for _, shut := range s.shut {
				if !shut {
					m.slots++
				}
			}
		}
	}
	out := slices.Collect(maps.Values(byName))
	slices.SortFunc(out, func(x, y *machine) int { return cmp.Compare(x.name, y.name) })
	return out
}

// candidates are the hosts that t may have, best first.
func (b *board) candidates(t *topo, machines []*machine) []*machine {
	hosting := map[*sup]int{}
	for _, r := range t.at {
		if r != nowhere {
			hosting[b.sups[r.sup]]++
		}
	}
	var out []*machine
	for _, m := range machines {
		if m.owner != nil {
			continue
		}
		m.mine, m.others = 0, 0
		stays := false
		for _, s := range m.sups {
			stays = stays || hosting[s] > 0
			if s.Standing != cluster.Drained {
				m.mine += hosting[s]
			}
			for _, h := range s.holder {
				if h != nil && h != t {
					m.others++
				}
			}
		}
		if m.slots > 0 || stays {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(x, y *machine) int {
		return cmp.Or(cmp.Compare(y.mine, x.mine), cmp.Compare(x.others, y.others), cmp.Compare(y.slots, x.slots))
	})
	return out
}

// reserve makes t's hosts its pool.
func (b *board) reserve(t *topo, machines []*machine) {
	var own []*sup
	for _, m := range machines {
		if m.owner == t {
			own = append(own, m.sups...)
		}
	}
	slices.SortFunc(own, func(x, y *sup) int { return cmp.Compare(x.index, y.index) })
	for _, s := range own {
		s.owner = t
	}
	t.own = newPool(b, own)
}

// evacuate frees workers that are where they may not be any more.
func (b *board) evacuate() {
	for _, t := range b.topos {
		if t.frozen() {
			continue
		}
		for _, w := range t.workers() {
			s := b.sups[w.ref.sup]
			switch {
			case s.owner != nil && s.owner != t:
				b.vacate(t, w, fmt.Sprintf("host %s is now for %s alone", s.Host, s.owner.ID))
			case t.own != nil && s.owner == nil:
				b.vacate(t, w, fmt.Sprintf("host %s is not among its own", s.Host))
			}
		}
	}
}

func whyNoMachines(machines []*machine, t *topo) string {
	taken, useless := 0, 0
	for _, m := range machines {
		switch {
		case m.owner != nil && m.owner != t:
			taken++
		case m.owner == nil:
			useless++
		}
	}
	return fmt.Sprintf("of %s, %d %s to other isolated topologies and %d %s no usable slot (cordoned, drained, blacklisted or dead)",
		count(len(machines), "host"), taken, verb(taken, "belongs", "belong"), useless, verb(useless, "has", "have"))
}
