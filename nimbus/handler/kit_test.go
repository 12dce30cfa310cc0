package handler

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/thrift"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// fake is a nimbus that notes what it is asked and says what it is told to.
type fake struct {
	mu      sync.Mutex // guards what follows
	calls   []string
	err     error // what all but Leader and NameAllowed fail with
	leading bool
	leader  cluster.NimbusSummary // the zero one: nobody leads
}

func (f *fake) note(name string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := name
	for _, a := range args {
		call += " " + show(a)
	}
	f.calls = append(f.calls, call)
	return f.err
}

// show is a for people, without addresses.
func show(a any) string {
	switch a := a.(type) {
	case cluster.KillOptions:
		return "wait " + number2(a.WaitSecs)
	case cluster.RebalanceOptions:
		return fmt.Sprintf("wait %s workers %s executors %v resources %v conf %s", number2(a.WaitSecs), number2(a.Workers), a.Executors, a.Resources, a.Conf)
	case nimbus.Submission:
		creds := cluster.Credentials{}
		if a.Credentials != nil {
			creds = *a.Credentials
		}
		return fmt.Sprintf("%s jar=%t conf=%s components=%v inactive=%t creds=%v who=%q",
			a.Name, a.JarLocation != "", a.ConfJSON, a.Topology.IDs(0), a.Inactive, creds.Values, a.Who)
	case cluster.SupervisorReport:
		return fmt.Sprintf("%s %v %v", a.Supervisor, a.Workers, a.Waiting)
	default:
		return fmt.Sprint(a)
	}
}

func number2(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}

// said is what has been asked since the last time.
func (f *fake) said() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := strings.Join(f.calls, "\n")
	f.calls = nil
	return all
}

func (f *fake) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fake) lead(leading bool, leader cluster.NimbusSummary) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leading, f.leader = leading, leader
}

func (f *fake) Leader(context.Context) (cluster.NimbusSummary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leader == (cluster.NimbusSummary{}) {
		return cluster.NimbusSummary{}, fmt.Errorf("none: %w", nimbus.ErrNotLeader)
	}
	return f.leader, nil
}

func (f *fake) NameAllowed(_ context.Context, name string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.leading {
		return false, fmt.Errorf("nimbus x: %w", nimbus.ErrNotLeader)
	}
	return name == "free", nil
}

// mayChange is the error of a change.
func (f *fake) mayChange(name string, args ...any) error {
	if _, err := f.NameAllowed(context.Background(), ""); err != nil {
		return err
	}
	return f.note(name, args...)
}

func (f *fake) Submit(_ context.Context, s nimbus.Submission) error { return f.mayChange("Submit", s) }
func (f *fake) PlanSubmit(_ context.Context, s nimbus.Submission) (string, error) {
	return "a plan", f.mayChange("PlanSubmit", s)
}
func (f *fake) Activate(_ context.Context, name string) error { return f.mayChange("Activate", name) }
func (f *fake) Deactivate(_ context.Context, name string) error {
	return f.mayChange("Deactivate", name)
}
func (f *fake) Kill(_ context.Context, name string, o cluster.KillOptions) error {
	return f.mayChange("Kill", name, o)
}
func (f *fake) Rebalance(_ context.Context, name string, o cluster.RebalanceOptions) error {
	return f.mayChange("Rebalance", name, o)
}
func (f *fake) PlanRebalance(_ context.Context, name string, o cluster.RebalanceOptions) (string, error) {
	return "another plan", f.mayChange("PlanRebalance", name, o)
}
func (f *fake) Debug(_ context.Context, name, component string, o cluster.DebugOptions) error {
	return f.mayChange("Debug", name, component, o)
}
func (f *fake) SetLogConfig(_ context.Context, id cluster.TopologyID, c cluster.LogConfig) error {
	return f.mayChange("SetLogConfig", id, c)
}
func (f *fake) UploadCredentials(_ context.Context, name string, c cluster.Credentials) error {
	return f.mayChange("UploadCredentials", name, c)
}
func (f *fake) Report(_ context.Context, r cluster.SupervisorReport) error {
	return f.mayChange("Report", r)
}
func (f *fake) SetStanding(_ context.Context, id cluster.SupervisorID, s cluster.Standing) error {
	return f.mayChange("SetStanding", id, s)
}
func (f *fake) AnnounceBlob(_ context.Context, key string) error { return f.note("AnnounceBlob", key) }
func (f *fake) RemovedBlob(_ context.Context, key string) error  { return f.note("RemovedBlob", key) }
func (f *fake) CheckDelete(_ context.Context, key string) error  { return f.note("CheckDelete", key) }

func summary() cluster.TopologySummary {
	return cluster.TopologySummary{ID: "words-1-1700000000", Name: "words", Status: "ACTIVE", Tasks: 3, Executors: 2, Workers: 1, UptimeSecs: 9, Owner: "ann", Replication: 1}
}

func (f *fake) ClusterSummary(context.Context) (cluster.ClusterSummary, error) {
	return cluster.ClusterSummary{
		Supervisors: []cluster.SupervisorSummary{{ID: "s1", Host: "h1", Workers: 4}, {ID: "s2", Host: "h1"}, {ID: "s3", Host: "h3"}},
		Topologies:  []cluster.TopologySummary{summary()},
		Nimbuses:    []cluster.NimbusSummary{{Host: "n1", Port: 6627, Leader: true, Version: nimbus.Version}},
	}, f.note("ClusterSummary")
}
func (f *fake) TopologySummaries(context.Context) ([]cluster.TopologySummary, error) {
	return []cluster.TopologySummary{summary()}, f.note("TopologySummaries")
}
func (f *fake) TopologySummary(_ context.Context, id cluster.TopologyID) (cluster.TopologySummary, error) {
	return summary(), f.note("TopologySummary", id)
}
func (f *fake) TopologySummaryByName(_ context.Context, name string) (cluster.TopologySummary, error) {
	return summary(), f.note("TopologySummaryByName", name)
}

