package handler

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/thrift"
	"github.com/stormring/stormring/thrift/assignment"
	"github.com/stormring/stormring/thrift/gen/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// host is a supervisor with one topology.
type host struct {
	record cluster.AssignmentRecord

	mu        sync.Mutex
	heard     []cluster.Executor
	refreshes int
}

func (h *host) Assignment(id cluster.TopologyID) (cluster.AssignmentRecord, bool) {
	return h.record, id == "words-1-1"
}

func (h *host) Heard(id cluster.TopologyID, executors []cluster.Executor) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if id == "words-1-1" {
		h.heard = executors
	}
	return id == "words-1-1"
}

func (h *host) Refresh() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refreshes++
}

func TestService(t *testing.T) {
	h := &host{record: cluster.AssignmentRecord{
		CodeDir: "/code", Hosts: map[cluster.SupervisorID]string{"s": "here"}, Owner: "me",
		Assignment:    cluster.Assignment{{Executor: cluster.Executor{First: 1, Last: 2}, Slot: cluster.Slot{Supervisor: "s", Port: 6700}, StartSecs: 7}},
		Resources:     map[cluster.Slot]cluster.WorkerResources{},
		SharedOffHeap: map[cluster.SupervisorID]float64{},
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- thrift.Serve(ctx, thrift.ServerConfig{
			Listener: ln, Processor: Processor(h), Logger: slog.New(slog.DiscardHandler), MaxFrame: 1 << 20, Key: "supervisor.thrift.max_buffer_size", Threads: 2,
		})
	}()
	conn, err := thrift.Dial(t.Context(), ln.Addr().String(), thrift.ClientConfig{CallTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}

	got, err := assignment.GetLocalAssignmentForStorm(t.Context(), conn, "words-1-1")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := wire.AssignmentFromThrift(got); err != nil || !reflect.DeepEqual(r, h.record) {
		t.Errorf("assignment %+v, %v, want %+v", r, err, h.record)
	}
	_, err = assignment.GetLocalAssignmentForStorm(t.Context(), conn, "other")
	if gone, ok := errors.AsType[*storm.NotAliveException](err); !ok || gone.Msg != `no assignment of topology "other" is known to this supervisor` {
		t.Errorf("of another: %v", err)
	}

	client := storm.NewSupervisorClient(conn)
	for _, id := range []string{"words-1-1", "other"} {
		if err := client.SendSupervisorWorkerHeartbeat(t.Context(), &storm.SupervisorWorkerHeartbeat{
			StormID: id, TimeSecs: 7, Executors: []*storm.ExecutorInfo{{TaskStart: 1, TaskEnd: 2}},
		}); err != nil {
			t.Error(err)
		}
	}
	if err := assignment.SendSupervisorAssignments(t.Context(), conn, assignment.ByTopology{"words-1-1": got}); err != nil {
		t.Error(err)
	}
	if want := []cluster.Executor{{First: 1, Last: 2}}; !reflect.DeepEqual(h.heard, want) || h.refreshes != 1 {
		t.Errorf("heard %v, want %v; %d refreshes", h.heard, want, h.refreshes)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
