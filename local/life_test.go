package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
)

// fake is a component made of functions; nil ones do nothing. It is spout and
// bolt.
type fake struct {
	open     func(*fake) error
	next     func(*fake) error
	ack      func(*fake, storm.Value)
	fail     func(*fake, storm.Value)
	execute  func(*fake, storm.Tuple) error
	end      func(*fake)
	activity func(*fake, bool)
	over     func(*fake) bool

	ctx   *storm.TopologyContext
	spout *storm.SpoutOutputCollector
	bolt  *storm.OutputCollector
	n     int64 // for the functions to use
}

type (
	fakeSpout struct{ *fake }
	fakeBolt  struct{ *fake }
)

var (
	_ storm.Activator = fakeSpout{}
	_ storm.Bounded   = fakeSpout{}
)

func (f *fake) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("n") }

func (f *fake) prepared() error {
	if f.open == nil {
		return nil
	}
	return f.open(f)
}

func (f *fake) ended() error {
	if f.end != nil {
		f.end(f)
	}
	return nil
}

func (s fakeSpout) Open(ctx *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.ctx, s.spout = ctx, out
	return s.prepared()
}

func (s fakeSpout) NextTuple() error { return s.next(s.fake) }

func (s fakeSpout) Ack(id storm.Value) {
	if s.ack != nil {
		s.ack(s.fake, id)
	}
}

func (s fakeSpout) Fail(id storm.Value) {
	if s.fail != nil {
		s.fail(s.fake, id)
	}
}

func (s fakeSpout) Close() error    { return s.ended() }
func (s fakeSpout) Activate()       { s.active(true) }
func (s fakeSpout) Deactivate()     { s.active(false) }
func (s fakeSpout) Exhausted() bool { return s.over != nil && s.over(s.fake) }

func (f *fake) active(yes bool) {
	if f.activity != nil {
		f.activity(f, yes)
	}
}

func (b fakeBolt) Prepare(ctx *storm.TopologyContext, out *storm.OutputCollector) error {
	b.ctx, b.bolt = ctx, out
	return b.prepared()
}

func (b fakeBolt) Execute(t storm.Tuple) error { return b.execute(b.fake, t) }
func (b fakeBolt) Cleanup() error              { return b.ended() }

// spoutOf and boltOf make a fresh instance from a template each time.
func spoutOf(f fake) func() storm.Spout {
	return func() storm.Spout {
		mine := f
		return fakeSpout{&mine}
	}
}

func boltOf(f fake) func() storm.Bolt {
	return func() storm.Bolt {
		mine := f
		return fakeBolt{&mine}
	}
}

// upTo emits the numbers below n, each tracked under itself, and has come to
// its end then.
func upTo(n int64) fake {
	return fake{
		next: func(f *fake) error {
			if f.n < n {
				f.n++
				f.spout.EmitTracked(storm.Int(f.n-1), storm.Int(f.n-1))
			}
			return nil
		},
		over: func(f *fake) bool { return f.n == n },
	}
}

func ackAll(f *fake, t storm.Tuple) error {
	f.bolt.Ack(&t)
	return nil
}

// pair is one spout and one bolt that gets its tuples.
func pair(tb testing.TB, spout, bolt fake, add ...func(*storm.TopologyBuilder)) *storm.Topology {
	tb.Helper()
	b := storm.NewTopologyBuilder()
	b.SetSpout("spout", spoutOf(spout), 1)
	b.SetBolt("bolt", boltOf(bolt), 1).ShuffleGrouping("spout")
	for _, f := range add {
		f(b)
	}
	top, err := b.Build()
	if err != nil {
		tb.Fatal(err)
	}
	return top
}

// launch makes a topology whose workers are connected in memory.
func launch(tb testing.TB, top *storm.Topology, opts Options) *Topology {
	tb.Helper()
	opts.Name, opts.Instance = "life", &storm.Instance{Topology: top}
	running, err := New(opts)
	if err != nil {
		tb.Fatal(err)
	}
	newMemory().use(running)
	return running
}

// bubble is a test in virtual time.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, f)
}

