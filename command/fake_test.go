package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/storm"
)

// fake is a nimbus of two topologies and two supervisors. It notes what is
// changed, a line each.
type fake struct {
	changes []string
	fail    map[string]error // by the first words of what is noted
	conf    string           // nimbus's own
	// each, if set, is called whenever topologies are looked at.
	each func(f *fake)

	topologies []cluster.TopologySummary
	info       cluster.TopologyInfo
	levels     cluster.LogConfig
	blobs      map[string]blobstore.ReadableMeta
	summary    cluster.ClusterSummary
	standings  map[cluster.SupervisorID]cluster.Standing
	nodes      map[cluster.SupervisorID]string // of the ring
	dialled    *conf.Conf
	closed     int

	program   storm.Program // that the commands are of
	submitted []submitted
}

func newFake() *fake {
	wordcount := cluster.TopologySummary{ID: "wordcount-1-1700000000", Name: "wordcount", Status: "ACTIVE", UptimeSecs: 3725, Tasks: 28, Executors: 28, Workers: 3, Owner: "alice"}
	idle := cluster.TopologySummary{ID: "idle-2-1700000100", Name: "idle", Status: "INACTIVE", UptimeSecs: 5, Tasks: 4, Executors: 2, SchedStatus: "no free slot"}
	return &fake{
		topologies: []cluster.TopologySummary{wordcount, idle},
		info: cluster.TopologyInfo{
			TopologySummary: wordcount,
			ExecutorList: []cluster.ExecutorSummary{
				{Executor: cluster.Executor{First: 3, Last: 4}, Component: "split", Host: "b", Port: 6701, UptimeSecs: 61},
				{
					Executor: cluster.Executor{First: 1, Last: 2}, Component: "lines", Host: "a", Port: 6700, UptimeSecs: 60,
					Stats: &cluster.ExecutorStats{
						Emitted:     cluster.OutputCounts{allTime: {"default": 100, "side": 7}},
						Transferred: cluster.OutputCounts{allTime: {"default": 200}},
					},
				},
			},
			Errors: map[string][]cluster.ErrorRecord{
				"split": {{Text: "boom <b>", TimeSecs: 1700000009, Host: "b", Port: 6701}, {Text: "earlier", TimeSecs: 1700000001, Host: "b", Port: 6701}},
				"lines": nil,
			},
		},
		blobs: map[string]blobstore.ReadableMeta{
			"cfg": {Version: 3, Meta: blobstore.Meta{Replication: 2, ACL: []blobstore.AccessControl{
				{Type: blobstore.User, Name: "alice", Access: blobstore.Read | blobstore.Write | blobstore.Admin}, {Type: blobstore.Other, Access: blobstore.Read},
			}}},
			"data": {Version: 1},
		},
		summary: cluster.ClusterSummary{
			Nimbuses: []cluster.NimbusSummary{{Host: "n1", Port: 6627, UptimeSecs: 60, Leader: true, Version: "2.8.8"}, {Host: "n2", Port: 6627, UptimeSecs: 30, Version: "2.8.8"}},
			Supervisors: []cluster.SupervisorSummary{
				{
					ID: "sup-a", Host: "a", UptimeSecs: 100, Workers: 4, UsedWorkers: 2, Version: "2.8.8",
					Resources: map[string]float64{"cpu.pcore.percent": 400, "memory.mb": 4096}, Used: cluster.Resources{CPU: 150, MemoryMB: 512},
				},
				{ID: "sup-b", Host: "b", UptimeSecs: 7200, Workers: 4, UsedWorkers: 1, Version: "2.8.8", Blacklisted: true},
			},
			Topologies: []cluster.TopologySummary{wordcount, idle},
		},
		standings: map[cluster.SupervisorID]cluster.Standing{"sup-b": cluster.Cordoned},
	}
}

