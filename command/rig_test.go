package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/wordcount"
)

func TestMain(m *testing.M) {
	if os.Getenv(asStuck) != "" {
		stuck()
	}
	// goleveldb's own goroutine stays for a second after its end.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

// shown is what a command line did.
type shown struct {
	code           int
	stdout, stderr string
}

// cli runs a command line of a program called stormring.
func cli(ctx context.Context, p storm.Program, stdin string, args ...string) shown {
	var stdout, stderr strings.Builder
	code := run(ctx, "stormring", p, args, strings.NewReader(stdin), &stdout, &stderr)
	return shown{code, stdout.String(), stderr.String()}
}

// samples is a program with wordcount and topologies made for these tests.
func samples() storm.Program {
	return storm.Program{Topologies: []storm.Definition{
		{Name: "broken", Summary: "Cannot be built", Setup: func(*flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
			return func(storm.Env) (*storm.Instance, error) { return nil, errors.New("first\nsecond") }
		}},
		{Name: "clash", Summary: "Wants a flag that is taken", Setup: func(flags *flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
			flags.Int("workers", 0, "taken")
			return nil
		}},
		ticking(nil),
		wordcount.Definition(),
	}}
}

// ticking is a topology without end. each, if set, gets every tuple.
func ticking(each func(n int64)) storm.Definition {
	return storm.Definition{Name: "ticking", Summary: "Never ends", Setup: func(*flag.FlagSet) func(storm.Env) (*storm.Instance, error) {
		return func(storm.Env) (*storm.Instance, error) {
			s := &sum{each: each}
			b := storm.NewTopologyBuilder()
			b.SetSpout("tick", func() storm.Spout { return &ticker{} }, 1)
			b.SetBolt("sum", func() storm.Bolt { return s }, 1).ShuffleGrouping("tick")
			t, err := b.Build()
			if err != nil {
				return nil, err
			}
			conf := storm.Config{}
			conf.SetMaxSpoutPending(8)
			return &storm.Instance{Topology: t, Conf: conf, Report: s.report}, nil
		}
	}}
}

type ticker struct {
	storm.BaseSpout
	out *storm.SpoutOutputCollector
	n   int64
}

func (s *ticker) DeclareOutputFields(d *storm.OutputFieldsDeclarer) { d.Declare("n") }

func (s *ticker) Open(_ *storm.TopologyContext, out *storm.SpoutOutputCollector) error {
	s.out = out
	return nil
}

func (s *ticker) NextTuple() error {
	s.n++
	s.out.EmitTracked(storm.Int(s.n), storm.Int(s.n))
	return nil
}

type sum struct {
	storm.BaseBolt
	each func(n int64)
	out  *storm.OutputCollector
	n    atomic.Int64
}

func (b *sum) Prepare(_ *storm.TopologyContext, out *storm.OutputCollector) error {
	b.out = out
	return nil
}

func (b *sum) Execute(t storm.Tuple) error {
	if n := b.n.Add(1); b.each != nil {
		b.each(n)
	}
	b.out.Ack(&t)
	return nil
}

func (b *sum) report(w io.Writer, partial bool) error {
	_, err := fmt.Fprintf(w, "some: %t, partial: %t\n", b.n.Load() > 0, partial)
	return err
}

// sink is a writer that many may write to and look into.
type sink struct {
	mu   sync.Mutex
	text strings.Builder
	each func(p string) // called for every write
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if s.each != nil {
		s.each(string(p))
	}
	return len(p), nil
}

func (s *sink) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.text.String()
	s.text.Reset()
	return text
}
