package simulation

import (
	"slices"
	"time"

	"github.com/stormring/stormring/sr3/shard"
)

// ringFault is something that can go wrong; it tells whether it did.
type ringFault struct {
	name   string
	weight int
	do     func() bool
}

func (w *ringWorld) faults() []ringFault {
	return []ringFault{
		{"task", 10, w.faultTask},
		{"zombie", 5, w.faultZombie},
		{"node", 10, w.faultNode},
		{"host", 6, w.faultHost},
		{"blackout", 1, w.faultBlackout},
		{"disk", 4, w.faultDisk},
		{"loss", 2, w.faultLoss},
		{"flip", 5, w.faultFlip},
		{"part", 4, w.faultPart},
		{"cut", 3, w.faultCut},
		{"sleep", 4, w.faultSleep},
		{"slow", 4, w.faultSlow},
		{"full", 4, w.faultFull},
		{"jump", 4, w.faultJump},
		{"join", 4, w.faultJoin},
		{"leader", 3, w.faultLeader},
		{"store", 2, w.faultStore},
	}
}

// chaos lets something go wrong every now and then.
func (w *ringWorld) chaos() {
	if w.calm {
		return
	}
	w.goWrong()
	w.after(time.Duration(w.pace)*w.millis(200, 2500), w.chaos)
}

func (w *ringWorld) goWrong() {
	faults, sum := w.faults(), 0
	for _, f := range faults {
		sum += f.weight
	}
	at := w.rng.IntN(sum)
	for _, f := range faults {
		if at -= f.weight; at < 0 {
			if f.do() {
				w.Counts.Faults[f.name]++
			}
			return
		}
	}
}

// moments are what faults are tempted by; most of them are in none of these.
var moments = []string{"prepare", "commit", "repair", "load", "recovery"}

// tempt has something go wrong in the middle of what begins now, one of moments.
func (w *ringWorld) tempt(what string) {
	if w.fault(12) {
		w.note("tempted by a %s", what)
		w.after(w.millis(0, 150), func() {
			if !w.calm {
				w.Counts.Tempted[what]++
				w.goWrong()
			}
		})
	}
}

func (w *ringWorld) anyHost() *ringHost { return w.hosts[w.rng.IntN(len(w.hosts))] }

func (w *ringWorld) faultTask() bool {
	if w.quiet {
		return w.faultJoin()
	}
	w.kill(w.tasks[w.ids[w.rng.IntN(len(w.ids))]], false)
	return true
}

func (w *ringWorld) faultZombie() bool {
	w.kill(w.tasks[w.ids[w.rng.IntN(len(w.ids))]], true)
	return true
}

// faultNode ends a node, which comes back.
func (w *ringWorld) faultNode() bool {
	h := w.anyHost()
	if h.node == nil {
		return false
	}
	w.stopNode(h)
	w.after(w.millis(100, 9000), func() { w.startNode(h) })
	return true
}

// faultHost ends a node and all tasks beside it.
func (w *ringWorld) faultHost() bool {
	h := w.anyHost()
	if h.gone {
		return false
	}
	w.stopHost(h)
	w.after(w.millis(1000, 9000), func() { w.startNode(h) })
	return true
}

// faultBlackout ends everything at once; the disks stay as they are.
func (w *ringWorld) faultBlackout() bool {
	w.note("all lights go out")
	for _, h := range w.hosts {
		if h.gone {
			continue
		}
		w.stopHost(h)
		w.after(w.millis(100, 6000), func() { w.startNode(h) })
	}
	if !w.quiet {
		w.newLeader()
	}
	return true
}

func (w *ringWorld) stopHost(h *ringHost) {
	w.stopNode(h)
	for _, id := range w.ids {
		if t := w.tasks[id]; t.host == h {
			w.kill(t, false)
		}
	}
}

// faultDisk loses all that a node has.
func (w *ringWorld) faultDisk() bool {
	h := w.anyHost()
	if h.gone || !w.mayDestroy(h) {
		return false
	}
	w.stopNode(h)
	w.note("the disk of %s is lost", h.id)
	h.disk = ringDisk{}
	w.truth.destroy(w, h)
	w.after(w.millis(100, 5000), func() { w.startNode(h) })
	return true
}

// faultLoss takes a host away for ever.
func (w *ringWorld) faultLoss() bool {
	h := w.anyHost()
	left := make(map[string]bool)
	for _, o := range w.hosts {
		if !o.gone && o != h {
			left[o.self.Host] = true
		}
	}
	if h.gone || len(left) < w.replicas+2 || !w.mayDestroy(h) {
		return false
	}
	w.stopHost(h)
	w.note("%s is gone for ever", h.id)
	h.gone, h.disk = true, ringDisk{}
	w.truth.destroy(w, h)
	return true
}

// faultFlip turns bits of something stored.
func (w *ringWorld) faultFlip() bool {
	h := w.anyHost()
	if h.gone || len(h.disk.stocks) == 0 || !w.mayDestroy(h) {
		return false
	}
	s := h.disk.stocks[w.rng.IntN(len(h.disk.stocks))]
	flip := func(b []byte) { b[w.rng.IntN(len(b))] ^= 1 << w.rng.IntN(8) }
	n := len(s.copies) + len(s.manifests)
	if n == 0 {
		return false
	}
	for range 1 + w.rng.IntN(3) {
		if i := w.rng.IntN(n); i < len(s.copies) {
			c := s.copies[i]
			if !c.rotten {
				c.rotten, c.intact = true, slices.Clone(c.stored)
			}
			flip(c.stored)
		} else {
			m := s.manifests[i-len(s.copies)]
			if !m.rotten {
				m.rotten, m.intact = true, slices.Clone(m.encoded)
			}
			flip(m.encoded)
		}
	}
	w.note("bits of %v turn at %s", s.owner, h.id)
	w.truth.destroy(w, h)
	return true
}

