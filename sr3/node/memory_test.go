package node

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
)

// empties says that nobody else is registered, as after all sessions of the
// coordination store have expired.
func empties(n *Node) { n.SetSeeds([]ring.Node{n.Self()}) }

// again starts a node anew where it was, with an empty registry.
func (r *rig) again(name string, addr string) *Node {
	r.t.Helper()
	cfg := r.configs[name]
	cfg.Addr = addr
	n, err := Start(r.t.Context(), cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.nodes[name] = n
	empties(n)
	return n
}

// memoryOf is what a node has written down; nil if that is nothing yet.
func (r *rig) memoryOf(name string) []ring.Node {
	text, err := os.ReadFile(filepath.Join(r.configs[name].Dir, memoryFile))
	if err != nil {
		return nil
	}
	nodes, err := decodeMemory(text)
	if err != nil {
		return nil // a test has spoiled it
	}
	return nodes
}

// Two nodes are restarted while nobody is registered: neither answers for the whole
// ring before they have found each other.
func TestRestartWithoutRegistry(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	slow := func(c *Config) { c.Ring.PingEvery = time.Second } // time enough to look
	for _, name := range []string{"a", "b"} {
		r.start(name, slow)
	}
	r.settle()
	a, b := r.nodes["a"].Self(), r.nodes["b"].Self()
	eventually(t, "both remember each other", func() bool {
		return slices.Equal(r.memoryOf("a"), []ring.Node{b}) && slices.Equal(r.memoryOf("b"), []ring.Node{a})
	})
	r.kill("a")
	r.kill("b")

	n := r.again("a", a.Addr)
	if s := n.Status(); s.Joined || s.Complete {
		t.Errorf("alone, and it is joined %t, complete %t", s.Joined, s.Complete)
	}
	if v, err := call[protocol.View](r, n, protocol.GetView, nothing{}); err != nil || v.Complete || len(v.Nodes) > 0 {
		t.Errorf("alone, and it shows a ring: %+v, %v", v, err)
	}
	if _, err := call[protocol.LookupAnswer](r, n, protocol.LookupKey, protocol.LookupRequest{Key: 7}); codeOf(err) != protocol.CodeUnavailable {
		t.Errorf("alone, and it answers for the ring: %v", err)
	}
	r.again("b", b.Addr)
	r.settle()
}

// A node whose ring is gone for good becomes a ring of one, and has forgotten the
// others by then.
func TestRestartWithoutTheOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	addr := r.nodes["a"].Addr()
	eventually(t, "it remembers the others", func() bool { return len(r.memoryOf("a")) == 2 })
	for _, name := range []string{"a", "b", "c"} {
		r.kill(name)
	}
	began := time.Now()
	n := r.again("a", addr)
	if s := n.Status(); s.Joined || s.Complete {
		t.Errorf("at once it is joined %t, complete %t", s.Joined, s.Complete)
	}
	r.settle()
	if d, least := time.Since(began), 10*quick().PingEvery-time.Millisecond; d < least {
		t.Errorf("it gave the others up after %v, want at least %v", d, least)
	}
	eventually(t, "it has forgotten them", func() bool { return len(r.memoryOf("a")) == 0 })
	r.kill("a")
	n = r.again("a", addr)
	if s := n.Status(); !s.Joined || !s.Complete {
		t.Errorf("at its next start it is joined %t, complete %t", s.Joined, s.Complete)
	}
}

// A node that was always alone has nobody to wait for, and writes nothing.
func TestAlwaysAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a")
	addr := r.nodes["a"].Addr()
	r.kill("a")
	if s := r.again("a", addr).Status(); !s.Joined || !s.Complete {
		t.Errorf("it is joined %t, complete %t", s.Joined, s.Complete)
	}
	if _, err := os.Stat(filepath.Join(r.configs["a"].Dir, memoryFile)); !os.IsNotExist(err) {
		t.Errorf("%s: %v", memoryFile, err)
	}
}

