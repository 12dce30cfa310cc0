package supervisor

import (
	"errors"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/storm"
)

const words = cluster.TopologyID("words-1-1")

func TestAssignmentIsLaunchedAtOnce(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		began := time.Now()
		h.topology(words, map[int]cluster.Port{1: 6700, 2: 6700, 3: 0})
		h.expect("6700-2")
		p := h.worker("6700-2")
		want := cluster.Orders{
			Status: cluster.StatusActive, Placement: []cluster.Place{
				{Executor: cluster.Executor{First: 1, Last: 1}, Slot: cluster.Slot{Supervisor: h.sup.ID(), Port: 6700}, Host: "here"},
				{Executor: cluster.Executor{First: 2, Last: 2}, Slot: cluster.Slot{Supervisor: h.sup.ID(), Port: 6700}, Host: "here"},
				{Executor: cluster.Executor{First: 3, Last: 3}, Slot: cluster.Slot{Supervisor: "there", Port: 6700}, Host: "there.example"},
			},
		}
		if got := p.lastOrders(); !reflect.DeepEqual(got, want) {
			t.Errorf("orders are %+v, want %+v", got, want)
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("it took %v", d)
		}
		h.after(5 * time.Second)
		r := h.boss.last()
		if len(r.Workers) != 1 || len(r.Workers[0].Executors) != 2 || r.Workers[0].Executors[0].Stats == nil || len(r.Waiting) != 0 {
			t.Errorf("the report is %+v", r)
		}
		rec, _, err := h.rec.Supervisor(t.Context(), h.sup.ID())
		if err != nil || rec.Host != "here" || !slices.Equal(rec.UsedPorts, []cluster.Port{6700}) || !slices.Equal(rec.Ports, h.ports) ||
			rec.Resources["memory.mb"] != 4096 || rec.Resources["cpu.pcore.percent"] != 400 || rec.ThriftPort != 6628 {
			t.Errorf("the record is %+v, error %v", rec, err)
		}
	})
}

func TestOrdersReachWorkers(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700, 2: 0})
		h.after(3 * time.Second)
		p := h.worker("6700-2")
		h.status(words, cluster.StatusInactive)
		if got := p.lastOrders().Status; got != cluster.StatusInactive {
			t.Errorf("status %v", got)
		}
		if err := h.rec.PutLogConfig(t.Context(), words, cluster.LogConfig{"ROOT": {Action: cluster.LogLevelUpdate, Target: "DEBUG"}}); err != nil {
			t.Fatal(err)
		}
		if err := h.rec.PutCredentials(t.Context(), words, cluster.Credentials{Values: map[string]string{"k": "v"}}); err != nil {
			t.Fatal(err)
		}
		h.settle()
		o := p.lastOrders()
		if o.Log["ROOT"].Target != "DEBUG" || o.Credentials == nil || o.Credentials.Values["k"] != "v" {
			t.Errorf("orders are %+v", o)
		}
		// The other executor comes here, into the other slot: this worker stays.
		h.place(words, map[int]cluster.Port{1: 6700, 2: 6701})
		h.expect("6700-2", "6701-2")
		if got := p.lastOrders(); got.Version != 1 || got.Placement[1].Host != "here" {
			t.Errorf("orders are %+v", got)
		}
		if err := h.rec.RemoveLogConfig(t.Context(), words); err != nil {
			t.Fatal(err)
		}
		h.settle()
		if got := p.lastOrders().Log; got != nil {
			t.Errorf("log config %v", got)
		}
	})
}

func TestReassignment(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700, 2: 6701})
		h.after(3 * time.Second)
		h.expect("6700-2", "6701-2")
		told := len(h.worker("6700-2").orders)
		old := h.worker("6700-2")
		h.place(words, map[int]cluster.Port{1: 6701, 2: 6701})
		h.after(time.Second)
		h.expect("6701-4")
		if len(old.orders) != told {
			t.Errorf("a worker that has to go got orders")
		}
		h.after(3 * time.Second)
		if err := h.rec.RemoveAssignment(t.Context(), words); err != nil {
			t.Fatal(err)
		}
		h.after(time.Second)
		h.expect()
		if got := h.blobs.held(); len(got) != 0 {
			t.Errorf("still held: %v", got)
		}
		if r := h.sup.hub.report(""); len(r.Workers) != 0 || len(r.Waiting) != 0 {
			t.Errorf("the report is %+v", r)
		}
	})
}

