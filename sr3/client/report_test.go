package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/transport"
)

func TestReportsReachTheNodeOfTheHost(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3)
	c := r.client("n1")
	w := r.worker(c, nil)
	v := w.written(300)
	w.mustLoad(v)
	w.Close()
	h := r.heir(w, c, nil)
	h.mustLoad(v)
	h.put("k", "v")
	h.checkpoint(v + 1)
	var got protocol.TaskReport
	eventually(t, "the report is there", func() bool {
		var a protocol.Reports
		if err := c.ask(t.Context(), r.nodes["n1"].Addr(), protocol.GetReports, protocol.TopologyRequest{Topology: topology}, &a); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(a.Reports, func(r protocol.TaskReport) bool { return r.Checkpoint.Version == v+1 })
		if i >= 0 {
			got = a.Reports[i]
		}
		return i >= 0
	})
	if got.Owner != w.Owner() || got.Resume != "full" || got.Replicas != 3 || got.Keys != int64(len(h.model)) || got.Failed != "" {
		t.Errorf("reported %+v", got)
	}
	if c := got.Checkpoint; c.Objects != 1 || len(c.Nodes) != 3 || c.Short != 0 || c.Stored < c.Bytes || c.Bytes == 0 {
		t.Errorf("reported checkpoint %+v", c)
	}
	if n := len(got.Recoveries); n != 1 {
		t.Fatalf("reported %d recoveries", n)
	}
	e := got.Recoveries[0]
	if e.Version != v || e.Receiver != "n1" || e.Installed != e.Shards || e.Running || e.FirstMS <= 0 || e.Bytes == 0 || e.FetchMS <= 0 {
		t.Errorf("reported recovery %+v", e)
	}
}

// TestOutageIsReported: what is known of what came before the worker.
func TestOutageIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	c := r.client("n0")
	w := r.worker(c, nil)
	v := w.written(10)
	w.Close()
	h := r.heir(w, c, func(o *TaskOptions) { o.Noticed, o.Detect = time.Now().Add(-2*time.Second), 61500*time.Microsecond })
	h.mustLoad(v)
	got := h.Report().Recoveries
	if len(got) != 1 || got[0].DetectMS != 61.5 || got[0].PlaceMS < 2000 {
		t.Errorf("reported %+v", got)
	}
}

func TestFailedSaveIsReported(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1)
	w := r.worker(r.client("n0"), func(o *TaskOptions) { o.SaveTimeout = 200 * time.Millisecond })
	w.mustLoad(0)
	r.kill("n0")
	err := w.save(1)
	isErr(t, "save without nodes", err, context.DeadlineExceeded)
	if got := w.Report().Failed; got != err.Error() || !strings.Contains(got, "it took longer than 200ms") {
		t.Errorf("reported %q", got)
	}
}

func TestCommitRecord(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2)
	c := r.client("n0")
	first := protocol.Record{Committed: 3, Last: 1, Claimant: 7}
	for i, s := range []struct {
		expect, next protocol.Record
		written      bool
	}{
		{next: first, written: true},
		{next: first},
		{expect: first, next: protocol.Record{Committed: 4, Last: 1, Claimant: 7}, written: true},
	} {
		if got, err := c.Swap(t.Context(), topology, s.expect, s.next); err != nil || got != s.written {
			t.Errorf("swap %d: %v, %v, want %v", i, got, err, s.written)
		}
	}
	r.kill("n0") // any node will do
	got, err := c.Record(t.Context(), topology)
	if err != nil || got.Committed != 4 {
		t.Errorf("record %+v, %v", got, err)
	}
	r.kill("n1")
	if _, err := c.Record(t.Context(), topology); err == nil {
		t.Error("a record without any node")
	}
	if _, err := c.Swap(t.Context(), topology, got, first); err == nil {
		t.Error("a swap without any node")
	}
}

// liar writes the record and says that it failed.
type liar struct {
	mu     sync.Mutex
	record protocol.Record
}

func (l *liar) Call(_ context.Context, method byte, request []byte) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if method == protocol.SwapRecord {
		var q protocol.SwapRequest
		if err := protocol.Decode(request, &q); err != nil {
			return nil, err
		}
		if l.record == q.Expect {
			l.record = q.Next
			return nil, errors.New("nobody knows")
		}
		return protocol.Encode(protocol.SwapAnswer{}), nil
	}
	return protocol.Encode(l.record), nil
}

func (*liar) Message([]byte) {}

func (*liar) Stream(context.Context, *transport.Stream, byte, []byte) error {
	return errors.New("no streams")
}

func TestSwapFindsOutWhatHappened(t *testing.T) {
	t.Parallel()
	l := new(liar)
	var addrs []string
	for range 2 {
		e, err := transport.Listen(transport.Config{}, "127.0.0.1:0", l)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		addrs = append(addrs, e.Addr())
	}
	c, err := Dial(Config{Nodes: func() []string { return addrs }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	next := protocol.Record{Committed: 1, Last: 1, Claimant: 9}
	if written, err := c.Swap(t.Context(), topology, protocol.Record{}, next); err != nil || !written {
		t.Errorf("a swap whose first answer was lost: %v, %v", written, err)
	}
	other := protocol.Record{Committed: 1, Last: 2, Claimant: 10}
	if written, err := c.Swap(t.Context(), topology, protocol.Record{}, other); err != nil || written {
		t.Errorf("a swap that came too late: %v, %v", written, err)
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	if _, err := Dial(Config{}); err == nil {
		t.Error("a client without nodes")
	}
	if _, err := Dial(Config{Nodes: func() []string { return nil }, Level: 23}); err == nil {
		t.Error("level 23")
	}
	c, err := Dial(Config{Nodes: func() []string { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	post := func(func()) {}
	for _, o := range []TaskOptions{{}, {Post: post, Replicas: -1}, {Post: post, Replicas: 99}, {Post: post, Mode: "spiral"}} {
		if _, err := c.Task(o); err == nil {
			t.Errorf("options %+v", o)
		}
	}
}
