package nimbus

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/internal/cluster"
)

func TestRefusedSubmissions(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700, 6701)
		m := r.start("n1", "nimbus.slots.perTopology=2", "nimbus.executors.perTopology=5")
		r.submit(m, "taken", 1, 1)
		java := words(1)
		for id, c := range java.Components {
			c.Object = cluster.Object{Serialized: []byte{1}}
			java.Components[id] = c
		}
		r.blobs.jars["mac"] = []byte("\xcf\xfa\xed\xfe……")
		r.blobs.jars["arm32"] = append([]byte("\x7fELF\x01\x01"), make([]byte, 60)...)
		for _, c := range []struct {
			s    Submission
			kind error
			want []string
		}{
			{Submission{Name: "a/b", Topology: words(1)}, ErrInvalidTopology, []string{`"a/b"`}},
			{Submission{Name: "taken", ConfJSON: "not JSON"}, ErrAlreadyAlive, []string{"taken is already alive"}},
			{Submission{Name: "x", Topology: words(1), ConfJSON: `{"topology.workers":"many"}`}, ErrInvalidTopology, []string{"topology.workers", "many"}},
			{Submission{Name: "x", Topology: words(1), ConfJSON: `{"topology.blobstore.map":{"words.txt":{}}}`}, ErrInvalidTopology, []string{`"words.txt"`, "create it first"}},
			{Submission{Name: "x", Topology: words(1), ConfJSON: `{"topology.workers":3}`}, ErrInvalidTopology, []string{"3 workers", "nimbus.slots.perTopology"}},
			{Submission{Name: "x", Topology: words(9)}, ErrInvalidTopology, []string{"11 executors", "nimbus.executors.perTopology"}},
			{Submission{Name: "x", Topology: java}, ErrInvalidTopology, []string{`"count" is an object of Java`, `"spout" is an object of Java`, "serialized_java", "stormring jvm install"}},
			{Submission{Name: "x", Topology: words(1), JarLocation: "nowhere"}, ErrInvalidTopology, []string{"jar", "nowhere"}},
			{Submission{Name: "x", Topology: words(1), JarLocation: "mac"}, ErrInvalidTopology, []string{"macOS", "GOOS=linux"}},
			{Submission{Name: "x", Topology: words(1), JarLocation: "arm32"}, ErrInvalidTopology, []string{"GOARCH"}},
		} {
			err := m.Submit(t.Context(), c.s)
			if !errors.Is(err, c.kind) {
				t.Errorf("%v is not %v", err, c.kind)
				continue
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		}
		if got := r.traces("x"); len(got) > 0 {
			t.Errorf("left %v", got)
		}
		if keys, _ := r.blobs.Keys(t.Context()); len(keys) != 2 {
			t.Errorf("left %v", keys)
		}
	})
}

func TestADryRunChangesNothing(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700, 6701)
		m := r.start("n1")
		before := m.opener.writes.Load()
		text, err := m.PlanSubmit(t.Context(), Submission{Name: "words", Topology: words(2)})
		if err != nil || !strings.Contains(text, "host-a") || !strings.Contains(text, "1 worker") {
			t.Errorf("plan %q, %v", text, err)
		}
		if _, err := m.PlanSubmit(t.Context(), Submission{Name: "a.b", Topology: words(2)}); !errors.Is(err, ErrInvalidTopology) {
			t.Errorf("error %v", err)
		}
		if keys, _ := r.blobs.Keys(t.Context()); len(keys) > 0 || m.opener.writes.Load() != before {
			t.Errorf("it wrote something: %v", keys)
		}
	})
}

