package clustertests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/nimbus/client"
)

// TestFailOver kills each leader in turn: blobs are on the next one, it takes
// submissions, and those that come back follow.
func TestFailOver(t *testing.T) {
	for _, nimbuses := range []int{2, 3} {
		t.Run(fmt.Sprintf("%d nimbuses", nimbuses), func(t *testing.T) { testFailOver(t, nimbuses) })
	}
}

func testFailOver(t *testing.T, nimbuses int) {
	conf := map[string]string{
		"nimbus.monitor.freq.secs": "1", "nimbus.code.sync.freq.secs": "1",
		"topology.min.replication.count": fmt.Sprint(nimbuses), "topology.max.replication.wait.time.sec": "10",
	}
	r := startCluster(t, options{nimbuses: nimbuses, supervisors: 1, slots: 4, conf: conf})
	stop, watched := context.WithCancel(t.Context())
	defer watched()
	claims := r.watchLeaders(stop)
	terms := 1
	defer func() { watched(); r.oneLed(<-claims, terms) }()

	var names []string
	submit := func() {
		name := fmt.Sprint("words", len(names))
		c := r.countWords(name, newText(t, 4))
		c.check()
		names = append(names, name)
	}
	submit()
	for range nimbuses - 1 {
		old := r.leader()
		r.awaitBlobs(3 * len(names))
		old.kill()
		terms++
		next := r.leader()
		if next == old {
			t.Fatalf("%s leads and is dead", old.name)
		}
		// All that was submitted is there, and more can be.
		r.hasTopologies(names)
		jar := r.jarKey(names[0])
		var out strings.Builder
		if _, err := r.client.FetchBlob(t.Context(), jar, &discard{&out}); err != nil {
			t.Errorf("%s of the new leader: %v", jar, err)
		}
		// With a nimbus less there is a copy less to wait for.
		old.start()
		submit()
		await(t, patience, old.name+" is back and follows", func() bool {
			s, ok := r.summary()
			leaders := 0
			for _, n := range s.Nimbuses {
				if n.Leader {
					leaders++
				}
			}
			return ok && len(s.Nimbuses) == nimbuses && leaders == 1
		})
		if now := r.leader(); now != next {
			t.Errorf("%s leads, though %s had not to give it up", now.name, next.name)
		}
	}
	r.awaitBlobs(3 * len(names))
	r.hasTopologies(names)
	if nimbuses == 2 {
		r.thawLeader(names)
		terms++
	}
}

// thawLeader has a leader that was frozen, and has lost its office meanwhile
// without knowing, find a submission as soon as it thaws: it must not act on
// it.
func (r *rig) thawLeader(names []string) {
	t := r.t
	t.Helper()
	s := r.inside()
	old := r.leader()
	if err := syscall.Kill(old.pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw := func() { _ = syscall.Kill(old.pid(), syscall.SIGCONT) }
	defer thaw() // if the test ends before
	var next *daemon
	await(t, patience, "the other nimbus leads", func() bool { next = r.leader(); return next != old })
	x := client.Submission{Name: "x", Conf: `{"topology.min.replication.count": 1}`, Topology: shellTopology(), Inactive: true}
	refused := make(chan error, 1)
	go func() {
		c := client.New(client.Config{Seeds: []string{old.addr()}, Only: true, Patience: -1, ConnectTimeout: patience, CallTimeout: patience})
		defer c.Close()
		refused <- c.Submit(t.Context(), x)
	}()
	if err := r.newClientSubmit(next, x); err != nil {
		t.Errorf("the new leader: %v", err)
	}
	thaw()
	if err := <-refused; err == nil {
		t.Errorf("%s has taken a submission, and does not lead any more", old.name)
	}
	names = append(names, "x")
	slices.Sort(names)
	r.hasTopologies(names)
	if got := r.names(s, "storms"); len(got) != len(names) {
		t.Errorf("in ZooKeeper are the topologies %v, not those of %v", got, names)
	}
	if now := r.leader(); now != next {
		t.Errorf("%s leads, though %s had not to give it up", now.name, next.name)
	}
}

// newClientSubmit submits to a nimbus by a client of its own.
func (r *rig) newClientSubmit(to *daemon, x client.Submission) error {
	c := r.newClient(to)
	defer c.Close()
	return c.Submit(r.t.Context(), x)
}

// discard keeps only the beginning of what is written.
type discard struct{ head *strings.Builder }

// Write implements io.Writer.
func (d *discard) Write(b []byte) (int, error) {
	d.head.Write(b[:min(len(b), max(0, 64-d.head.Len()))])
	return len(b), nil
}

func (r *rig) jarKey(name string) string {
	r.t.Helper()
	s, err := r.client.TopologySummary(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(s.ID) + "-stormjar.jar"
}

func (r *rig) hasTopologies(names []string) {
	r.t.Helper()
	all, err := r.client.Topologies(r.t.Context())
	var have []string
	for _, s := range all {
		have = append(have, s.Name)
	}
	slices.Sort(have)
	if err != nil || !slices.Equal(have, names) {
		r.t.Errorf("the topologies are %v (%v), not %v", have, err, names)
	}
}

// awaitBlobs waits until each nimbus has so many blobs.
func (r *rig) awaitBlobs(n int) {
	r.t.Helper()
	for _, d := range r.nimbus {
		await(r.t, patience, fmt.Sprintf("%s has %d blobs", d.name, n), func() bool {
			have := 0
			for _, file := range d.files("blobs") {
				if strings.HasSuffix(file, ".meta") {
					have++
				}
			}
			return have == n
		})
	}
}

// claim is what a nimbus said of itself.
type claim struct {
	who  string
	from time.Time // asked
	to   time.Time // answered
}

// watchLeaders asks all nimbuses all the time whether they lead.
func (r *rig) watchLeaders(ctx context.Context) <-chan []claim {
	out := make(chan []claim, 1)
	go func() {
		var claims []claim
		again := time.NewTicker(50 * time.Millisecond)
		defer again.Stop()
		for ctx.Err() == nil {
			for _, d := range r.nimbus {
				claims = append(claims, d.claims(ctx)...)
			}
			<-again.C
		}
		out <- claims
	}()
	return out
}

// claims asks a nimbus whether it leads.
func (d *daemon) claims(ctx context.Context) []claim {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	c := client.New(client.Config{Seeds: []string{d.addr()}, Only: true, Patience: -1})
	defer c.Close()
	from := time.Now()
	l, err := c.Leader(ctx)
	if err != nil || l.Port != d.port {
		return nil
	}
	return []claim{{who: d.name, from: from, to: time.Now()}}
}

// oneLed checks that nobody led after another did: once a nimbus has claimed
// to lead, those before it never do so again before they are elected anew.
func (r *rig) oneLed(claims []claim, terms int) {
	r.t.Helper()
	var order []string
	for _, c := range claims {
		if len(order) == 0 || order[len(order)-1] != c.who {
			order = append(order, c.who)
		}
	}
	r.t.Logf("%d answers; they led in this order: %v", len(claims), order)
	if len(order) != terms {
		r.t.Errorf("leaders took turns: %v", order)
	}
}
