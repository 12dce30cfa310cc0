package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

func (f *fake) TopologyConf(_ context.Context, id cluster.TopologyID) (string, error) {
	if _, err := f.find(id.Name()); err != nil {
		return "", err
	}
	return `{"topology.sr3.star.fanin": 3, "topology.sr3.line.length": 5}`, f.fail["conf"]
}

// circle is a ring node with the state of wordcount's split, task 3; another one,
// b, is dead, and had a copy of half of it. It answers as nodes do.
type circle struct {
	self ring.Node
	dead ring.Node
	down chan struct{} // closed: it answers no more
}

const stateOf = "wordcount-1-1700000000"

var split = shard.Owner{Topology: stateOf, Component: "split", Task: 3}

func newCircle(t *testing.T) *circle {
	t.Helper()
	c := &circle{down: make(chan struct{})}
	end, err := transport.Listen(transport.Config{}, "127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end.Close)
	c.self = ring.Node{ID: "a", Addr: end.Addr(), Host: "host-a", Rack: "r1", Positions: 32}
	c.dead = ring.Node{ID: "b", Addr: "192.0.2.1:6629", Host: "host-b", Positions: 32}
	return c
}

func (c *circle) Stream(context.Context, *transport.Stream, byte, []byte) error { return nil }
func (c *circle) Message([]byte)                                                {}

func (c *circle) Call(_ context.Context, method byte, request []byte) ([]byte, error) {
	select {
	case <-c.down:
		return nil, errors.New("out of order")
	default:
	}
	m := c.manifest()
	switch method {
	case protocol.GetStatus:
		return protocol.Encode(protocol.NodeStatus{
			Node: c.self, Joined: true, Complete: true, Members: []protocol.MemberStatus{{Node: c.dead, Status: "dead"}},
			Owners:  []protocol.OwnerStatus{{Owner: split, Version: 7, Committed: 7, Shards: 1, Objects: 1, Bytes: 1 << 20, Missing: 1}},
			Objects: 1, Bytes: 1 << 20, DiskBytes: 2 << 20, UnderReplicated: 1,
		}), nil
	case protocol.GetReports:
		return protocol.Encode(protocol.Reports{Reports: []protocol.TaskReport{{
			Owner: split, AtMillis: time.Now().UnixMilli(), Mode: recovery.Star, Resume: "full", Replicas: 2, Keys: 10, Bytes: 2 << 20,
			Recoveries: []protocol.Recovery{},
		}}}), nil
	case protocol.GetRecord:
		return protocol.Encode(protocol.Record{Committed: 7}), nil
	case protocol.Have:
		return protocol.Encode(protocol.HaveAnswer{Spans: []protocol.Span{{Shard: 0, First: 0, Until: 1}}}), nil
	case protocol.GetManifest:
		return m.Encode()
	case protocol.LookupKey:
		var q protocol.LookupRequest
		err := protocol.Decode(request, &q)
		return protocol.Encode(protocol.LookupAnswer{Key: q.Key, Path: []ring.Node{c.self}, Nodes: []ring.Node{c.self}}), err
	}
	return nil, errors.New("what?")
}

// manifest is of two shards: one at both, one at b alone.
func (c *circle) manifest() *shard.Manifest {
	m := &shard.Manifest{Owner: split, Version: 7, Epoch: 1, Replicas: 2}
	for i, holders := range [][]shard.NodeID{{"a", "b"}, {"b"}} {
		m.Shards = append(m.Shards, []shard.Ref{{
			ObjectID: shard.ObjectID{Owner: split, Range: shard.RangeOf(i, 2), Version: 7, Epoch: 1, Kind: shard.Base},
			Size:     1 << 20, Stored: 1 << 20, Holders: holders,
		}})
	}
	return m
}

// shown is what a command line shows of the ring; the address is ADDR.
func (c *circle) shown(t *testing.T, f *fake, args ...string) shown {
	t.Helper()
	got := f.run(t.Context(), "", args...)
	hide := func(text string) string {
		_, port, _ := net.SplitHostPort(c.self.Addr)
		return strings.NewReplacer(c.self.Addr, "HOST:PORT", port, "PORT").Replace(text)
	}
	return shown{got.code, hide(got.stdout), hide(got.stderr)}
}

// through is a fake nimbus with one supervisor on this machine, and the flag that
// says at which port its node is.
func (c *circle) through(t *testing.T) (f *fake, flag string) {
	t.Helper()
	f = newFake()
	f.summary.Supervisors = f.summary.Supervisors[:1]
	host, port, err := net.SplitHostPort(c.self.Addr)
	if err != nil {
		t.Fatal(err)
	}
	f.summary.Supervisors[0].Host = host
	return f, "sr3.port=" + port
}

func checkFile(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

func TestRingAndRecoveryShown(t *testing.T) {
	alone(t)
	c := newCircle(t)
	f, port := c.through(t)
	for _, g := range []struct {
		args string
		code int
		file string
		err  string
	}{
		{"ring", 0, "ring.txt", ""},
		{"ring lookup hello", 0, "lookup.txt", ""},
		{"ring lookup 0xff", 0, "lookup_position.txt", ""},
		{"ring lookup --owner wordcount/split/3", 0, "lookup_owner.txt", ""},
		{"ring lookup word --owner " + stateOf + "/split/3", 0, "lookup_key.txt", ""},
		{"recovery wordcount --plan", 1, "recovery_plan.txt", "stormring: recovery wordcount: state of 1 of 1 tasks would be lost\n"},
		{"recovery wordcount --plan --mode line --component split --task 3 --on host-a", 1, "recovery_plan_line.txt", "stormring: recovery wordcount: state of 1 of 1 tasks would be lost\n"},
	} {
		for _, how := range [][]string{{"-c", port}, {"--node", c.self.Addr}} {
			got := c.shown(t, f, append(strings.Fields(g.args), how...)...)
			if got.code != g.code || got.stderr != g.err {
				t.Errorf("%s %s: exit code %d, %s", g.args, how, got.code, got.stderr)
			}
			checkFile(t, g.file, got.stdout)
		}
	}
	if f.closed != 7 {
		t.Errorf("nimbus was asked %d times", f.closed)
	}
	got := c.shown(t, f, "recovery", "wordcount", "--node", c.self.Addr)
	for _, want := range []string{
		stateOf + ": 1 task with state, 1 component, version 7 is committed\n",
		"split: 1 task, 10 keys, 2.0 MiB in memory, 0 B on the ring\n", "host-a 1.0 MiB",
	} {
		if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in %+v", want, got)
		}
	}
}

func TestRingAndRecoveryJSON(t *testing.T) {
	alone(t)
	c := newCircle(t)
	for args, want := range map[string]string{
		"ring --json":          "sums.underReplicated=1",
		"ring lookup x --json": "hops=0",
		"ring lookup x --owner wordcount/split/3 --json": "state.version=7",
		"recovery wordcount --json":                      "committed=7",
		"recovery wordcount --plan --json":               "lostShards=1",
	} {
		got := c.shown(t, newFake(), append(strings.Fields(args), "--node", c.self.Addr)...)
		var v map[string]any
		if err := json.Unmarshal([]byte(got.stdout), &v); err != nil {
			t.Errorf("%s: %v in %+v", args, err, got)
			continue
		}
		path, number, _ := strings.Cut(want, "=")
		var at any = v
		for key := range strings.SplitSeq(path, ".") {
			at = at.(map[string]any)[key]
		}
		if n, err := strconv.ParseFloat(number, 64); err != nil || at != n {
			t.Errorf("%s: got %v for %s", args, at, path)
		}
	}
}

func TestRingAndRecoveryErrors(t *testing.T) {
	alone(t)
	c := newCircle(t)
	f, port := c.through(t)
	at := " --node " + c.self.Addr
	for _, g := range []struct {
		args string
		code int
		err  string
	}{
		{"ring nope", 2, `there is no command "nope"; there are lookup`},
		{"ring lookup", 2, "which key? see stormring ring lookup --help"},
		{"ring lookup a b", 2, `lookup got "b" too many; see stormring ring lookup --help`},
		{"ring lookup 0xzz" + at, 2, `position "0xzz": write it as 0x and 1 to 16 hexadecimal digits`},
		{"ring lookup --owner a/b", 2, `--owner is "a/b"; write it as TOPOLOGY/COMPONENT/TASK`},
		{"ring lookup --owner a/b/c", 2, `--owner is "a/b/c"; its task "c" is no number`},
		{"ring --node=", 2, `--node "": write it as HOST:PORT`},
		{"ring --node h -c sr3.port=0", 2, `--node "h": write it as HOST:PORT`},
		{"ring -c sr3.port=0", 1, "ring: nimbus knows no node of the ring, and sr3.port is 0, so that they may be at any port: name one with --node HOST:PORT"},
		{"recovery", 2, "which topology? the command list shows those that run; see stormring recovery --help"},
		{"recovery x --fail a", 2, "--fail is for --plan"},
		{"recovery x --mode star", 2, "--mode is for --plan"},
		{"recovery x --on a", 2, "--on is for --plan"},
		{"recovery x --plan --watch", 2, "--plan and --watch do not go together"},
		{"recovery x --plan --mode ring", 2, `--mode is "ring"; it must be star, line, tree or auto`},
		{"recovery x -c " + port, 1, `recovery x: there is no topology "x"; there are wordcount-1-1700000000, idle-2-1700000100`},
		{"recovery x" + at, 1, `recovery x: the ring has no state of topology "x"; it has that of wordcount-1-1700000000`},
		{"recovery wordcount -m lines" + at, 1, `recovery wordcount: there is no state of component "lines"; there is that of split`},
		{"recovery wordcount --task 9" + at, 1, "recovery wordcount: there is no state of task 9"},
		{"recovery wordcount --plan --task 9" + at, 1, "recovery wordcount: there is no state of such a task"},
		{"recovery wordcount --plan --fail zz" + at, 1, `recovery wordcount: no node of the ring is on "zz"; there are host-a`},
	} {
		got := f.run(t.Context(), "", strings.Fields(g.args)...)
		if want := (shown{g.code, "", "stormring: " + g.err + "\n"}); got != want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", g.args, got, want)
		}
	}
	close(c.down)
	got := c.shown(t, f, "ring", "--node", c.self.Addr)
	if got.code != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "stormring: ring: no node of the ring answered: HOST:PORT: ") {
		t.Errorf("got %+v", got)
	}
	f.summary.Supervisors = nil
	if got := f.run(t.Context(), "", "ring"); got != (shown{1, "", "stormring: ring: the cluster has no supervisors, so there is no ring\n"}) {
		t.Errorf("got %+v", got)
	}
}

