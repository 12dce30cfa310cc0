package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/sr3/protocol"
	sr3 "github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
)

// asRole in the environment makes the test's program a process of the lab.
const asRole = "STORMRING_LAB_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(asRole) != "" {
		if err := Serve(context.Background(), os.Stdin, os.Stdout, slog.New(slog.DiscardHandler)); err != nil {
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m,
		// Of the nodes' stores: it ends up to a second after Close.
		goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// serve runs a role in this process, as a child that is asked through pipes.
func serve(t *testing.T, name string, r role) (*child, reply) {
	t.Helper()
	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		err := Serve(context.WithoutCancel(t.Context()), in, out, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out.CloseWithError(err)
	})
	t.Cleanup(func() {
		toIn.Close()
		wg.Wait()
	})
	c := &child{name: name, in: toIn, to: json.NewEncoder(toIn), from: json.NewDecoder(fromOut)}
	a, err := c.ask(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, a
}

func (c *child) must(t *testing.T, q request, marked func(reply) error) reply {
	t.Helper()
	a, err := c.ask(q, marked)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestRoles: what a worker saves on a node, another worker brings back, in all
// ways that the lab asks for.
func TestRoles(t *testing.T) {
	folder := t.TempDir()
	n, hello := serve(t, "node", role{Node: &nodeRole{ID: "n01", Addr: "127.0.0.1:0", Dir: t.TempDir(), Records: folder}})
	n.must(t, request{Seeds: []ring.Node{hello.Self}}, nil)
	if a := n.must(t, request{Status: true}, nil); a.Living != 1 {
		t.Fatalf("%d nodes live, want 1", a.Living)
	}
	s := state{Task: 1, Bytes: 256 << 10, Seed: 1}
	saver, _ := serve(t, "saver", role{Worker: &workerRole{Nodes: []string{hello.Self.Addr}}})
	first := saver.must(t, request{Fill: &fillRequest{state: s, Version: 1, Share: 1, Replicas: 1, ShardKiB: 64}}, nil)
	second := saver.must(t, request{Fill: &fillRequest{state: s, Version: 2, Share: 0.4, Replicas: 1}}, nil)
	if first.Digest == second.Digest || !strings.HasPrefix(second.Digest, "1985 entries, ") || second.Stored <= first.Stored {
		t.Fatalf("%+v\n%+v", first, second)
	}
	if r, err := (records{folder}).Get(t.Context(), "lab-1"); err != nil || r.Committed != 2 {
		t.Fatalf("%+v, %v", r, err)
	}

	w, _ := serve(t, "worker", role{Worker: &workerRole{Nodes: []string{hello.Self.Addr}}})
	load := loadRequest{state: s, Version: 2, Epoch: 2, Replicas: 1, Mode: sr3.Star, Mark: 0.01}
	marks := 0
	a := w.must(t, request{Load: &load}, func(reply) error { marks++; return nil })
	if a.Digest != second.Digest || a.Entry == nil || a.Entry.Mode != sr3.Star || marks > 1 {
		t.Fatalf("%+v, %d marks", a, marks)
	}
	load.Epoch, load.Mark, load.First = 3, 0, true
	if a = w.must(t, request{Load: &load}, nil); a.Digest != second.Digest || a.Took <= 0 {
		t.Fatalf("%+v", a)
	}
	load.Epoch = 1 // of a placement that is over
	if _, err := w.ask(request{Load: &load}, nil); err == nil || !strings.Contains(err.Error(), "later placement") {
		t.Fatalf("a load by an old placement: %v", err)
	}
}

// TestFloor: the source gives what is asked for.
func TestFloor(t *testing.T) {
	_, hello := serve(t, "source", role{Source: &sourceRole{Addr: "127.0.0.1:0"}})
	w, _ := serve(t, "worker", role{Worker: &workerRole{}})
	a := w.must(t, request{Floor: &floorRequest{Addr: hello.Self.Addr, Bytes: 3<<20 + 1, Connections: 3}}, nil)
	if a.Took <= 0 {
		t.Fatalf("%+v", a)
	}
}

func TestRecords(t *testing.T) {
	r := records{t.TempDir()}
	if got, err := r.Get(t.Context(), "a"); err != nil || got != (protocol.Record{}) {
		t.Fatalf("%+v, %v", got, err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for done := 0; done < 10; {
				was, err := r.Get(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				next := was
				next.Committed++
				written, err := r.Swap(t.Context(), "a", was, next)
				if err != nil {
					t.Error(err)
					return
				}
				if written {
					done++
				}
			}
		})
	}
	wg.Wait()
	if got, err := r.Get(t.Context(), "a"); err != nil || got.Committed != 40 {
		t.Fatalf("%+v, %v; want version 40", got, err)
	}
	if ids, err := r.Topologies(t.Context()); err != nil || len(ids) != 1 || ids[0] != "a" {
		t.Fatalf("%v, %v", ids, err)
	}
}

// TestRing: a ring for other benches takes what a worker saves, and leaves no process
// and no folder behind.
func TestRing(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(asRole, "1")
	r, err := StartRing(t.Context(), RingOptions{Nodes: 2, Command: []string{self}, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if pids := r.PIDs(); len(pids) != 2 || pids[0] == pids[1] {
		t.Fatalf("processes %v, want two", pids)
	}
	w, _ := serve(t, "worker", role{Worker: &workerRole{Nodes: []string{r.Addr()}}})
	w.must(t, request{Fill: &fillRequest{state: state{Task: 1, Bytes: 64 << 10, Seed: 1}, Version: 1, Share: 1, Replicas: 2, ShardKiB: 64}}, nil)
	if record, err := r.Record(t.Context(), "lab-1"); err != nil || record.Committed != 1 {
		t.Fatalf("%+v, %v; want version 1", record, err)
	}
	pids := r.PIDs()
	r.Close()
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d: %v, want it to be gone", pid, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Fatalf("%v, %v are left behind", left, err)
	}
}