func TestStubbornWorkerIsKilled(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(time.Second)
		h.worker("6700-2").stub.Store(true)
		if err := h.rec.RemoveAssignment(t.Context(), words); err != nil {
			t.Fatal(err)
		}
		h.after(2900 * time.Millisecond)
		h.expect("6700-2")
		h.after(200 * time.Millisecond)
		h.expect()
		if errs, err := h.rec.ErrorComponents(t.Context(), words); err != nil || len(errs) != 0 {
			t.Errorf("to be killed is no error: %v, %v", errs, err)
		}
	})
}

func TestStoreIsAway(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(3 * time.Second)
		h.opens.cut()
		h.after(60 * time.Second)
		h.expect("6700-2")
		// A worker that dies meanwhile comes back with what is known.
		h.worker("6700-2").exit(1)
		h.settle()
		h.expect("6700-3")
		if got := h.worker("6700-3").lastOrders().Status; got != cluster.StatusActive {
			t.Errorf("status %v", got)
		}
		h.opens.heal()
		h.after(10 * time.Second)
		h.expect("6700-3")
		h.status(words, cluster.StatusInactive)
		if got := h.worker("6700-3").lastOrders().Status; got != cluster.StatusInactive {
			t.Errorf("after the outage, status %v", got)
		}
		if _, _, err := h.rec.Supervisor(t.Context(), h.sup.ID()); err != nil {
			t.Errorf("it is not announced: %v", err)
		}
		errs, err := h.rec.Errors(t.Context(), words, "__system")
		if err != nil || len(errs) != 1 || errs[0].Text != "worker 6700-2 ended with code 1" || errs[0].Host != "here" || errs[0].Port != 6700 {
			t.Errorf("errors %+v, %v", errs, err)
		}
		if h.procs.count() != 2 {
			t.Errorf("%d workers were started", h.procs.count())
		}
	})
}

func TestSessionExpires(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(3 * time.Second)
		h.store.Expire(h.opens.last.ID())
		h.after(time.Second)
		h.expect("6700-2")
		if rec, _, err := h.rec.Supervisor(t.Context(), h.sup.ID()); err != nil || rec.UptimeSecs != 3 {
			t.Errorf("it is announced as %+v, %v", rec, err)
		}
	})
}

func TestRestartAdopts(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700, 2: 6701})
		h.after(3 * time.Second)
		id := h.sup.ID()
		h.down()
		h.after(40 * time.Second) // longer than a worker may be silent
		h.expect("6700-2", "6701-2")
		h.worker("6701-2").exit(1)
		h.blobs.holders = map[string]bool{}                                            // in memory only
		stray, err := h.procs.Start(t.Context(), Launch{Worker: "6799-1", Port: 6799}) // of a record that was lost
		if err != nil {
			t.Fatal(err)
		}
		h.up()
		h.after(2 * time.Second)
		if h.sup.ID() != id {
			t.Errorf("it is %s, was %s", h.sup.ID(), id)
		}
		h.expect("6700-2", "6701-4")
		select {
		case <-stray.Done():
		default:
			t.Error("a worker that no record names lives")
		}
		if want := []string{"words-1-1 6700/1", "words-1-1 6701/3"}; !slices.Equal(h.blobs.held(), want) {
			t.Errorf("held are %v", h.blobs.held())
		}
		if len(h.procs.left) != 0 {
			t.Errorf("folders left: %v", h.procs.left)
		}
		// It obeys the new supervisor, and is watched by it.
		h.status(words, cluster.StatusInactive)
		if got := h.worker("6700-2").lastOrders().Status; got != cluster.StatusInactive {
			t.Errorf("status %v", got)
		}
		h.worker("6700-2").exit(1)
		h.settle()
		h.expect("6700-3", "6701-4")
	})
}

