package nimbus

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord/records"
)

// TestRingNodes: all that are registered, while their sessions last; any nimbus tells.
func TestRingNodes(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		m1, m2 := r.start("m1"), r.start("m2")
		session, err := r.server.Open(t.Context(), 30*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		other := records.New(session, "/storm")
		put := func(s *records.Store, id cluster.SupervisorID, addr string) {
			t.Helper()
			if err := s.PutRingNode(t.Context(), id, records.RingNode{Addr: addr, Host: "h", Positions: 32}); err != nil {
				t.Fatal(err)
			}
		}
		put(r.admin, "s1", "h:6629")
		put(other, "s2", "h:6630")
		for _, m := range []*master{m1, m2} {
			if got, err := m.RingNodes(t.Context()); err != nil || fmt.Sprint(got) != "map[s1:h:6629 s2:h:6630]" {
				t.Errorf("got %v, %v", got, err)
			}
		}
		if err := session.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := m1.RingNodes(t.Context()); err != nil || fmt.Sprint(got) != "map[s1:h:6629]" {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestSubmitIsPlacedAtOnce(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700, 6701)
		r.supervisor("b", 6700, 6701)
		m := r.start("n1")
		before := time.Now()
		id := r.submit(m, "words", 2, 4)
		if got, want := show(r.assignment(id)), "a:6700=4 b:6700=3"; got != want {
			t.Errorf("placed %s, want %s", got, want)
		}
		if d := time.Since(before); d != 0 {
			t.Errorf("it took %v", d)
		}
		s, err := m.TopologySummaryByName(t.Context(), "words")
		if err != nil || s.Status != "ACTIVE" || s.Tasks != 7 || s.Executors != 7 || s.Workers != 2 || s.Owner != "ann" || s.SchedStatus != "" {
			t.Errorf("summary %+v, %v", s, err)
		}
		if got, want := string(id), fmt.Sprintf("words-1-%d", before.Unix()); got != want {
			t.Errorf("id %s, want %s", got, want)
		}
		l, err := m.Leader(t.Context())
		if err != nil || l.Host != "n1" || !l.Leader || l.Version != "2.8.8" {
			t.Errorf("leader %+v, %v", l, err)
		}
	})
}

func TestARoundWithoutChangesWritesNothing(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a := r.supervisor("a", 6700, 6701)
		m := r.start("n1")
		r.submit(m, "words", 1, 2)
		a.report(m)
		before := m.opener.writes.Load()
		r.pass(2*time.Minute, a.beat, func() { a.report(m) })
		if got := m.opener.writes.Load() - before; got != 0 {
			t.Errorf("%d writes in two quiet minutes", got)
		}
	})
}

func TestTwentySubmitsOfOneName(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700, 6701)
		m := r.start("n1")
		r.blobs.jars["jar"] = []byte("PK")
		var wg sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			wg.Go(func() {
				errs[i] = m.Submit(t.Context(), Submission{
					Name: "words", JarLocation: "jar", Topology: words(1), Credentials: &cluster.Credentials{Values: map[string]string{"a": "b"}},
				})
			})
		}
		wg.Wait()
		synctest.Wait()
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !errors.Is(err, ErrAlreadyAlive) || !strings.HasPrefix(err.Error(), "words is already alive") {
				t.Errorf("error %v", err)
			}
		}
		keys, _ := r.blobs.Keys(t.Context())
		if won != 1 || len(keys) != 3 {
			t.Errorf("%d won; blobs %v", won, keys)
		}
		if got := r.traces("words"); len(got) != 3 {
			t.Errorf("left %v; want storms, assignments and credentials of one", got)
		}
	})
}

func TestASubmitThatFailsLeavesNothing(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		m := r.start("n1")
		for _, end := range []string{codeEnd, confEnd, jarEnd} {
			r.blobs.failPut = end
			r.blobs.jars["jar"] = []byte("PK")
			err := m.Submit(t.Context(), Submission{
				Name: "words", JarLocation: "jar", Topology: words(1), Credentials: &cluster.Credentials{Values: map[string]string{"a": "b"}},
			})
			if err == nil || !strings.Contains(err.Error(), "disk full") {
				t.Fatalf("error %v", err)
			}
			keys, _ := r.blobs.Keys(t.Context())
			if got := r.traces("words"); len(keys) > 0 || len(got) > 0 {
				t.Errorf("left %v %v", keys, got)
			}
		}
		r.blobs.failPut = ""
		if ok, err := m.NameAllowed(t.Context(), "words"); !ok || err != nil {
			t.Errorf("allowed %v, %v", ok, err)
		}
	})
}