// TestNodesAreFound: those that nimbus knows, several on a host, wherever they listen.
// An older nimbus knows none.
func TestNodesAreFound(t *testing.T) {
	f := newFake()
	unknown := map[string]error{"ring nodes": fmt.Errorf("getRingNodes: %w", client.ErrUnknownCall)}
	for _, c := range []struct {
		name  string
		nodes map[cluster.SupervisorID]string
		fail  map[string]error
		port  int
		want  string
	}{
		{"three on one host", map[cluster.SupervisorID]string{"s1": "h:3", "s2": "h:1", "s3": "h:2"}, nil, 0, "h:1 h:2 h:3"},
		{"one of them was known twice", map[cluster.SupervisorID]string{"old": "h:1", "s1": "h:1", "s2": "i:1"}, nil, 6629, "h:1 i:1"},
		{"none is registered", nil, nil, 6629, "a:6629 b:6629"},
		{"an older nimbus", nil, unknown, 7000, "a:7000 b:7000"},
		{"nimbus fails", nil, map[string]error{"ring nodes": errors.New("boom")}, 6629, "boom"},
		{"an older nimbus, any port", nil, unknown, 0, "nimbus knows no node of the ring, and sr3.port is 0, so that they may be at any port: name one with --node HOST:PORT"},
	} {
		f.nodes, f.fail = c.nodes, c.fail
		got, err := supervisorNodes(t.Context(), f, c.port)
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if text != c.want {
			t.Errorf("%s: got %s", c.name, text)
		}
	}
}

