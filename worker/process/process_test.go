package process

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/internal/link"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbers emits 1, 2, 3 … on and on.
type numbers struct {
	storm.BaseSpout
	out *storm.SpoutOutputCollector
	n   int64
}

func (*numbers) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("n") }
func (s *numbers) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *numbers) NextTuple() error {
	s.n++
	s.out.EmitTracked(storm.Int(s.n), storm.Int(s.n))
	return nil
}

// printer hands over the greeting that it was made with.
type printer struct {
	storm.BaseBasicBolt
	greeting string
	got      chan<- string
}

func (p *printer) Execute(t storm.Tuple, _ *storm.BasicOutputCollector) error {
	if p.greeting == "fail" {
		return errors.New("this bolt is broken") // reported, and the tuple fails
	}
	select {
	case p.got <- p.greeting:
	default:
	}
	return nil
}

// greeter is a topology with a flag.
func greeter(got chan<- string) storm.Definition {
	return storm.Definition{Name: "greeter", Setup: func(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
		greeting := flags.String("greeting", "hello", "")
		return func(storm.Env) (*storm.Instance, error) {
			b := storm.NewTopologyBuilder()
			b.SetSpout("numbers", func() storm.Spout { return &numbers{} }, 1)
			b.SetBasicBolt("print", func() storm.BasicBolt { return &printer{greeting: *greeting, got: got} }, 1).ShuffleGrouping("numbers")
			t, err := b.Build()
			return &storm.Instance{Topology: t}, err
		}
	}}
}

// localise writes a topology's files as a supervisor does.
func localise(t *testing.T, top cluster.Topology, settings storm.Config) string {
	t.Helper()
	dir := t.TempDir()
	code, err := wire.EncodeCode(top)
	if err != nil {
		t.Fatal(err)
	}
	text, err := wire.EncodeConf(settings)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{CodeFile: code, ConfFile: text} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// supervisor gives orders and keeps the last pulses.
type supervisor struct {
	orders chan cluster.Orders
	pulses chan cluster.Pulse
}

func (s *supervisor) Hello(cluster.Hello) (<-chan cluster.Orders, error) { return s.orders, nil }
func (s *supervisor) Gone(cluster.Hello)                                 {}
func (s *supervisor) Pulse(_ cluster.Hello, p cluster.Pulse) {
	select {
	case s.pulses <- p:
	default:
	}
}

// run starts a supervisor and a worker for all of a topology.
func run(t *testing.T, cfg Config) (s *supervisor, port cluster.Port, end func() error) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "link")
	ln, err := link.Listen(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s = &supervisor{orders: make(chan cluster.Orders, 1), pulses: make(chan cluster.Pulse, 1000)}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := link.Serve(ctx, ln, s, cfg.Logger); err != nil {
			t.Error(err)
		}
	})
	cfg.Topology, cfg.Supervisor, cfg.Worker, cfg.Link, cfg.Bind = "greeter-1-1", "s", "w", socket, "127.0.0.1"
	cfg.Port = freePort(t)
	workCtx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(workCtx, cfg) }()
	return s, cfg.Port, func() error {
		stop()
		err := <-ended
		cancel()
		serving.Wait()
		return err
	}
}

func freePort(t *testing.T) cluster.Port {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	addr, _ := ln.Addr().(*net.TCPAddr)
	return cluster.Port(addr.Port)
}

// orders place every executor of a description in the worker's slot.
func orders(t *testing.T, s cluster.TopologyStatus, top cluster.Topology, settings storm.Config, port cluster.Port) cluster.Orders {
	t.Helper()
	l, err := layout.Plan(top, settings)
	if err != nil {
		t.Fatal(err)
	}
	o := cluster.Orders{Status: s, Version: 1}
	for _, e := range l.Executors {
		o.Placement = append(o.Placement, cluster.Place{
			Executor: cluster.Executor{First: e.First, Last: e.Last},
			Slot:     cluster.Slot{Supervisor: "s", Port: port}, Host: "127.0.0.1",
		})
	}
	return o
}

func within[T any](t *testing.T, c <-chan T, what string, is func(T) bool) T {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case v := <-c:
			if is == nil || is(v) {
				return v
			}
		case <-late:
			t.Fatalf("%s does not come", what)
		}
	}
}