// shown runs a command line against the fake. It is what run does, for verbs
// with another dial.
func (f *fake) run(ctx context.Context, stdin string, args ...string) shown {
	var stdout, stderr strings.Builder
	e := &env{name: "stormring", program: f.program, stdin: strings.NewReader(stdin), stdout: &output{w: &stdout}, stderr: &stderr}
	v := &verbs{env: e, dial: func(_ context.Context, c *conf.Conf, _ io.Writer) (leader, error) {
		f.dialled = c
		if err := f.fail["dial"]; err != nil {
			return nil, err
		}
		return f, nil
	}}
	root := e.root()
	for _, mine := range v.commands() {
		for _, c := range root.Commands() {
			if c.Name() == mine.Name() {
				root.RemoveCommand(c)
			}
		}
		root.AddCommand(mine)
	}
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitOK
	switch {
	case errors.Is(err, errInterrupted):
		code = exitInterrupted
	case err != nil:
		fmt.Fprintf(&stderr, "%s: %s\n", e.name, oneLine(err))
		code = exitFailure
		if errors.Is(err, storm.ErrUsage) {
			code = exitUsage
		}
	}
	return shown{code, stdout.String(), stderr.String()}
}

// golden is a command line and what it does.
type golden struct {
	args    string
	code    int
	stdout  string
	stderr  string
	changes string // lines of the fake, joined by "; "
}

func (g golden) check(t *testing.T, f *fake, stdin string) {
	t.Helper()
	got := f.run(t.Context(), stdin, strings.Fields(g.args)...)
	if want := (shown{g.code, g.stdout, g.stderr}); got != want {
		t.Errorf("%s:\ngot  %d %s\n     %s\nwant %d %s\n     %s", g.args, got.code, got.stdout, got.stderr, want.code, want.stdout, want.stderr)
	}
	if did := strings.Join(f.changes, "; "); did != g.changes {
		t.Errorf("%s: did  %q\nwant %q", g.args, did, g.changes)
	}
}

// alone keeps the configuration of this machine out of a test.
func alone(t *testing.T) {
	t.Helper()
	t.Setenv("STORM_CONF_DIR", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{stormHome, "JAVA_HOME", "STORM_JAR_JVM_OPTS", "STORM_EXT_CLASSPATH", "STORM_EXT_CLASSPATH_DAEMON"} {
		t.Setenv(name, "")
	}
}

func notAlive(name string) error {
	return &client.Error{Kind: client.ErrNotAlive, Text: name + " is not alive"}
}

func noBlob(key string) error { return &client.Error{Kind: client.ErrKeyNotFound, Text: "no " + key} }

// note notes a change, unless it is to fail.
func (f *fake) note(format string, args ...any) error {
	line := fmt.Sprintf(format, args...)
	for prefix, err := range f.fail {
		if strings.HasPrefix(line, prefix) {
			return err
		}
	}
	f.changes = append(f.changes, line)
	return nil
}

func (f *fake) find(name string) (cluster.TopologySummary, error) {
	i := slices.IndexFunc(f.topologies, func(t cluster.TopologySummary) bool { return t.Name == name })
	if i < 0 {
		return cluster.TopologySummary{}, notAlive(name)
	}
	return f.topologies[i], nil
}

func (f *fake) look(ctx context.Context) error {
	if f.each != nil {
		f.each(f)
	}
	return ctx.Err()
}

func (f *fake) Close() { f.closed++ }

func (f *fake) Topologies(ctx context.Context) ([]cluster.TopologySummary, error) {
	return f.topologies, f.look(ctx)
}

func (f *fake) TopologySummary(_ context.Context, name string) (cluster.TopologySummary, error) {
	return f.find(name)
}

func (f *fake) Topology(ctx context.Context, name string, _ cluster.ErrorsChoice) (cluster.TopologyInfo, error) {
	if err := f.look(ctx); err != nil {
		return cluster.TopologyInfo{}, err
	}
	_, err := f.find(name)
	return f.info, err
}

func (f *fake) UserTopology(context.Context, cluster.TopologyID) (cluster.Topology, error) {
	return cluster.Topology{Components: map[string]cluster.Component{
		"lines": {Kind: cluster.Spout, Parallelism: 2, Object: cluster.Object{Class: &cluster.Class{Name: "go:wordcount"}}, Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"line"}}}},
		"split": {Kind: cluster.Bolt, Object: cluster.Object{Shell: &cluster.Shell{Command: "python3", Script: "split.py"}}, Inputs: []cluster.Input{
			{Component: "lines", Stream: "default", Grouping: cluster.Grouping{Kind: cluster.GroupFields, Fields: []string{"line"}}},
		}},
	}}, nil
}