// TestParams: what a plan is made with is what the topology has set, unless the
// command line says otherwise.
func TestParams(t *testing.T) {
	alone(t)
	f := newFake()
	_ = f.run(t.Context(), "", "list") // which has a configuration loaded
	a := asked{conf: f.dialled, leader: f, set: map[string]any{"topology.sr3.line.length": 2}}
	params, err := a.params(t.Context(), stateOf)
	if err != nil {
		t.Fatal(err)
	}
	if p := params("split"); p.StarFanin != 3 || p.LineLength != 2 || p.TreeFanin != 4 || p.StarMaxBytes != 16<<20 || !p.LatencySensitive {
		t.Errorf("got %+v", p)
	}
	f.fail = map[string]error{"conf": errors.New("boom")}
	if _, err := a.params(t.Context(), stateOf); err == nil || err.Error() != "boom" {
		t.Errorf("got %v", err)
	}
	a.leader = nil
	if params, err = a.params(t.Context(), stateOf); err != nil || params("split").StarFanin != 16 {
		t.Errorf("got %+v, %v", params("split"), err)
	}
}

// TestWatchRecovery: it goes on while nobody answers.
func TestWatchRecovery(t *testing.T) {
	alone(t)
	c := newCircle(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	blocks, failed := 0, 0
	out := &sink{each: func(p string) {
		if blocks++; blocks == 2 {
			close(c.down)
		}
	}}
	errs := &sink{each: func(string) {
		if failed++; failed == 1 {
			cancel()
		}
	}}
	e := &env{name: "stormring", stdin: strings.NewReader(""), stdout: &output{w: out}, stderr: errs}
	v := &verbs{env: e}
	cmd := v.recovery()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs([]string{"wordcount", "--watch", "--node", c.self.Addr})
	if err := cmd.ExecuteContext(ctx); !errors.Is(err, errInterrupted) {
		t.Errorf("got %v", err)
	}
	text, said := out.take(), errs.take()
	if strings.Count(text, "version 7 is committed") != 2 || !strings.Contains(text, "\n\n20") || blocks != 2 || !strings.HasPrefix(said, "no node of the ring answered: ") {
		t.Errorf("%d blocks, %d failures:\n%s%s", blocks, failed, text, said)
	}
}

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		text          string
		width, height int
		want          string
	}{
		{"one\ntwo\n", 10, 3, "\x1b[Hone\x1b[K\ntwo\x1b[K\n\x1b[J"},
		{"one\ntwo\nthree\n", 20, 3, "\x1b[Hone\x1b[K\n… and 2 lines more\x1b[K\n\x1b[J"},
		{"0123456789", 10, 5, "\x1b[H012345678\x1b[K\n\x1b[J"},
		{"one\ntwo\n", 20, 1, "\x1b[H… and 2 lines more\x1b[K\n\x1b[J"},
	} {
		if got := frame(c.text, c.width, c.height); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