// A worker that is told to begin active while it is being made stays active.
func TestActivationIsNotLost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		acked := make(chan struct{})
		spout := upTo(1)
		spout.ack = func(*fake, storm.Value) { close(acked) }
		top := launch(t, pair(t, spout, fake{execute: ackAll}), Options{})
		w, err := top.slots[0].newWorker(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		top.slots[0].setActive(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		select {
		case <-acked:
		case <-time.After(time.Minute):
			t.Error("the spout emits nothing")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestInterruptDrains(t *testing.T) {
	tests := []struct {
		name      string
		total     int64 // what the spout has to emit
		emit      int64 // what it has emitted when it is interrupted
		opts      Options
		interrupt bool
		want      Result
	}{
		{"in the middle", 1 << 40, 1000, Options{}, true, Result{Interrupted: true, Partial: true}},
		{"at the end of the spout", 1000, 1000, Options{}, true, Result{Interrupted: true}},
		{"RunFor", 1 << 40, 1000, Options{RunFor: 5 * time.Second}, false, Result{Partial: true}},
	}
	for _, workers := range []int{1, 2} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(tt.name, workers), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					// The bolt keeps all until the spout has been deactivated, so
					// that everything is still to be drained then.
					var emitted, acked atomic.Int64
					paused := make(chan struct{})
					spout := upTo(tt.total)
					spout.next = func(f *fake) error {
						if f.n < tt.emit {
							f.n = emitted.Add(1)
							f.spout.EmitTracked(storm.Int(f.n), storm.Int(f.n))
						} else if f.n == tt.emit && tt.interrupt {
							cancel()
						}
						return nil
					}
					spout.ack = func(*fake, storm.Value) { acked.Add(1) }
					spout.fail = func(_ *fake, id storm.Value) { t.Errorf("%v failed", id) }
					spout.activity = func(_ *fake, active bool) {
						if !active {
							close(paused)
						}
					}
					bolt := fake{execute: func(f *fake, tp storm.Tuple) error {
						<-paused
						f.bolt.Ack(&tp)
						return nil
					}}
					tt.opts.Conf = storm.Config{"topology.workers": workers, "topology.message.timeout.secs": 300, "topology.sleep.spout.wait.strategy.time.ms": 50}
					res, err := launch(t, pair(t, spout, bolt), tt.opts).Run(ctx)
					if err != nil {
						t.Error(err)
					}
					if emitted.Load() != tt.emit || acked.Load() != tt.emit || res.Totals.Executed != uint64(tt.emit) || res.Totals.Acked != uint64(tt.emit) {
						t.Errorf("%d emitted, %d acked; totals %+v; want %d", emitted.Load(), acked.Load(), res.Totals, tt.emit)
					}
					if tt.opts.RunFor > 0 && (res.Took < tt.opts.RunFor || res.Took > tt.opts.RunFor+time.Second) {
						t.Errorf("took %s, not %s", res.Took, tt.opts.RunFor)
					}
					res.Took, res.Totals = 0, Progress{}
					if res != tt.want {
						t.Errorf("result %+v, want %+v", res, tt.want)
					}
				})
			})
		}
	}
}

// What fails while it drains is not emitted again, so the run is not whole.
func TestFailureWhileDrainingIsPartial(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		paused := make(chan struct{})
		spout := upTo(1)
		again := false
		spout.next = func(f *fake) error {
			if f.n == 0 || again {
				f.n, again = 1, false
				f.spout.EmitTracked(storm.Int(1), storm.Int(1))
				cancel()
			}
			return nil
		}
		spout.over = func(f *fake) bool { return f.n == 1 && !again }
		spout.fail = func(*fake, storm.Value) { again = true }
		spout.activity = func(_ *fake, active bool) {
			if !active {
				close(paused)
			}
		}
		bolt := fake{execute: func(f *fake, tp storm.Tuple) error {
			<-paused
			f.bolt.Fail(&tp)
			return nil
		}}
		res, err := launch(t, pair(t, spout, bolt), Options{}).Run(ctx)
		if err != nil {
			t.Error(err)
		}
		if !res.Partial || !res.Interrupted || res.Undrained != 0 || res.Totals.Failed != 1 {
			t.Errorf("result %+v", res)
		}
	})
}

func TestDrainingIsGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 20
		spout := upTo(n)
		forget := fake{execute: func(*fake, storm.Tuple) error { return nil }}
		res, err := launch(t, pair(t, spout, forget), Options{
			RunFor: time.Second, DrainFor: 5 * time.Second,
		}).Run(t.Context())
		if err != nil || !res.Partial || res.Interrupted || res.Undrained != n {
			t.Errorf("result %+v, error %v", res, err)
		}
		if res.Took < 6*time.Second || res.Took > 7*time.Second {
			t.Errorf("took %s", res.Took)
		}
	})
}