func TestRestartWhileStoreIsAway(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(3 * time.Second)
		h.down()
		h.opens.shut(true)
		h.up()
		h.after(5 * time.Minute)
		h.expect("6700-2")
		h.worker("6700-2").exit(1)
		h.after(time.Second)
		h.expect("6700-3")
		if got := h.worker("6700-3").lastOrders(); got.Status != cluster.StatusActive || len(got.Placement) != 1 {
			t.Errorf("orders of a worker that was started without the store: %+v", got)
		}
		h.opens.shut(false)
		h.after(10 * time.Second)
		h.expect("6700-3")
	})
}

func TestWorkerThatDiesAgainAndAgain(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.procs.doomed = true
		h.topology(words, map[int]cluster.Port{1: 6700})
		began, starts := time.Now(), []int(nil)
		for _, at := range []int{0, 1, 3, 7, 15} { // seconds: the first death costs no pause
			h.after(time.Until(began.Add(time.Duration(at)*time.Second + time.Millisecond)))
			starts = append(starts, h.procs.count())
		}
		if want := []int{2, 3, 4, 5, 6}; !slices.Equal(starts, want) {
			t.Errorf("workers started: %v, want %v", starts, want)
		}
		r := h.sup.hub.report("")
		if !contains(r.Waiting[6700], "launched again", "ended with code 1") {
			t.Errorf("waiting: %v", r.Waiting)
		}
		errs, err := h.rec.Errors(t.Context(), words, "__system")
		if err != nil || len(errs) != 6 {
			t.Errorf("%d errors, %v", len(errs), err)
		}
	})
}

func TestFailureIsTold(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(time.Second)
		p := h.worker("6700-2")
		p.mu.Lock()
		p.last = `component "words": out of words`
		p.errors = []cluster.TaskError{{Component: "words", Task: 1, Text: "no word", TimeMS: 7000}}
		p.mu.Unlock()
		h.after(time.Second)
		h.procs.mu.Lock()
		h.procs.mute = true
		h.procs.mu.Unlock()
		p.exit(1)
		h.settle()
		if why := h.sup.hub.report("").Waiting[6700]; !contains(why, "not yet heard of", "ended with code 1", "out of words") {
			t.Errorf("waiting: %s", why)
		}
		errs, err := h.rec.Errors(t.Context(), words, "words")
		if err != nil || len(errs) != 2 || errs[0].Text != `component "words": out of words` || errs[1].Text != "no word" || errs[1].TimeSecs != 7 {
			t.Errorf("errors %+v, %v", errs, err)
		}
		// The new one is never heard of.
		h.after(121 * time.Second)
		h.after(4 * time.Second)
		if got := h.procs.count(); got != 3 {
			t.Errorf("%d workers were started", got)
		}
	})
}

func TestErrorsWaitForTheStore(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(time.Second)
		h.opens.cut()
		p := h.worker("6700-2")
		for i := range 150 {
			p.mu.Lock()
			p.errors = append(p.errors, cluster.TaskError{Component: "words", Text: "no word", TimeMS: int64(i) * 1000})
			p.mu.Unlock()
		}
		h.after(60 * time.Second)
		if n := len(h.sup.sorrows.waiting[words]); n != maxComplaints {
			t.Errorf("%d errors wait", n)
		}
		h.opens.heal()
		h.after(10 * time.Second)
		errs, err := h.rec.Errors(t.Context(), words, "words")
		if err != nil || len(errs) != 10 || errs[0].TimeSecs != 149 || errs[9].TimeSecs != 140 {
			t.Errorf("errors %+v, %v", errs, err)
		}
	})
}

func TestNimbusIsAway(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(3 * time.Second)
		h.boss.setAway(true)
		h.after(60 * time.Second)
		h.expect("6700-2")
		n := h.boss.reports()
		h.boss.setAway(false)
		h.after(3 * time.Second)
		if got := h.boss.reports() - n; got != 1 {
			t.Errorf("%d reports after nimbus was away, want the newest alone", got)
		}
		if r := h.boss.last(); len(r.Workers) != 1 || time.Now().Unix()-r.Workers[0].TimeSecs > 4 {
			t.Errorf("the report is %+v", r)
		}
	})
}

