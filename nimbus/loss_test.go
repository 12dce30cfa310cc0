package nimbus

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
)

func TestALostSupervisorMovesOnlyItsExecutors(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a, b := r.supervisor("a", 6700, 6701), r.supervisor("b", 6700, 6701)
		m := r.start("n1")
		id := r.submit(m, "words", 2, 4)
		a.report(m)
		b.report(m)
		before := r.assignment(id)
		lostAt := time.Now()
		b.close()
		for !time.Now().After(lostAt.Add(60 * time.Second)) {
			a.beat()
			a.report(m)
			if !r.assignment(id).Equal(before) {
				t.Fatalf("moved after %v", time.Since(lostAt))
			}
			r.pass(time.Second)
		}
		r.pass(2*time.Second, a.beat)
		after := r.assignment(id)
		if got, want := show(after), "a:6700=4 a:6701=3"; got != want {
			t.Errorf("placed %s, want %s", got, want)
		}
		for _, p := range before {
			q, ok := after.Find(p.Executor)
			if !ok || p.Slot.Supervisor == "a" && p != q {
				t.Errorf("%v was moved to %v, %v", p, q, ok)
			}
		}
	})
}

func TestARestartOfASupervisorMovesNothing(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a, b := r.supervisor("a", 6700, 6701), r.supervisor("b", 6700, 6701)
		m := r.start("n1")
		id := r.submit(m, "words", 2, 4)
		b.report(m)
		before := r.assignment(id)
		b.close()
		r.pass(50*time.Second, a.beat, func() { a.report(m) })
		// While it is away it gets nothing new.
		other := r.submit(m, "more", 2, 2)
		if got, want := show(r.assignment(other)), "a:6701=5"; got != want {
			t.Errorf("placed %s, want %s", got, want)
		}
		b.open()
		r.pass(40*time.Second, a.beat, b.beat, func() { a.report(m); b.report(m) })
		if !r.assignment(id).Equal(before) {
			t.Errorf("moved from %s to %s", show(before), show(r.assignment(id)))
		}
	})
}

func TestASilentExecutorIsPlacedAnew(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a, b := r.supervisor("a", 6700), r.supervisor("b", 6700)
		m := r.start("n1")
		id := r.submit(m, "words", 1, 1)
		slot := r.assignment(id)[0].Slot
		if slot.Supervisor != "a" {
			t.Fatalf("on %v", slot)
		}
		a.report(m)
		silent := func() {
			a.beat()
			if err := m.Report(t.Context(), cluster.SupervisorReport{Supervisor: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		silent()
		r.pass(30*time.Second, silent, b.beat)
		if got := show(r.assignment(id)); got != "a:6700=3" {
			t.Fatalf("moved to %s too early", got)
		}
		r.pass(2*time.Second, silent, b.beat)
		if got := show(r.assignment(id)); got != "b:6700=3" {
			t.Errorf("it is on %s", got)
		}
	})
}

func TestALostSessionComesBack(t *testing.T) {
	for name, fault := range map[string]func(*rig, coord.Session){
		"expired": func(r *rig, s coord.Session) { r.server.Expire(s.ID()) },
		"cut":     func(r *rig, s coord.Session) { r.server.Cut(s.ID()) },
	} {
		t.Run(name, func(t *testing.T) {
			inRig(t, func(t *testing.T, r *rig) {
				a := r.supervisor("a", 6700, 6701)
				m := r.start("n1")
				id := r.submit(m, "words", 1, 1)
				before := r.assignment(id)
				old := m.opener.session()
				fault(r, old)
				r.pass(40*time.Second, a.beat)
				if m.opener.session() == old {
					t.Fatal("it has no new session")
				}
				if l, err := m.Leader(t.Context()); err != nil || !l.Leader {
					t.Fatalf("%+v, %v", l, err)
				}
				if !r.assignment(id).Equal(before) {
					t.Error("something moved")
				}
				r.submit(m, "more", 1, 1)
				r.server.Heal(old.ID())
				synctest.Wait()
			})
		})
	}
}

func TestAShortCutKeepsTheSession(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a := r.supervisor("a", 6700, 6701)
		m := r.start("n1")
		id := r.submit(m, "words", 1, 1)
		before := r.assignment(id)
		old := m.opener.session()
		r.server.Cut(old.ID())
		r.pass(12*time.Second, a.beat)
		if err := m.Kill(t.Context(), "words", cluster.KillOptions{}); err == nil {
			t.Fatal("it took a kill while it was cut off")
		}
		r.server.Heal(old.ID())
		r.pass(time.Second, a.beat)
		if l, err := m.Leader(t.Context()); err != nil || !l.Leader || m.opener.session() != old {
			t.Fatalf("%+v, %v", l, err)
		}
		if !r.assignment(id).Equal(before) {
			t.Error("something moved")
		}
		r.submit(m, "more", 1, 1)
	})
}

