package handler

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/thrift"
	"github.com/stormring/stormring/thrift/assignment"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// action is a call without a result.
func action(err error) (any, error) { return nil, err }

func TestClientsCallsReachNimbus(t *testing.T) {
	s := serve(t)
	c, ctx := connect(t, s.addr), t.Context()
	submission := client.Submission{
		Name: "words", Conf: `{"topology.workers":2}`, Topology: topology("words"), Inactive: true,
		Credentials: map[string]string{"k": "v"},
	}
	for _, x := range []struct {
		name string
		call func() (any, error)
		said string
		want string // fmt.Sprint of the result; "-" if it is checked elsewhere
	}{
		{"leader", func() (any, error) { return c.Leader(ctx) }, "", fmt.Sprint(s.summary())},
		{"name", func() (any, error) { return c.NameAllowed(ctx, "free") }, "", "true"},
		{"submit", func() (any, error) { return action(c.Submit(ctx, submission)) },
			`Submit words jar=false conf={"topology.workers":2} components=[words] inactive=true creds=map[k:v] who=""`, ""},
		{"plan", func() (any, error) { return c.PlanSubmit(ctx, submission) },
			`PlanSubmit words jar=false conf={"topology.workers":2} components=[words] inactive=true creds=map[k:v] who=""`, "a plan"},
		{"activate", func() (any, error) { return action(c.Activate(ctx, "w")) }, "Activate w", ""},
		{"deactivate", func() (any, error) { return action(c.Deactivate(ctx, "w")) }, "Deactivate w", ""},
		{"kill", func() (any, error) { return action(c.Kill(ctx, "w", cluster.KillOptions{WaitSecs: new(7)})) }, "Kill w wait 7", ""},
		{"kill later", func() (any, error) { return action(c.Kill(ctx, "w", cluster.KillOptions{})) }, "Kill w wait -", ""},
		{"rebalance", func() (any, error) {
			return action(c.Rebalance(ctx, "w", cluster.RebalanceOptions{WaitSecs: new(0), Workers: new(3), Executors: map[string]int{"a": 2}, Conf: "{}"}))
		}, "Rebalance w wait 0 workers 3 executors map[a:2] resources map[] conf {}", ""},
		{"plan of a rebalance", func() (any, error) { return c.PlanRebalance(ctx, "w", cluster.RebalanceOptions{}) },
			"PlanRebalance w wait - workers - executors map[] resources map[] conf ", "another plan"},
		{"debug", func() (any, error) {
			return action(c.Debug(ctx, "w", "a", cluster.DebugOptions{Enable: true, Sampling: 10}))
		}, "Debug w a {true 10}", ""},
		{"credentials", func() (any, error) {
			return action(c.UploadCredentials(ctx, "w", cluster.Credentials{Values: map[string]string{"k": "v"}, Owner: "ann"}))
		}, "UploadCredentials w {map[k:v] ann}", ""},
		{"set levels", func() (any, error) {
			return action(c.SetLogConfig(ctx, "w-1-1", cluster.LogConfig{"a": {Action: cluster.LogLevelUpdate, Target: "INFO", TimeoutSecs: 3}}))
		}, "SetLogConfig w-1-1 map[a:{2 INFO 3 0 }]", ""},
		{"levels", func() (any, error) { return c.LogConfig(ctx, "w-1-1") }, "LogConfig w-1-1", "map[ROOT:{2 DEBUG 0 0 }]"},
		{"topologies", func() (any, error) { return c.Topologies(ctx) }, "TopologySummaries", fmt.Sprint([]cluster.TopologySummary{summary()})},
		{"summary", func() (any, error) { return c.TopologySummary(ctx, "words") }, "TopologySummaryByName words", fmt.Sprint(summary())},
		{"info", func() (any, error) { return c.Topology(ctx, "words", cluster.OneError) }, "TopologyInfoByName words 2", "-"},
		{"conf", func() (any, error) { return c.TopologyConf(ctx, "w-1-1") }, "TopologyConf w-1-1", `{"a":1}`},
		{"system topology", func() (any, error) {
			x, err := c.SystemTopology(ctx, "w-1-1")
			return x.IDs(0), err
		}, "Topology w-1-1", "[__acker words]"},
		{"user topology", func() (any, error) {
			x, err := c.UserTopology(ctx, "w-1-1")
			return x.IDs(0), err
		}, "UserTopology w-1-1", "[words]"},
		{"cluster", func() (any, error) { return c.ClusterSummary(ctx) }, "ClusterSummary", "-"},
		{"page", func() (any, error) { return c.TopologyPage(ctx, "w-1-1", "600", true) }, "TopologyPage w-1-1 600 true", "-"},
		{"component", func() (any, error) { return c.ComponentPage(ctx, "w-1-1", "a", ":all-time", false) }, "ComponentPage w-1-1 a :all-time false", "-"},
		{"supervisor", func() (any, error) { return c.SupervisorPage(ctx, "s1", "h1", false) }, "SupervisorPage s1 h1 false", "-"},
		{"history", func() (any, error) { return c.TopologyHistory(ctx, "ann") }, "TopologyHistory ann", "[a-1-1 b-2-2]"},
		{"owners", func() (any, error) {
			x, err := c.OwnerSummaries(ctx, "")
			return x[0].Owner, err
		}, "OwnerSummaries ", "ann"},
		{"nimbus's conf", func() (any, error) { return c.NimbusConf(ctx) }, "NimbusConf", `{"n":1}`},
		{"report", func() (any, error) {
			return action(c.Report(ctx, cluster.SupervisorReport{Supervisor: "s1", Waiting: map[cluster.Port]string{6700: "no jar"},
				Workers: []cluster.WorkerReport{{Topology: "w-1-1", Port: 6701, TimeSecs: 5, UptimeSecs: 4}}}))
		}, "Report s1 [{w-1-1 6701 5 4 []}] map[6700:no jar]", ""},
		{"standing by id", func() (any, error) { return action(c.SetStanding(ctx, "s2", cluster.Drained)) }, "ClusterSummary\nSetStanding s2 drained", ""},
		{"standing by host", func() (any, error) { return action(c.SetStanding(ctx, "h1", cluster.Cordoned)) },
			"ClusterSummary\nSetStanding s1 cordoned\nSetStanding s2 cordoned", ""},
		{"standing of another", func() (any, error) { return action(c.SetStanding(ctx, "gone", cluster.Open)) }, "ClusterSummary\nSetStanding gone open", ""},
		{"ring nodes", func() (any, error) { return c.RingNodes(ctx) }, "RingNodes", "map[s1:h1:6629 s2:h1:7000]"},
		{"standings", func() (any, error) { return c.Standings(ctx) }, "Standings", "map[s1:cordoned s2:drained]"},
	} {
		got, err := x.call()
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		if text := fmt.Sprint(got); got != nil && x.want != "-" && text != x.want {
			t.Errorf("%s: got %s, want %s", x.name, text, x.want)
		}
		if said := s.said(); said != x.said {
			t.Errorf("%s: nimbus was asked\n%s\nwant\n%s", x.name, said, x.said)
		}
	}
}