func (f *fake) LogConfig(context.Context, cluster.TopologyID) (cluster.LogConfig, error) {
	return f.levels, nil
}

func rebalanceText(o cluster.RebalanceOptions) string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (f *fake) PlanRebalance(_ context.Context, name string, o cluster.RebalanceOptions) (string, error) {
	return "plan of " + name + " " + rebalanceText(o) + "\n", nil
}

func (f *fake) Kill(_ context.Context, name string, o cluster.KillOptions) error {
	if _, err := f.find(name); err != nil {
		return err
	}
	wait := "default"
	if o.WaitSecs != nil {
		wait = fmt.Sprint(*o.WaitSecs)
	}
	return f.note("kill %s %s", name, wait)
}

func (f *fake) Activate(_ context.Context, name string) error { return f.note("activate %s", name) }

func (f *fake) Deactivate(_ context.Context, name string) error { return f.note("deactivate %s", name) }

func (f *fake) Rebalance(_ context.Context, name string, o cluster.RebalanceOptions) error {
	return f.note("rebalance %s %s", name, rebalanceText(o))
}

func (f *fake) SetLogConfig(_ context.Context, id cluster.TopologyID, l cluster.LogConfig) error {
	return f.note("log %s %v", id, l)
}

func (f *fake) UploadCredentials(_ context.Context, name string, c cluster.Credentials) error {
	return f.note("credentials %s %v %s", name, c.Values, c.Owner)
}

func (f *fake) Blobs(context.Context) ([]string, error) {
	return []string{"cfg", "data", "gone", "secret"}, nil
}

func (f *fake) BlobMeta(_ context.Context, key string) (blobstore.ReadableMeta, error) {
	if key == "secret" {
		return blobstore.ReadableMeta{}, &client.Error{Kind: client.ErrAuthorization, Text: "not for you"}
	}
	m, ok := f.blobs[key]
	if !ok {
		return m, noBlob(key)
	}
	return m, nil
}

func (f *fake) FetchBlob(_ context.Context, key string, w io.Writer) (int64, error) {
	m, ok := f.blobs[key]
	if !ok {
		return 0, noBlob(key)
	}
	if _, err := io.WriteString(w, "content of "+key); err != nil {
		return 0, err
	}
	return m.Version, f.fail["fetch"]
}

func (f *fake) BlobReplication(_ context.Context, key string) (int, error) {
	m, ok := f.blobs[key]
	if !ok {
		return 0, noBlob(key)
	}
	return m.Meta.Replication, nil
}

func (f *fake) CreateBlob(_ context.Context, key string, m blobstore.Meta, r io.Reader) error {
	text, err := io.ReadAll(r)
	return errors.Join(err, f.note("create %s %q %s %d", key, text, showACL(m.ACL), m.Replication))
}

func (f *fake) UpdateBlob(_ context.Context, key string, r io.Reader) error {
	text, err := io.ReadAll(r)
	return errors.Join(err, f.note("update %s %q", key, text))
}

func (f *fake) SetBlobMeta(_ context.Context, key string, m blobstore.Meta) error {
	return f.note("meta %s %s %d", key, showACL(m.ACL), m.Replication)
}

func (f *fake) DeleteBlob(_ context.Context, key string) error { return f.note("delete %s", key) }

func (f *fake) SetBlobReplication(_ context.Context, key string, n int) (int, error) {
	return n, f.note("replicate %s %d", key, n)
}

func (f *fake) ClusterSummary(ctx context.Context) (cluster.ClusterSummary, error) {
	return f.summary, f.look(ctx)
}

func (f *fake) RingNodes(context.Context) (map[cluster.SupervisorID]string, error) {
	return f.nodes, f.fail["ring nodes"]
}

func (f *fake) NimbusConf(context.Context) (string, error) { return f.conf, nil }

func (f *fake) Standings(context.Context) (map[cluster.SupervisorID]cluster.Standing, error) {
	return f.standings, nil
}

func (f *fake) SetStanding(_ context.Context, who string, s cluster.Standing) error {
	return f.note("standing %s %s", who, s)
}