func TestAGoProgramIsTaken(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700)
		m := r.start("n1")
		elf := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 80)...)
		elf[18] = 62
		r.blobs.jars["prog"] = elf
		top := words(1)
		c := top.Components["count"]
		c.Object = cluster.Object{Class: &cluster.Class{Name: "go:words", Args: []any{"count"}}}
		top.Components["count"] = c
		err := m.Submit(t.Context(), Submission{Name: "words", JarLocation: "prog", Topology: top, ConfJSON: `{"stormring.topology.args":["-n","3"],"my.key":12345678901234567}`})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		s, err := m.TopologySummaryByName(t.Context(), "words")
		if err != nil {
			t.Fatal(err)
		}
		user, err := m.UserTopology(t.Context(), s.ID)
		if err != nil || user.Components["count"].Object.Class.Name != "go:words" || user.Components["count"].Conf != `{"topology.tasks":1}` || len(user.Components) != 2 {
			t.Errorf("%+v, %v", user, err)
		}
		full, err := m.Topology(t.Context(), s.ID)
		if err != nil || !slices.Equal(slices.Sorted(maps.Keys(full.Components)), []string{"__acker", "__system", "count", "spout"}) {
			t.Errorf("%+v, %v", full, err)
		}
		text, err := m.TopologyConf(t.Context(), s.ID)
		if err != nil || !strings.Contains(text, `"stormring.topology.args":["-n","3"]`) || !strings.Contains(text, "12345678901234567") || !strings.Contains(text, `"topology.message.timeout.secs":30`) {
			t.Errorf("%s, %v", text, err)
		}
	})
}

func TestLogConfigCredentialsAndDebug(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		r.supervisor("a", 6700)
		m := r.start("n1")
		id := r.submit(m, "words", 1, 1)
		ctx := t.Context()
		set := func(c cluster.LogConfig) {
			t.Helper()
			if err := m.SetLogConfig(ctx, id, c); err != nil {
				t.Fatal(err)
			}
		}
		set(cluster.LogConfig{"ROOT": {Action: cluster.LogLevelUpdate, Target: "DEBUG", TimeoutSecs: 30}, "x": {Action: cluster.LogLevelUpdate, Target: "WARN"}})
		epoch := time.Now().Add(30 * time.Second).UnixMilli()
		set(cluster.LogConfig{"x": {Action: cluster.LogLevelRemove}, "y": {Action: cluster.LogLevelUpdate, Target: "INFO"}})
		got, err := m.LogConfig(ctx, id)
		want := cluster.LogConfig{
			"ROOT": {Action: cluster.LogLevelUnchanged, Target: "DEBUG", TimeoutSecs: 30, TimeoutEpochMS: epoch},
			"y":    {Action: cluster.LogLevelUpdate, Target: "INFO"},
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%+v, %v", got, err)
		}
		if err := m.SetLogConfig(ctx, "words", nil); !errors.Is(err, ErrNotAlive) {
			t.Errorf("error %v", err)
		}
		for _, c := range []map[string]string{{"a": "1", "b": "2"}, {"b": "3"}} {
			if err := m.UploadCredentials(ctx, "words", cluster.Credentials{Values: c, Owner: "ann"}); err != nil {
				t.Fatal(err)
			}
		}
		creds, err := r.admin.Credentials(ctx, id)
		if err != nil || !maps.Equal(creds.Values, map[string]string{"a": "1", "b": "3"}) {
			t.Errorf("%+v, %v", creds, err)
		}
		if err := m.UploadCredentials(ctx, "words", cluster.Credentials{Owner: "eve"}); !errors.Is(err, ErrAuthorization) {
			t.Errorf("error %v", err)
		}
		if err := m.Debug(ctx, "words", "count", cluster.DebugOptions{Enable: true, Sampling: 50}); err != nil {
			t.Fatal(err)
		}
		if err := m.Debug(ctx, "words", "nope", cluster.DebugOptions{}); !errors.Is(err, ErrKeyNotFound) {
			t.Errorf("error %v", err)
		}
		info, err := m.TopologyInfo(ctx, id, cluster.AllErrors)
		if err != nil || info.Debug["count"] != (cluster.DebugOptions{Enable: true, Sampling: 50}) {
			t.Errorf("%+v, %v", info, err)
		}
	})
}