// The dead are forgotten, and a memory that cannot be read is as good as none.
func TestMemoryOfTheDead(t *testing.T) {
	t.Parallel()
	r := newRig(t, "a", "b", "c")
	addr, c := r.nodes["a"].Addr(), r.nodes["c"].Self()
	r.kill("b")
	r.settle()
	eventually(t, "it remembers who lives", func() bool { return slices.Equal(r.memoryOf("a"), []ring.Node{c}) })
	r.kill("a")
	path := filepath.Join(r.configs["a"].Dir, memoryFile)
	if err := os.WriteFile(path, []byte(`{"format":1,"nodes":[{"id":"c"`), 0o600); err != nil {
		t.Fatal(err)
	}
	var log said
	cfg := r.configs["a"]
	cfg.Log = slog.New(slog.NewTextHandler(&log, nil))
	r.configs["a"] = cfg
	if s := r.again("a", addr).Status(); !s.Joined {
		t.Error("it waits for somebody whose name it cannot read")
	}
	if log.count("cannot be read") != 1 {
		t.Error("it does not say so")
	}
	r.settle() // c calls upon it, since it is known to be dead
	eventually(t, "the file is mended", func() bool { return slices.Equal(r.memoryOf("a"), []ring.Node{c}) })
}

func someNodes(n int) []ring.Node {
	var out []ring.Node
	for i := range n {
		out = append(out, ring.Node{ID: fmt.Sprintf("n%02d", i), Addr: fmt.Sprintf("host%d:6703", i), Host: fmt.Sprintf("host%d", i), Rack: "r", Positions: 16})
	}
	return out
}

func TestWorthRemembering(t *testing.T) {
	few, many := someNodes(4), someNodes(60)
	self := few[0].ID
	moved := few[2]
	moved.Addr = "elsewhere:1"
	for _, c := range []struct {
		name     string
		view     []ring.Node
		recalled []ring.Node
		want     []ring.Node
	}{
		{"alone", few[:1], nil, []ring.Node{}},
		{"all but itself", few, nil, few[1:]},
		{"who is waited for", few[:2], few[3:], []ring.Node{few[1], few[3]}},
		{"each once", few, []ring.Node{moved}, []ring.Node{few[1], moved, few[3]}},
		{"only waited for", few[:1], few[1:], few[1:]},
	} {
		if got := worthRemembering(&picture{view: ring.NewView(c.view), recalled: c.recalled}, self); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	p := &picture{view: ring.NewView(many), recalled: someNodes(64)[60:]}
	got := worthRemembering(p, self)
	if len(got) != mostRemembered || !slices.ContainsFunc(got, func(n ring.Node) bool { return n.ID == "n63" }) {
		t.Errorf("of many: %d, %v", len(got), got)
	}
	if !slices.Equal(got, worthRemembering(p, self)) {
		t.Error("of many it remembers others each time")
	}
}

func TestDecodeMemory(t *testing.T) {
	nodes := someNodes(3)
	text, err := encodeMemory(nodes)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeMemory(text); err != nil || !slices.Equal(got, nodes) {
		t.Errorf("it comes back as %v, %v", got, err)
	}
	if text, err = encodeMemory(someNodes(mostRemembered + 1)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                            "unexpected end of JSON input",
		`{}`:                          "it has format 0, this release reads 1",
		`{"format":2,"nodes":[]}`:     "it has format 2, this release reads 1",
		`{"format":1,"nodes":[{}]}`:   "ring: a node without id",
		`{"format":1,"nodes":"none"}`: "cannot unmarshal",
		string(text):                  "it has 33 nodes, at most 32 are written",
	} {
		if got, err := decodeMemory([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzDecodeMemory(f *testing.F) {
	text, err := encodeMemory(someNodes(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		nodes, err := decodeMemory(text)
		if err != nil {
			return
		}
		again, err := encodeMemory(nodes)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeMemory(again); err != nil || !slices.Equal(got, nodes) {
			t.Errorf("%v became %v, %v", nodes, got, err)
		}
	})
}

// What cannot be written is tried again with the next news.
func TestMemoryThatCannotBeKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	m := openMemory(dir, slog.New(slog.DiscardHandler))
	nodes := someNodes(2)
	if err := m.keep(nodes); err == nil {
		t.Error("it is kept nowhere")
	}
	if err := os.Mkdir(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := m.keep(nodes); err != nil {
		t.Error(err)
	}
	if got := openMemory(dir, slog.New(slog.DiscardHandler)).kept; !slices.Equal(got, nodes) {
		t.Errorf("it is kept as %v", got)
	}
	if m := openMemory("", nil); m.keep(nodes) != nil || m.path != "" {
		t.Error("without a folder it has a file")
	}
}