// A bolt that never returns holds a run up for a while, not for ever.
func TestBoltThatNeverReturns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		stuck := make(chan struct{})
		bolt := fake{execute: func(*fake, storm.Tuple) error {
			<-stuck
			return nil
		}}
		res, err := launch(t, pair(t, upTo(3), bolt), Options{RunFor: time.Second, DrainFor: time.Second}).Run(t.Context())
		close(stuck) // lets the test end
		if err == nil || !strings.Contains(err.Error(), `component "bolt", tasks 2 to 2: has not returned within 20s of being stopped`) {
			t.Errorf("error %v", err)
		}
		if !res.Partial || res.Undrained != 3 {
			t.Errorf("result %+v", res)
		}
		if res.Took > 30*time.Second {
			t.Errorf("took %s", res.Took)
		}
	})
}

func TestComponentThatNeverWorks(t *testing.T) {
	broken := errors.New("no licence")
	fails := func(*fake) error { return broken }
	good := fake{execute: ackAll}
	badNext := upTo(1)
	badNext.next = fails
	tests := []struct {
		name        string
		spout, bolt fake
		hook        error
		want        string
	}{
		{"Prepare", upTo(1), fake{open: fails}, nil, `component "bolt" task 2: Prepare: no licence`},
		{"Open", fake{open: fails, next: upTo(0).next}, good, nil, `component "spout" task 3: Open: no licence`},
		{"NextTuple", badNext, good, nil, `component "spout" task 3: NextTuple: no licence`},
		{"Execute", upTo(1), fake{execute: func(*fake, storm.Tuple) error { return broken }}, nil, `component "bolt" task 2: Execute: no licence`},
		{"hook", upTo(1), good, broken, "worker hook *local.recorder: start: no licence"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				top := pair(t, tt.spout, tt.bolt, func(b *storm.TopologyBuilder) {
					b.AddWorkerHook(func() storm.WorkerHook { return &recorder{err: tt.hook} })
				})
				res, err := launch(t, top, Options{}).Run(t.Context())
				if want := "worker 0 failed 9 times in a row, last: " + tt.want; err == nil || err.Error() != want {
					t.Errorf("error %q, want %q", err, want)
				}
				if !errors.Is(err, broken) {
					t.Error("the cause is not wrapped")
				}
				if !res.Partial || res.Interrupted || res.Restarts != mostRetries || res.Took > 30*time.Second {
					t.Errorf("result %+v", res)
				}
			})
		})
	}
}

// recorder is a worker hook that notes what happens.
type recorder struct {
	events *events
	err    error
}

type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(format string, args ...any) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, fmt.Sprintf(format, args...))
}

func (r *recorder) Start(ctx *storm.WorkerContext) error {
	r.events.add("hook starts for %d tasks", len(ctx.Tasks))
	ctx.Shared.Put("from the hook", "salt")
	return r.err
}

func (r *recorder) Shutdown() error {
	r.events.add("hook ends")
	return nil
}

func TestHooksSharedValuesAndTicks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var log events
		var ticks, tuples atomic.Int64
		spout := upTo(5)
		spout.end = func(*fake) { log.add("spout ends") }
		spout.over = nil // it waits for more for ever
		bolt := fake{
			open: func(f *fake) error {
				salt, _ := f.ctx.Shared().Get("from the hook")
				log.add("bolt finds %v", salt)
				return nil
			},
			execute: func(f *fake, tp storm.Tuple) error {
				if tp.IsTick() {
					if tp.SourceTask() != storm.SystemTask || tp.IsTracked() || tp.Int(0) != 3 {
						t.Errorf("tick %v", tp)
					}
					ticks.Add(1)
				} else {
					tuples.Add(1)
				}
				f.bolt.Ack(&tp)
				return nil
			},
			end: func(*fake) { log.add("bolt ends") },
		}
		top := pair(t, spout, bolt, func(b *storm.TopologyBuilder) {
			b.AddWorkerHook(func() storm.WorkerHook { return &recorder{events: &log} })
			b.SetBolt("ticked", boltOf(bolt), 1).SetConf("topology.tick.tuple.freq.secs", 3).ShuffleGrouping("spout")
		})
		res, err := launch(t, top, Options{RunFor: 31 * time.Second}).Run(t.Context())
		if err != nil {
			t.Error(err)
		}
		// Ticks are no input of anybody, so the spout's tuples are all there is.
		if ticks.Load() != 10 || tuples.Load() != 10 || res.Totals.Acked != 5 || res.Undrained != 0 {
			t.Errorf("%d ticks, %d tuples, result %+v", ticks.Load(), tuples.Load(), res)
		}
		want := []string{
			"hook starts for 4 tasks", "bolt finds salt", "bolt finds salt",
			"spout ends", "bolt ends", "bolt ends", "hook ends",
		}
		if !slices.Equal(log.list, want) {
			t.Errorf("events %q, want %q", log.list, want)
		}
	})
}

