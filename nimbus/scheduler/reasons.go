package scheduler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
)

// namedHosts is how many hosts a reason names before it says "and others".
const namedHosts = 5

// count is "1 slot", "2 slots".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// naming is "host a", "hosts a, b".
func naming(what string, names []string) string {
	if len(names) != 1 {
		what += "s"
	}
	rest := ""
	if more := len(names) - namedHosts; more > 0 {
		names, rest = names[:namedHosts], fmt.Sprintf(" and %d more", more)
	}
	return what + " " + strings.Join(names, ", ") + rest
}

// whyNoSlots says how many slots t lacks, and what keeps each supervisor from
// offering one.
func (b *board) whyNoSlots(t *topo, missing int) string {
	return fmt.Sprintf("needs %d more %s: %s", missing, strings.TrimPrefix(count(missing, "slot"), fmt.Sprintf("%d ", missing)), b.obstacles(t))
}

// obstacles sorts the supervisors by what keeps t out of them.
func (b *board) obstacles(t *topo) string {
	if len(b.sups) == 0 {
		return "no supervisor lives"
	}
	full, fit := 0, 0
	groups := map[string][]string{} // hosts by obstacle
	for _, s := range b.sups {
		switch {
		case s.Blacklisted:
			groups["blacklisted"] = append(groups["blacklisted"], s.Host)
		case s.Standing != cluster.Open:
			groups[s.Standing.String()] = append(groups[s.Standing.String()], s.Host)
		case s.pool != b.poolOf(t):
			groups["reserved"] = append(groups["reserved"], s.Host)
		case !s.offers(t):
			groups["unable"] = append(groups["unable"], s.Host)
		case s.free == 0:
			full++
		default:
			fit++
		}
	}
	var parts []string
	if full > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s no free slot", full, count(len(b.sups), "supervisor"), verb(full, "has", "have")))
	}
	if fit > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s free slots", fit, count(len(b.sups), "supervisor"), verb(fit, "has", "have")))
	}
	if t.own != nil {
		if n := len(groups["reserved"]); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s not among its own hosts", n, verb(n, "is", "are")))
		}
		delete(groups, "reserved")
	}
	for _, g := range []struct{ key, text string }{
		{"cordoned", "cordoned"}, {"drained", "drained"}, {"blacklisted", "blacklisted"}, {"reserved", "reserved for an isolated topology"},
		{"unable", "without " + t.Wants},
	} {
		hosts := groups[g.key]
		if len(hosts) == 0 {
			continue
		}
		slices.Sort(hosts)
		parts = append(parts, fmt.Sprintf("%d %s %s (%s)", len(hosts), verb(len(hosts), "is", "are"), g.text, naming("host", slices.Compact(hosts))))
	}
	return strings.Join(parts, ", ")
}

func verb(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// amount is "1024 MB", "50 % CPU", "2 gpu".
func amount(v float64, resource string) string {
	switch resource {
	case cluster.MemoryName:
		return fmt.Sprintf("%g MB", v)
	case cluster.CPUName:
		return fmt.Sprintf("%g %% CPU", v)
	default:
		return fmt.Sprintf("%g %s", v, resource)
	}
}

// whyNoRoom says why executor e of t fits nowhere under the resource aware
// strategy.
func (b *board) whyNoRoom(t *topo, e Executor) string {
	if t.WorkerMaxMB > 0 && e.Need.MemoryMB > t.WorkerMaxMB {
		return fmt.Sprintf("component %q needs %g MB in one slot, a worker of this topology may have %g MB: raise topology.worker.max.heap.size.mb or ask for less", e.Component, e.Need.MemoryMB, t.WorkerMaxMB)
	}
	if n := len(t.workers()); t.MaxWorkers > 0 && n >= t.MaxWorkers {
		return fmt.Sprintf("component %q (%s) does not fit into the %s that the topology may have", e.Component, e.Need, count(t.MaxWorkers, "worker"))
	}
	p := b.poolOf(t)
	if p.slots == 0 {
		return b.whyNoSlots(t, 1)
	}
	// Name the resource that the most is short of, and who has the most of it.
	most := map[string]*sup{}
	lack := ""
	for _, s := range p.sups {
		if s.free == 0 {
			continue
		}
		l := s.left.LacksHard(e.Need)
		if l != cluster.MemoryName {
			lack = max(lack, l)
		}
		for _, name := range []string{cluster.MemoryName, l} {
			if m := most[name]; m == nil || s.left.Get(name) > m.left.Get(name) {
				most[name] = s
			}
		}
	}
	if m := most[cluster.MemoryName]; m.left.MemoryMB < e.Need.MemoryMB || lack == "" {
		lack = cluster.MemoryName
	}
	m := most[lack]
	return fmt.Sprintf("component %q needs %s in one slot, the most any supervisor has free is %s on host %s", e.Component, amount(e.Need.Get(lack), lack), amount(max(m.left.Get(lack), 0), lack), m.Host)
}