// faultPart parts the network.
func (w *ringWorld) faultPart() bool {
	if w.parts != nil {
		return false
	}
	w.parts = make([]int, len(w.hosts))
	for i := range w.parts {
		w.parts[i] = min(w.rng.IntN(3), 1)
	}
	w.note("parts %v", w.parts)
	w.after(w.millis(500, 9000), func() {
		w.note("the parts join")
		w.parts = nil
	})
	return true
}

// faultCut cuts one way between two hosts.
func (w *ringWorld) faultCut() bool {
	k := [2]int{w.rng.IntN(len(w.hosts)), w.rng.IntN(len(w.hosts))}
	w.note("cut %v", k)
	w.cut[k] = true
	w.after(w.millis(500, 9000), func() { delete(w.cut, k) })
	return true
}

// faultSleep stops a node for a while.
func (w *ringWorld) faultSleep() bool {
	h := w.anyHost()
	if h.node == nil {
		return false
	}
	h.node.asleep = w.now + w.millis(100, 7000)
	w.note("%s sleeps until %v", h.id, h.node.asleep)
	return true
}

// faultSlow makes a node slow, perhaps until faults end.
func (w *ringWorld) faultSlow() bool {
	h := w.anyHost()
	h.slow = w.millis(5, 5000)
	w.note("%s is slow: %v", h.id, h.slow)
	if !w.chance(3) {
		w.after(w.millis(1000, 10000), func() { h.slow = 0 })
	}
	return true
}

func (w *ringWorld) faultFull() bool {
	h := w.anyHost()
	h.full = true
	w.note("the disk of %s is full", h.id)
	w.after(w.millis(500, 9000), func() { h.full = false })
	return true
}

// faultJump has a keeper's clock jump.
func (w *ringWorld) faultJump() bool {
	h := w.anyHost()
	h.skew += time.Duration(w.rng.Int64N(int64(48*time.Hour))) - 24*time.Hour
	h.jumps = append(h.jumps, w.now)
	w.note("the clock of %s is off by %v", h.id, h.skew)
	return true
}

func (w *ringWorld) faultJoin() bool {
	if len(w.hosts) > 14 {
		return false
	}
	w.startNode(w.addHost())
	return true
}

func (w *ringWorld) faultLeader() bool {
	if w.quiet {
		return false
	}
	w.restartLeader()
	return true
}

func (w *ringWorld) faultStore() bool {
	w.storeAway = true
	w.note("the coordination store is away")
	w.after(w.millis(100, 4000), func() { w.storeAway = false })
	return true
}

// mayDestroy tells whether the host may lose what it has. In survivable worlds
// fewer hosts do than there are copies, until all is whole again.
func (w *ringWorld) mayDestroy(h *ringHost) bool {
	if w.cfg.Brutal {
		return true
	}
	since := w.truth.wholeSince
	copies := w.replicas
	for _, v := range w.truth.open(w) {
		since = min(since, w.truth.starts[v])
		for _, id := range w.ids {
			k := stateKey{id, versionOf(v)}
			if m := w.truth.manifests[k]; m != nil {
				copies = min(copies, fewestHolders(m), w.truth.acks[k])
			}
		}
	}
	lost := w.truth.destroyedSince(since)
	lost[h.index] = true
	return copies-len(lost) >= 1 && !w.loneHolder(h)
}

// loneHolder tells whether the host is the only one so far that took something of a
// version which is being saved: that may come to a good end without others.
func (w *ringWorld) loneHolder(h *ringHost) bool {
	w.saves = slices.DeleteFunc(w.saves, func(s *ringSave) bool { return s.life.ended() || s.manifest != nil })
	for _, s := range w.saves {
		lost := w.truth.destroyedSince(w.truth.starts[s.v])
		for _, p := range s.placing {
			others := slices.ContainsFunc(p.acked, func(id shard.NodeID) bool { return id != h.id && !lost[w.host(id).index] })
			if slices.Contains(p.acked, h.id) && !others {
				return true
			}
		}
	}
	return false
}

// fewestHolders is the least number of copies that any object of m was given.
func fewestHolders(m *shard.Manifest) int {
	n := 1 << 20
	for _, chain := range m.Shards {
		for i := range chain {
			n = min(n, len(chain[i].Holders))
		}
	}
	return n
}

// hush ends checkpoints until faults end, so that what is committed stays the same
// while nodes come and go.
func (w *ringWorld) hush() {
	w.note("no checkpoints from now on")
	w.quiet, w.leader, w.zombie = true, nil, nil
}

// ravage destroys more than can be borne, at once.
func (w *ringWorld) ravage() {
	for range w.replicas + w.rng.IntN(3) {
		w.faultDisk()
	}
	for _, id := range w.ids {
		w.kill(w.tasks[id], false)
	}
}

// soothe ends all faults.
func (w *ringWorld) soothe() {
	w.note("faults end")
	w.calm, w.parts, w.storeAway, w.zombie = true, nil, false, nil
	clear(w.cut)
	for _, h := range w.hosts {
		h.full = false
		if h.slow > 0 && w.chance(3) {
			w.note("%s is slow for ever", h.id)
		} else {
			h.slow = 0
		}
		if h.node != nil {
			h.node.asleep = 0
		}
		w.startNode(h)
	}
}