// prepare describes the greeter as its submission would.
func prepare(t *testing.T, d storm.Definition, args ...string) (cluster.Topology, storm.Config) {
	t.Helper()
	instance, err := d.Instance(storm.Env{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	top, err := layout.Describe(instance.Topology, d.Name)
	if err != nil {
		t.Fatal(err)
	}
	settings := storm.Config{"topology.workers": 1}
	conf.TopologyArgs.Set(settings, args)
	return top, settings
}

func TestLife(t *testing.T) {
	got := make(chan string)
	d := greeter(got)
	top, settings := prepare(t, d, "-greeting=servus")
	cfg := Config{
		Code: localise(t, top, settings), Program: storm.Program{Topologies: []storm.Definition{d}},
		Logger: slog.New(slog.DiscardHandler), Levels: NewLevels(slog.LevelInfo),
	}
	s, _, end := run(t, cfg)
	// Before there are orders it lives and does nothing.
	if p := within(t, s.pulses, "a pulse", nil); len(p.Executors) != 0 {
		t.Errorf("executors before orders: %v", p.Executors)
	}
	s.orders <- orders(t, cluster.StatusInactive, top, settings, 1)
	// Those of another port: none of the executors is its own.
	within(t, s.pulses, "a pulse of a worker without executors", nil)
	if err := end(); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestWorks(t *testing.T) {
	got := make(chan string)
	d := greeter(got)
	top, settings := prepare(t, d, "-greeting=servus")
	s, port, end := runAt(t, d, top, settings)
	s.orders <- orders(t, cluster.StatusActive, top, settings, port)
	if g := within(t, got, "a greeting", nil); g != "servus" {
		t.Errorf("greeting %q: the flag of the submission is lost", g)
	}
	p := within(t, s.pulses, "statistics", func(p cluster.Pulse) bool {
		return len(p.Executors) == 3 && p.Executors[1].Stats != nil && p.Executors[1].Stats.Spout.Acked[":all-time"]["default"] > 0
	})
	var shown []string
	for _, e := range p.Executors {
		shown = append(shown, fmt.Sprint(e.Component, e.Executor))
	}
	if want := []string{"__acker[1,1]", "numbers[2,2]", "print[3,3]"}; !reflect.DeepEqual(shown, want) {
		t.Errorf("executors %v, want %v", shown, want)
	}
	if err := end(); err != nil {
		t.Errorf("run: %v", err)
	}
}

func TestErrorsAreTold(t *testing.T) {
	d := greeter(nil)
	top, settings := prepare(t, d, "-greeting=fail")
	s, port, end := runAt(t, d, top, settings)
	s.orders <- orders(t, cluster.StatusActive, top, settings, port)
	p := within(t, s.pulses, "an error", func(p cluster.Pulse) bool { return len(p.Errors) > 0 })
	if e := p.Errors[0]; e.Component != "print" || e.Task != 3 || !strings.Contains(e.Text, "this bolt is broken") {
		t.Errorf("error %+v", e)
	}
	if err := end(); err != nil {
		t.Errorf("run: %v", err)
	}
}

// A worker whose component cannot be made says why and ends.
func TestLastWords(t *testing.T) {
	d := greeter(nil)
	top, settings := prepare(t, d)
	c := top.Components["print"]
	c.Object = cluster.Object{Serialized: []byte{0xac, 0xed}}
	top.Components["print"] = c
	s, port, end := runAt(t, d, top, settings)
	s.orders <- orders(t, cluster.StatusActive, top, settings, port)
	p := within(t, s.pulses, "last words", func(p cluster.Pulse) bool { return p.Failure != "" })
	if !strings.Contains(p.Failure, `component "print" is an object of Java, which is not run yet`) {
		t.Errorf("failure %q", p.Failure)
	}
	if err := end(); err == nil {
		t.Error("it ends without error")
	}
}

func TestStop(t *testing.T) {
	d := greeter(make(chan string))
	top, settings := prepare(t, d)
	s, port, end := runAt(t, d, top, settings)
	o := orders(t, cluster.StatusActive, top, settings, port)
	s.orders <- o
	within(t, s.pulses, "a pulse", func(p cluster.Pulse) bool { return len(p.Executors) == 3 })
	o.Stop = true
	s.orders <- o
	if err := end(); err != nil {
		t.Errorf("run: %v", err)
	}
}

// runAt runs the greeter.
func runAt(t *testing.T, d storm.Definition, top cluster.Topology, settings storm.Config) (*supervisor, cluster.Port, func() error) {
	t.Helper()
	return run(t, Config{
		Code: localise(t, top, settings), Program: storm.Program{Topologies: []storm.Definition{d}},
		Logger: slog.New(slog.DiscardHandler),
	})
}