func TestReportsArePaced(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.after(30 * time.Second)
		n := h.boss.reports()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(30 * time.Second)
		if n < 10 || n > 11 || h.boss.reports()-n > 13 {
			t.Errorf("%d reports of nothing in 30 s, then %d", n, h.boss.reports()-n)
		}
		for i, at := range h.boss.times[1:] {
			if at.Sub(h.boss.times[i]) < time.Second {
				t.Errorf("reports at %v and %v", h.boss.times[i], at)
			}
		}
	})
}

func TestCorruptRecords(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(3 * time.Second)
		set := func(path string) {
			t.Helper()
			if _, err := h.rec.Session().Set(t.Context(), path, []byte("garbage"), coord.AnyVersion); err != nil {
				t.Fatal(err)
			}
		}
		set("/storm/assignments/words-1-1")
		set("/storm/storms/words-1-1")
		h.topology("other-2-2", map[int]cluster.Port{1: 6701})
		h.after(30 * time.Second)
		h.expect("6700-2", "6701-2")
		// Not even a new supervisor, which has never read it.
		h.down()
		h.up()
		h.after(30 * time.Second)
		h.expect("6700-2", "6701-2")
		h.place(words, map[int]cluster.Port{1: 0})
		h.after(time.Second)
		h.expect("6701-2")
	})
}

func TestPortsChange(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700, 2: 6701})
		h.after(3 * time.Second)
		h.down()
		h.ports = []cluster.Port{6701, 6702}
		h.up()
		h.after(4 * time.Second)
		h.expect("6701-2")
		rec, _, err := h.rec.Supervisor(t.Context(), h.sup.ID())
		if err != nil || !slices.Equal(rec.Ports, h.ports) {
			t.Errorf("the record is %+v, %v", rec, err)
		}
		h.place(words, map[int]cluster.Port{1: 6702, 2: 6701})
		h.expect("6701-2", "6702-2")
	})
}

func TestStopWorkers(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.stop = true
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700, 2: 6701})
		h.after(time.Second)
		h.worker("6701-2").stub.Store(true)
		h.down()
		h.expect()
		if len(h.procs.left) != 0 || len(h.blobs.held()) != 0 {
			t.Errorf("left are %v and %v", h.procs.left, h.blobs.held())
		}
		h.up()
		h.settle()
		h.expect("6700-4", "6701-4")
	})
}

func TestBlobs(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.blobs.fail = errors.New("blob words-1-1-stormjar.jar: nimbus is away")
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.expect()
		if why := h.sup.hub.report("").Waiting[6700]; !contains(why, "being fetched", "nimbus is away") {
			t.Errorf("waiting: %s", why)
		}
		h.blobs.mu.Lock()
		h.blobs.fail = nil
		h.blobs.mu.Unlock()
		h.after(2 * time.Second)
		if h.procs.count() != 1 {
			t.Fatalf("%d workers", h.procs.count())
		}
		h.after(5 * time.Second)
		h.blobs.mu.Lock()
		h.blobs.changed = []cluster.TopologyID{words}
		h.blobs.mu.Unlock()
		h.after(30 * time.Second)
		if h.procs.count() != 2 || h.blobs.updates != 1 {
			t.Errorf("%d workers, %d updates", h.procs.count(), h.blobs.updates)
		}
	})
}

func TestSilence(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.blobs.put("calm-2-2", storm.Config{"topology.worker.timeout.secs": 100})
		h.status("calm-2-2", cluster.StatusActive)
		h.place("calm-2-2", map[int]cluster.Port{1: 6701})
		h.after(3500 * time.Millisecond)
		for _, id := range []string{"6700-2", "6701-2"} {
			h.worker(id).hush()
		}
		h.after(29 * time.Second)
		h.expect("6700-2", "6701-2")
		h.after(2 * time.Second)
		h.expect("6700-3", "6701-2")
		errs, err := h.rec.Errors(t.Context(), words, "__system")
		if err != nil || len(errs) != 1 || errs[0].Text != "worker 2 was silent for 30s" {
			t.Errorf("errors %+v, %v", errs, err)
		}
		// A restart does not forget the patience.
		h.down()
		h.up()
		h.worker("6701-2").hush()
		h.after(98 * time.Second)
		h.expect("6700-3", "6701-2")
		h.after(3 * time.Second)
		h.expect("6700-3", "6701-3")
	})
}