// While spouts are deactivated NextTuple is not called, but acks arrive.
func TestDeactivatedSpouts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var log events
		release := make(chan struct{})
		inactive := false
		spout := fake{
			activity: func(_ *fake, active bool) {
				log.add("active: %v", active)
				if inactive = !active; inactive {
					close(release)
				}
			},
			next: func(f *fake) error {
				if inactive {
					t.Error("NextTuple of an inactive spout")
				}
				if f.n++; f.n == 1 {
					f.spout.EmitTracked(storm.Int(1), storm.Int(1))
				} else if f.n == 100 {
					cancel()
				}
				return nil
			},
			ack: func(*fake, storm.Value) { log.add("ack, active: %v", !inactive) },
			end: func(*fake) { log.add("end") },
		}
		bolt := fake{execute: func(f *fake, tp storm.Tuple) error {
			<-release
			f.bolt.Ack(&tp)
			return nil
		}}
		if _, err := launch(t, pair(t, spout, bolt), Options{}).Run(ctx); err != nil {
			t.Error(err)
		}
		want := []string{"active: true", "active: false", "ack, active: false", "end"}
		if !slices.Equal(log.list, want) {
			t.Errorf("events %q, want %q", log.list, want)
		}
	})
}

// Only the worker whose component panics is restarted, and the error tells
// where it happened.
func TestOneWorkerRestarts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 50
		var mu sync.Mutex
		lives := map[string]int{}
		var reports []worker.ErrorInfo
		born := func(f *fake) error {
			mu.Lock()
			defer mu.Unlock()
			lives[f.ctx.Component()]++
			return nil
		}
		var replay []storm.Value
		spout := upTo(n)
		next := spout.next
		spout.open = born
		spout.next = func(f *fake) error {
			if len(replay) > 0 {
				f.spout.EmitTracked(replay[0], replay[0])
				replay = replay[1:]
				return nil
			}
			return next(f)
		}
		spout.fail = func(_ *fake, id storm.Value) { replay = append(replay, id) }
		var hit atomic.Bool
		bolt := fake{open: born, execute: func(f *fake, tp storm.Tuple) error {
			if tp.Int(0) == n/2 && !hit.Swap(true) {
				panic(errors.New("spilt milk"))
			}
			return ackAll(f, tp)
		}}
		top := pair(t, spout, bolt) // acker 1 and spout 3 on worker 0, bolt 2 on worker 1
		res, err := launch(t, top, Options{
			Conf:    storm.Config{"topology.workers": 2, "topology.acker.executors": 1},
			OnError: func(e worker.ErrorInfo) { reports = append(reports, e) },
		}).Run(t.Context())
		if err != nil || res.Partial || res.Restarts != 1 || res.Totals.Acked != n || res.Totals.Failed == 0 {
			t.Errorf("result %+v, error %v", res, err)
		}
		if lives["spout"] != 1 || lives["bolt"] != 2 {
			t.Errorf("instances by component: %v", lives)
		}
		if len(reports) != 1 {
			t.Fatalf("reports %+v", reports)
		}
		r := reports[0]
		if r.Component != "bolt" || r.Task != 2 || !strings.HasPrefix(r.Text, "Execute: panic: spilt milk\ngoroutine ") || !strings.Contains(r.Text, "life_test.go:") {
			t.Errorf("report %+v", r)
		}
	})
}

func TestTwoTopologiesAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for i := range 2 {
		n := int64(5000 + i)
		top := launch(t, pair(t, upTo(n), fake{execute: ackAll}), Options{Conf: storm.Config{"topology.workers": 2}})
		newTCP().use(top)
		wg.Go(func() {
			res, err := top.Run(t.Context())
			if err != nil || res.Partial || res.Totals.Emitted != uint64(n) || res.Totals.Acked != uint64(n) || res.Totals.Executed != uint64(n) {
				t.Errorf("result %+v, error %v", res, err)
			}
		})
	}
	wg.Wait()
}