func TestPages(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		a := r.supervisor("a", 6700)
		m := r.start("n1")
		id := r.submit(m, "words", 1, 2)
		ctx := t.Context()
		a.report(m)
		for i := range 2 {
			if err := r.admin.AddError(ctx, id, "count", cluster.ErrorRecord{Text: strings.Repeat("e", i+1), TimeSecs: int64(i + 1)}); err != nil {
				t.Fatal(err)
			}
		}
		for choice, want := range map[cluster.ErrorsChoice]int{cluster.AllErrors: 2, cluster.OneError: 1, cluster.NoErrors: 0} {
			info, err := m.TopologyInfoByName(ctx, "words", choice)
			if err != nil || len(info.Errors["count"]) != want || info.Errors["__acker"] == nil || len(info.ExecutorList) != 4 || info.ExecutorList[0].UptimeSecs != 7 {
				t.Errorf("%d: %+v, %v", choice, info, err)
			}
		}
		page, err := m.TopologyPage(ctx, id, ":all-time", false)
		if err != nil || len(page.Spouts) != 1 || len(page.Bolts) != 1 || page.Bolts["count"].LastError.Text != "ee" || len(page.Workers) != 1 || page.Workers[0].ComponentTasks["count"] != 2 {
			t.Errorf("%+v, %v", page, err)
		}
		comp, err := m.ComponentPage(ctx, id, "count", "600", true)
		if err != nil || comp.Executors != 2 || len(comp.Windows) != 4 || len(comp.ExecutorStats) != 2 || len(comp.Errors) != 2 {
			t.Errorf("%+v, %v", comp, err)
		}
		if _, err := m.ComponentPage(ctx, id, "nope", "600", true); !errors.Is(err, ErrNotAlive) {
			t.Errorf("error %v", err)
		}
		sup, err := m.SupervisorPage(ctx, "", "host-a", true)
		if err != nil || len(sup.Supervisors) != 1 || len(sup.Workers) != 1 || sup.Supervisors[0].Used.CPU != 40 {
			t.Errorf("%+v, %v", sup, err)
		}
		if _, err := m.SupervisorPage(ctx, "nobody", "", true); !errors.Is(err, ErrNotAlive) {
			t.Errorf("error %v", err)
		}
		owners, err := m.OwnerSummaries(ctx, "")
		if err != nil || len(owners) != 1 || owners[0].Owner != "ann" || owners[0].Tasks != 4 {
			t.Errorf("%+v, %v", owners, err)
		}
		history, err := m.TopologyHistory(ctx, "ann")
		if err != nil || !slices.Equal(history, []cluster.TopologyID{id}) {
			t.Errorf("%v, %v", history, err)
		}
		text, err := m.NimbusConf()
		if err != nil || !strings.Contains(text, `"nimbus.thrift.port":6627`) {
			t.Errorf("%s, %v", text, err)
		}
		if err := m.CheckDelete(ctx, string(id)+codeEnd); !errors.Is(err, ErrIllegalState) {
			t.Errorf("error %v", err)
		}
		if err := m.CheckDelete(ctx, "other"); err != nil {
			t.Errorf("error %v", err)
		}
	})
}

func TestOutsideOfATerm(t *testing.T) {
	inRig(t, func(t *testing.T, r *rig) {
		m := r.start("n1")
		m.stop()
		ctx := t.Context()
		for name, err := range map[string]error{
			"kill":   m.Kill(ctx, "words", cluster.KillOptions{}),
			"submit": m.Submit(ctx, Submission{Name: "x", Topology: words(1)}),
			"report": m.Report(ctx, cluster.SupervisorReport{}),
			"leader": func() error { _, err := m.Leader(ctx); return err }(),
			"list":   func() error { _, err := m.TopologySummaries(ctx); return err }(),
		} {
			if !errors.Is(err, ErrNotLeader) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	if _, err := New(Config{}); err == nil {
		t.Error("an empty Config is taken")
	}
}