func TestJarsArrive(t *testing.T) {
	s := serve(t)
	c := connect(t, s.addr)
	for _, size := range []int{0, 1, 307200, 1<<20 + 7} {
		jar := bytes.Repeat([]byte("stormring!"), size/10+1)[:size]
		err := c.Submit(t.Context(), client.Submission{Name: "words", Conf: "{}", Topology: topology("words"), Jar: bytes.NewReader(jar)})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.said(); !strings.Contains(got, "jar=true") {
			t.Errorf("nimbus was asked %s", got)
		}
	}
}

func TestBlobs(t *testing.T) {
	s := serve(t)
	c, ctx := connect(t, s.addr), t.Context()
	content := bytes.Repeat([]byte("0123456789"), 70000)
	meta := blobstore.Meta{ACL: []blobstore.AccessControl{{Type: blobstore.User, Name: "ann", Access: blobstore.Read}}}
	if err := c.CreateBlob(ctx, "data", meta, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if got := s.said(); got != "AnnounceBlob data" {
		t.Errorf("nimbus was asked %s", got)
	}
	var got bytes.Buffer
	first, err := c.FetchBlob(ctx, "data", &got)
	if err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Fatalf("%d bytes of %d, %v", got.Len(), len(content), err)
	}
	if err := c.UpdateBlob(ctx, "data", strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	got.Reset()
	second, err := c.FetchBlob(ctx, "data", &got)
	if err != nil || got.String() != "new" || second <= first {
		t.Errorf("version %d after %d: %q, %v", second, first, got.String(), err)
	}
	known, err := c.BlobMeta(ctx, "data")
	want := blobstore.ReadableMeta{Version: second, Meta: blobstore.Meta{Replication: 3, ACL: []blobstore.AccessControl{
		{Type: blobstore.User, Name: "ann", Access: blobstore.Read}, {Type: blobstore.Other, Access: 7},
	}}}
	if err != nil || !reflect.DeepEqual(known, want) {
		t.Errorf("meta %v, %v; want %v", known, err, want)
	}
	if err := c.SetBlobMeta(ctx, "data", blobstore.Meta{ACL: []blobstore.AccessControl{{Type: blobstore.Other, Access: 7}}}); err != nil {
		t.Error(err)
	}
	if n, err := c.SetBlobReplication(ctx, "data", 2); n != 1 || err != nil {
		t.Errorf("%d copies, %v", n, err)
	}
	if n, err := c.BlobReplication(ctx, "data"); n != 1 || err != nil {
		t.Errorf("%d copies, %v", n, err)
	}
	if known, err = c.BlobMeta(ctx, "data"); known.Meta.Replication != 2 || len(known.Meta.ACL) != 1 || err != nil {
		t.Errorf("meta %v, %v", known, err)
	}
	s.said()
	if err := c.DeleteBlob(ctx, "data"); err != nil {
		t.Error(err)
	}
	if got := s.said(); got != "CheckDelete data\nRemovedBlob data" {
		t.Errorf("nimbus was asked %s", got)
	}
	if there, err := c.BlobExists(ctx, "data"); there || err != nil {
		t.Errorf("exists: %t, %v", there, err)
	}
}

func TestListsAllBlobs(t *testing.T) {
	s := serve(t)
	c := connect(t, s.addr)
	var want []string
	for i := range 230 {
		key := fmt.Sprintf("key%03d", i)
		want = append(want, key)
		if _, err := s.blobs.Put(t.Context(), key, blobstore.Meta{}, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Blobs(t.Context())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%d keys, %v", len(got), err)
	}
}

// TestEveryMethodAnswers calls every method of the interface with next to
// nothing: none is unknown, none panics, none leaves the connection broken.
func TestEveryMethodAnswers(t *testing.T) {
	s := serve(t)
	c := reflect.ValueOf(raw(t, s))
	refused := map[string]string{
		"BeginCreateBlob":                "not a key",
		"BeginUpdateBlob":                "KeyNotFoundException({Msg:})",
		"BeginBlobDownload":              "KeyNotFoundException({Msg:})",
		"GetBlobMeta":                    "KeyNotFoundException({Msg:})",
		"SetBlobMeta":                    "KeyNotFoundException({Msg:})",
		"GetBlobReplication":             "KeyNotFoundException({Msg:})",
		"UpdateBlobReplication":          "at least 1",
		"DeleteBlob":                     "KeyNotFoundException({Msg:})",
		"UploadChunk":                    "no such session",
		"FinishFileUpload":               "no such session",
		"UploadBlobChunk":                "no such session",
		"FinishBlobUpload":               "no such session",
		"CancelBlobUpload":               "no such session",
		"DownloadBlobChunk":              "no such session",
		"DownloadChunk":                  "beginBlobDownload",
		"SubmitTopologyWithOpts":         "initial_status",
		"PlanSubmit":                     "initial_status",
		"SetWorkerProfiler":              "cannot be profiled",
		"SendSupervisorWorkerHeartbeat":  "cannot take part",
		"SendSupervisorWorkerHeartbeats": "cannot take part",
		"ProcessWorkerMetrics":           "cannot take part",
	}
	for m := range reflect.TypeFor[gen.Stormring]().Methods() {
		args := []reflect.Value{reflect.ValueOf(t.Context())}
		for j := 1; j < m.Type.NumIn(); j++ {
			args = append(args, some(m.Type.In(j)))
		}
		out := c.MethodByName(m.Name).Call(args)
		err, _ := reflect.TypeAssert[error](out[len(out)-1])
		switch want := refused[m.Name]; {
		case want == "" && err != nil:
			t.Errorf("%s: %v", m.Name, err)
		case want != "" && (err == nil || !strings.Contains(fmt.Sprint(err), want)):
			t.Errorf("%s: %v, want a refusal with %q", m.Name, err, want)
		}
	}
	conn, err := thrift.Dial(t.Context(), s.addr, thrift.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := assignment.GetSupervisorAssignments(t.Context(), conn, "s1"); err == nil || !strings.Contains(err.Error(), "cannot take part") {
		t.Errorf("assignments: %v", err)
	}
}

// some is a value of a type, as empty as can be sent.
func some(kind reflect.Type) reflect.Value {
	switch kind {
	case reflect.TypeFor[*gen.ProfileRequest]():
		return reflect.ValueOf(&gen.ProfileRequest{NodeInfo: &gen.NodeInfo{Node: "n"}})
	case reflect.TypeFor[*gen.WorkerMetrics]():
		return reflect.ValueOf(&gen.WorkerMetrics{MetricList: &gen.WorkerMetricList{}})
	}
	if kind.Kind() == reflect.Pointer {
		return reflect.New(kind.Elem())
	}
	return reflect.Zero(kind)
}

// TestNeverAbsent: what clients of Java need is there though it is empty.
func TestNeverAbsent(t *testing.T) {
	h := newHandler(Config{Nimbus: &empty{}, Blobs: nil})
	ctx := context.Background()
	list, err := h.GetTopologySummaries(ctx)
	if list == nil || err != nil {
		t.Errorf("summaries %v, %v", list, err)
	}
	owners, err := h.GetOwnerResourceSummaries(ctx, "")
	if owners == nil || err != nil {
		t.Errorf("owners %v, %v", owners, err)
	}
	history, err := h.GetTopologyHistory(ctx, "")
	if history == nil || history.TopoIds == nil || err != nil {
		t.Errorf("history %v, %v", history, err)
	}
	actions, err := h.GetComponentPendingProfileActions(ctx, "", "", 0)
	if actions == nil || err != nil {
		t.Errorf("actions %v, %v", actions, err)
	}
	standings, err := h.GetSupervisorStandings(ctx)
	if standings == nil || err != nil {
		t.Errorf("standings %v, %v", standings, err)
	}
}

// empty knows nothing.
type empty struct{ fake }

func (*empty) TopologySummaries(context.Context) ([]cluster.TopologySummary, error) { return nil, nil }
func (*empty) OwnerSummaries(context.Context, string) ([]cluster.OwnerSummary, error) {
	return nil, nil
}
func (*empty) TopologyHistory(context.Context, string) ([]cluster.TopologyID, error) { return nil, nil }
func (*empty) Standings(context.Context) (map[cluster.SupervisorID]cluster.Standing, error) {
	return nil, nil
}