func info() cluster.TopologyInfo {
	return cluster.TopologyInfo{TopologySummary: summary(), Errors: map[string][]cluster.ErrorRecord{"words": {{Text: "oops", TimeSecs: 5}}}}
}
func (f *fake) TopologyInfo(_ context.Context, id cluster.TopologyID, c cluster.ErrorsChoice) (cluster.TopologyInfo, error) {
	return info(), f.note("TopologyInfo", id, c)
}
func (f *fake) TopologyInfoByName(_ context.Context, name string, c cluster.ErrorsChoice) (cluster.TopologyInfo, error) {
	return info(), f.note("TopologyInfoByName", name, c)
}
func (f *fake) TopologyHistory(_ context.Context, user string) ([]cluster.TopologyID, error) {
	return []cluster.TopologyID{"a-1-1", "b-2-2"}, f.note("TopologyHistory", user)
}
func (f *fake) OwnerSummaries(_ context.Context, owner string) ([]cluster.OwnerSummary, error) {
	return []cluster.OwnerSummary{{Owner: "ann", Topologies: 1}}, f.note("OwnerSummaries", owner)
}
func (f *fake) TopologyConf(_ context.Context, id cluster.TopologyID) (string, error) {
	return `{"a":1}`, f.note("TopologyConf", id)
}
func (f *fake) Topology(_ context.Context, id cluster.TopologyID) (cluster.Topology, error) {
	return topology("__acker", "words"), f.note("Topology", id)
}
func (f *fake) UserTopology(_ context.Context, id cluster.TopologyID) (cluster.Topology, error) {
	return topology("words"), f.note("UserTopology", id)
}
func (f *fake) TopologyPage(_ context.Context, id cluster.TopologyID, window string, system bool) (cluster.TopologyPage, error) {
	return cluster.TopologyPage{TopologySummary: summary(), Conf: "{}"}, f.note("TopologyPage", id, window, system)
}
func (f *fake) ComponentPage(_ context.Context, id cluster.TopologyID, component, window string, system bool) (cluster.ComponentPage, error) {
	return cluster.ComponentPage{Component: component, Kind: cluster.Bolt, Topology: id}, f.note("ComponentPage", id, component, window, system)
}
func (f *fake) SupervisorPage(_ context.Context, id cluster.SupervisorID, host string, system bool) (cluster.SupervisorPage, error) {
	return cluster.SupervisorPage{Supervisors: []cluster.SupervisorSummary{{ID: id, Host: host}}}, f.note("SupervisorPage", id, host, system)
}
func (f *fake) LogConfig(_ context.Context, id cluster.TopologyID) (cluster.LogConfig, error) {
	return cluster.LogConfig{"ROOT": {Action: cluster.LogLevelUpdate, Target: "DEBUG"}}, f.note("LogConfig", id)
}
func (f *fake) NimbusConf() (string, error) { return `{"n":1}`, f.note("NimbusConf") }
func (f *fake) RingNodes(context.Context) (map[cluster.SupervisorID]string, error) {
	return map[cluster.SupervisorID]string{"s1": "h1:6629", "s2": "h1:7000"}, f.note("RingNodes")
}
func (f *fake) Standings(context.Context) (map[cluster.SupervisorID]cluster.Standing, error) {
	return map[cluster.SupervisorID]cluster.Standing{"s1": cluster.Cordoned, "s2": cluster.Drained}, f.note("Standings")
}

// topology has a component of each id.
func topology(ids ...string) cluster.Topology {
	t := cluster.Topology{Components: map[string]cluster.Component{}}
	for _, id := range ids {
		t.Components[id] = cluster.Component{Kind: cluster.Spout, Object: cluster.Object{Class: &cluster.Class{Name: "go:" + id}}}
	}
	return t
}

// site is a nimbus that serves on a port of its own.
type site struct {
	*fake
	blobs *blobstore.Store
	addr  string
	host  string
	port  int
	stop  func()
}

// serve starts a site, which leads.
func serve(t *testing.T) *site {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	store, err := blobstore.Open(blobstore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(l.Addr().String())
	number, _ := strconv.Atoi(port)
	s := &site{fake: &fake{}, blobs: store, addr: l.Addr().String(), host: host, port: number}
	s.lead(true, s.summary())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, Config{Listener: l, Conf: conf.Defaults(), Nimbus: s.fake, Blobs: store, Logger: slog.New(slog.DiscardHandler)})
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func (s *site) summary() cluster.NimbusSummary {
	return cluster.NimbusSummary{Host: s.host, Port: s.port, Leader: true, Version: nimbus.Version}
}

// connect is a client of seeds.
func connect(t *testing.T, seeds ...string) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), client.Config{Seeds: seeds, ConnectTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// raw is a generated client of a site.
func raw(t *testing.T, s *site) *gen.StormringClient {
	t.Helper()
	c, err := thrift.Dial(t.Context(), s.addr, thrift.ClientConfig{CallTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return gen.NewStormringClient(c)
}