func TestLaunchFails(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.procs.refuse = errors.New("stormjar.jar: it is a program for Windows")
		h.topology(words, map[int]cluster.Port{1: 6700})
		if why := h.sup.hub.report("").Waiting[6700]; !contains(why, "its launch failed", "Windows") {
			t.Errorf("waiting: %s", why)
		}
		errs, err := h.rec.Errors(t.Context(), words, "__system")
		if err != nil || len(errs) != 2 || errs[0].Text != "stormjar.jar: it is a program for Windows" {
			t.Errorf("errors %+v, %v", errs, err)
		}
		h.procs.mu.Lock()
		h.procs.refuse = nil
		h.procs.mu.Unlock()
		h.after(2 * time.Second)
		h.expect("6700-4")
	})
}

func TestFilesThatVanishComeAnew(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		h.after(time.Second)
		if err := os.RemoveAll(h.blobs.root); err != nil {
			t.Fatal(err)
		}
		h.worker("6700-2").exit(1)
		h.after(2 * time.Second)
		h.expect("6700-5") // 3 failed, 4 fetched
		if h.blobs.updates != 1 || len(h.blobs.held()) != 1 {
			t.Errorf("%d updates, held are %v", h.blobs.updates, h.blobs.held())
		}
	})
}

func TestHelloOfStrangers(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		for _, hello := range []cluster.Hello{
			{Topology: words, Port: 6700, Worker: "6700-1"},
			{Topology: words, Port: 6701, Worker: "6700-2"},
			{Topology: "other", Port: 6700, Worker: "6700-2"},
		} {
			if _, err := h.sup.hub.Hello(hello); err == nil {
				t.Errorf("%+v is welcome", hello)
			}
			h.sup.hub.Pulse(hello, cluster.Pulse{Failure: "x"})
		}
		if !h.sup.Heard(words, []cluster.Executor{{First: 1, Last: 1}}) || h.sup.Heard(words, nil) {
			t.Error("heartbeats by Thrift")
		}
		if a, ok := h.sup.Assignment(words); !ok || len(a.Assignment) != 1 {
			t.Errorf("assignment %+v", a)
		}
		if _, ok := h.sup.Assignment("other"); ok {
			t.Error("an assignment of nobody")
		}
		h.sup.Refresh()
		h.settle()
	})
}

// TestStatisticsOfJVMs: what a worker without the link writes into the coordination
// store is in the next report. Of the system's executor, which each such worker names,
// nobody wants to know.
func TestStatisticsOfJVMs(t *testing.T) {
	inside(t, func(t *testing.T, h *host) {
		h.up()
		h.topology(words, map[int]cluster.Port{1: 6700})
		one := cluster.Executor{First: 1, Last: 1}
		if !h.sup.Heard(words, []cluster.Executor{{First: -1, Last: -1}, one}) {
			t.Error("a heartbeat with the system's executor is nobody's")
		}
		if got := h.sup.hub.unlinked(); len(got) != 0 {
			t.Errorf("without the link: %v, but this worker has it", got)
		}
		stats := &cluster.ExecutorStats{Rate: 0.05}
		h.sup.hub.learn(6700, cluster.WorkerReport{
			Topology: words, UptimeSecs: 7, Executors: []cluster.ExecutorReport{{Executor: one, Stats: stats}, {Executor: cluster.Executor{First: 9, Last: 9}}},
		})
		h.sup.hub.learn(6700, cluster.WorkerReport{Topology: "other", UptimeSecs: 8})
		h.sup.hub.learn(6701, cluster.WorkerReport{Topology: words, UptimeSecs: 8})
		r := h.sup.hub.report(h.sup.ID())
		if len(r.Workers) != 1 || r.Workers[0].UptimeSecs != 7 || len(r.Workers[0].Executors) != 1 || r.Workers[0].Executors[0].Stats != stats {
			t.Errorf("the report is %+v", r)
		}
		// The next sign of life keeps them.
		h.sup.Heard(words, []cluster.Executor{one})
		if r := h.sup.hub.report(h.sup.ID()); r.Workers[0].UptimeSecs != 7 || r.Workers[0].Executors[0].Stats != stats {
			t.Errorf("then it is %+v", r)
		}
		h.settle()
	})
}