func TestTheOtherTakesOver(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a := r.supervisor("a", 6700, 6701)
		m1, m2 := r.start("n1"), r.start("n2")
		id := r.submit(m1, "words", 1, 1)
		before := r.assignment(id)
		r.server.Cut(m1.opener.session().ID())
		r.pass(25*time.Second, a.beat)
		l, err := m2.Leader(t.Context())
		if err != nil || l.Host != "n2" {
			t.Fatalf("leader %+v, %v", l, err)
		}
		if err := m1.Kill(t.Context(), "words", cluster.KillOptions{}); !errors.Is(err, ErrNotLeader) {
			t.Errorf("the old one took a kill: %v", err)
		}
		if !r.assignment(id).Equal(before) {
			t.Error("something moved")
		}
		r.submit(m2, "more", 1, 1)
		c, err := m1.ClusterSummary(t.Context())
		if err != nil || len(c.Topologies) != 2 || len(c.Nimbuses) != 2 || c.Nimbuses[0].Leader || !c.Nimbuses[1].Leader || len(c.Supervisors) != 1 || c.Supervisors[0].UsedWorkers != 2 {
			t.Errorf("%+v, %v", c, err)
		}
		l, err = m1.Leader(t.Context())
		if err != nil || l.Host != "n2" || !l.Leader {
			t.Errorf("it names %+v, %v", l, err)
		}
	})
}

func TestABrokenTopologyStopsNothingElse(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a := r.supervisor("a", 6700, 6701, 6702, 6703)
		m := r.start("n1")
		lost := r.submit(m, "lost", 1, 1)
		torn := r.submit(m, "torn", 1, 1)
		odd := r.submit(m, "odd", 1, 1)
		was := r.assignment(lost)
		_ = r.blobs.Delete(t.Context(), string(lost)+codeEnd)
		if _, err := r.blobs.Put(t.Context(), string(odd)+codeEnd, "", bytes.NewReader([]byte("garbage"))); err != nil {
			t.Fatal(err)
		}
		if _, err := r.admin.Session().Set(t.Context(), "/storm/storms/"+string(torn), []byte("garbage"), coord.AnyVersion); err != nil {
			t.Fatal(err)
		}
		m.stop()
		m = r.start("n2")
		good := r.submit(m, "good", 1, 1)
		r.pass(30*time.Second, a.beat)
		if got := show(r.assignment(good)); got != "a:6703=3" {
			t.Errorf("good is on %s", got)
		}
		if !r.assignment(lost).Equal(was) {
			t.Error("lost was moved")
		}
		for id, want := range map[cluster.TopologyID]string{lost: "kill the topology and submit it again", odd: "stormcode.ser", torn: "/storm/storms/torn-", good: ""} {
			s, err := m.TopologySummary(t.Context(), id)
			if err != nil || !strings.Contains(s.SchedStatus, want) || want == "" && s.SchedStatus != "" {
				t.Errorf("%s: %q, %v", id, s.SchedStatus, err)
			}
		}
		for _, name := range []string{"lost", "torn", "odd"} {
			if err := m.Kill(t.Context(), name, cluster.KillOptions{WaitSecs: new(0)}); err != nil {
				t.Errorf("kill %s: %v", name, err)
			}
		}
		r.pass(310*time.Second, a.beat)
		for _, name := range []string{"lost", "torn", "odd"} {
			if got := r.traces(name); len(got) != 0 {
				t.Errorf("left %v", got)
			}
		}
		if got := show(r.assignment(good)); got != "a:6703=3" {
			t.Errorf("good is on %s", got)
		}
	})
}