func TestKillOverAChangeOfLeaders(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a := r.supervisor("a", 6700, 6701)
		m1 := r.start("n1")
		m2 := r.start("n2")
		id := r.submit(m1, "words", 1, 1)
		if err := m2.Kill(t.Context(), "words", cluster.KillOptions{}); !errors.Is(err, ErrNotLeader) {
			t.Fatalf("the other took the kill: %v", err)
		}
		start := time.Now()
		if err := m1.Kill(t.Context(), "words", cluster.KillOptions{WaitSecs: new(20)}); err != nil {
			t.Fatal(err)
		}
		if err := m1.Activate(t.Context(), "words"); !errors.Is(err, ErrIllegalState) {
			t.Errorf("activate of a killed one: %v", err)
		}
		if ok, err := m1.NameAllowed(t.Context(), "words"); ok || err != nil {
			t.Errorf("its name is allowed: %v, %v", ok, err)
		}
		r.pass(5*time.Second, a.beat)
		m1.stop()
		synctest.Wait()
		l, err := m2.Leader(t.Context())
		if err != nil || l.Host != "n2" {
			t.Fatalf("leader %+v, %v", l, err)
		}
		s, err := m2.TopologySummary(t.Context(), id)
		if err != nil || s.Status != "KILLED" {
			t.Fatalf("%+v, %v", s, err)
		}
		r.pass(time.Until(start.Add(19*time.Second)), a.beat)
		if len(r.assignment(id)) == 0 {
			t.Error("it was removed too early")
		}
		r.pass(2*time.Second, a.beat)
		if _, err := m2.TopologySummary(t.Context(), id); !errors.Is(err, ErrNotAlive) || err.Error() != string(id)+" is not alive" {
			t.Errorf("it is still there: %v", err)
		}
		if got := r.traces("words"); len(got) != 1 || !strings.HasPrefix(got[0], "/storm/stormring/lifecycle/") {
			t.Errorf("left %v", got)
		}
		keys, _ := r.blobs.Keys(t.Context())
		if len(keys) != 2 {
			t.Errorf("blobs %v", keys)
		}
		if ok, err := m2.NameAllowed(t.Context(), "words"); !ok || err != nil {
			t.Errorf("its name is not free: %v", err)
		}
		r.pass(301*time.Second, a.beat)
		keys, _ = r.blobs.Keys(t.Context())
		if got := r.traces("words"); len(got) != 0 || len(keys) != 0 {
			t.Errorf("left %v %v", got, keys)
		}
	})
}

func TestRebalance(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700, 6701)
		r.supervisor("b", 6700, 6701)
		m := r.start("n1")
		id := r.submit(m, "words", 1, 4)
		if got, want := show(r.assignment(id)), "a:6700=6"; got != want {
			t.Fatalf("placed %s, want %s", got, want)
		}
		text, err := m.PlanRebalance(t.Context(), "words", cluster.RebalanceOptions{Workers: new(2)})
		if err != nil || !strings.Contains(text, "2 workers") {
			t.Errorf("plan %q, %v", text, err)
		}
		for _, c := range []struct {
			o    cluster.RebalanceOptions
			want string
		}{
			{cluster.RebalanceOptions{Executors: map[string]int{"nope": 1}}, `"nope"`},
			{cluster.RebalanceOptions{Executors: map[string]int{"count": 0}}, `"count"`},
			{cluster.RebalanceOptions{Workers: new(0)}, "0 workers"},
			{cluster.RebalanceOptions{Conf: `{"topology.debug": 3}`}, "topology.debug"},
		} {
			if err := m.Rebalance(t.Context(), "words", c.o); !errors.Is(err, ErrInvalidTopology) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v", c.o, err)
			}
		}
		err = m.Rebalance(t.Context(), "words", cluster.RebalanceOptions{
			WaitSecs: new(3), Workers: new(3), Executors: map[string]int{"count": 2}, Conf: `{"topology.debug": true, "topology.submitter.user": "eve"}`,
			Resources: map[string]map[string]float64{"count": {"topology.component.cpu.pcore.percent": 55}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if s, _ := m.TopologySummary(t.Context(), id); s.Status != "REBALANCING" {
			t.Errorf("status %s", s.Status)
		}
		r.pass(4 * time.Second)
		if got, want := show(r.assignment(id)), "a:6700=2 a:6701=1 b:6700=1"; got != want {
			t.Errorf("placed %s, want %s", got, want)
		}
		s, err := m.TopologySummary(t.Context(), id)
		if err != nil || s.Status != "ACTIVE" || s.Executors != 4 || s.Tasks != 6 || s.Workers != 3 {
			t.Errorf("%+v, %v", s, err)
		}
		if got := s.Resources.Requested.CPU; got != 2*55+10+10 {
			t.Errorf("CPU requested is %g", got)
		}
		text, err = m.TopologyConf(t.Context(), id)
		if err != nil || !strings.Contains(text, `"topology.debug":true`) || !strings.Contains(text, `"nimbus.seeds":["localhost"]`) || !strings.Contains(text, `"topology.workers":3`) || strings.Contains(text, `"eve"`) {
			t.Errorf("conf %s, %v", text, err)
		}
		if got := r.traces("words"); len(got) != 2 {
			t.Errorf("left %v", got)
		}
	})
}

func TestDeactivatedStaysSoOverARebalance(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700)
		m := r.start("n1")
		id := r.submit(m, "words", 1, 1)
		if err := m.Deactivate(t.Context(), "words"); err != nil {
			t.Fatal(err)
		}
		if err := m.Rebalance(t.Context(), "words", cluster.RebalanceOptions{WaitSecs: new(1)}); err != nil {
			t.Fatal(err)
		}
		r.pass(2 * time.Second)
		if s, _ := m.TopologySummary(t.Context(), id); s.Status != "INACTIVE" {
			t.Errorf("status %s", s.Status)
		}
		if err := m.Activate(t.Context(), "words"); err != nil {
			t.Fatal(err)
		}
		if b, _, _ := r.admin.Base(t.Context(), id); b.Status != cluster.StatusActive {
			t.Errorf("status %v", b.Status)
		}
		if err := m.Activate(t.Context(), "nobody"); !errors.Is(err, ErrNotAlive) || err.Error() != "nobody is not alive" {
			t.Errorf("error %v", err)
		}
	})
}