func TestWhatIsLeftOverIsSwept(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		for _, key := range []string{"gone-1-100-stormcode.ser", "gone-1-100-stormjar.jar", "dep-mine.jar"} {
			if _, err := r.blobs.Put(t.Context(), key, "", strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.admin.PutAssignment(t.Context(), "gone-1-100", cluster.AssignmentRecord{}, coord.AnyVersion); err != nil {
			if _, err := r.admin.PutAssignment(t.Context(), "gone-1-100", cluster.AssignmentRecord{}, -2); err != nil {
				t.Fatal(err)
			}
		}
		r.start("n1")
		keys, _ := r.blobs.Keys(t.Context())
		if got := r.traces("gone"); len(keys) != 1 || keys[0] != "dep-mine.jar" || len(got) != 0 {
			t.Errorf("left %v %v", keys, got)
		}
		// A worker writes this while it ends, after its topology has.
		if err := r.admin.AddError(t.Context(), "late-1-100", "split", cluster.ErrorRecord{Text: "the pipe is closed"}); err != nil {
			t.Fatal(err)
		}
		r.pass(610 * time.Second)
		if got := r.traces("late"); len(got) != 0 {
			t.Errorf("left %v", got)
		}
	})
}

func TestStandings(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700, 6701)
		r.supervisor("b", 6700, 6701)
		m := r.start("n1")
		id := r.submit(m, "words", 1, 1)
		if err := m.SetStanding(t.Context(), "nobody", cluster.Drained); !errors.Is(err, ErrKeyNotFound) {
			t.Errorf("error %v", err)
		}
		if err := m.SetStanding(t.Context(), "a", cluster.Drained); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := show(r.assignment(id)); got != "b:6700=3" {
			t.Errorf("it is on %s", got)
		}
		all, err := m.Standings(t.Context())
		if err != nil || len(all) != 1 || all["a"] != cluster.Drained {
			t.Errorf("%v, %v", all, err)
		}
		if err := m.SetStanding(t.Context(), "b", cluster.Cordoned); err != nil {
			t.Fatal(err)
		}
		other := r.submit(m, "more", 1, 1)
		s, _ := m.TopologySummary(t.Context(), other)
		if got := show(r.assignment(other)); got != "" || !strings.Contains(s.SchedStatus, "cordoned") {
			t.Errorf("more is on %q: %s", got, s.SchedStatus)
		}
		if err := m.SetStanding(t.Context(), "a", cluster.Open); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := show(r.assignment(other)); got != "a:6700=3" {
			t.Errorf("more is on %s", got)
		}
	})
}

func TestAFailingSupervisorIsAvoidedUntilSlotsAreMissing(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700, 6701)
		r.supervisor("b", 6700)
		m := r.start("n1")
		lead, err := m.leading()
		if err != nil {
			t.Fatal(err)
		}
		lead.mu.Lock()
		for range 3 {
			lead.black.Fail("a", m.nowSecs())
		}
		lead.mu.Unlock()
		id := r.submit(m, "words", 1, 1)
		c, err := m.ClusterSummary(t.Context())
		if err != nil || !c.Supervisors[0].Blacklisted || show(r.assignment(id)) != "b:6700=3" {
			t.Errorf("on %s; %+v, %v", show(r.assignment(id)), c.Supervisors, err)
		}
		other := r.submit(m, "more", 1, 1)
		c, err = m.ClusterSummary(t.Context())
		if err != nil || c.Supervisors[0].Blacklisted || show(r.assignment(other)) != "a:6700=3" {
			t.Errorf("on %s; %+v, %v", show(r.assignment(other)), c.Supervisors, err)
		}
	})
}
