package multilang

import (
	"bytes"
	"context"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/multilang/protocol"
	"github.com/stormring/stormring/storm"
)

// sink is an emitter that counts.
type sink struct {
	posts chan func()
	acked int
	tasks [1]storm.TaskID
}

func (*sink) ReportError(error) {}

func (s *sink) Post(_ context.Context, f func()) error { s.posts <- f; return nil }

func (s *sink) Emit(int, *storm.Tuple) []storm.TaskID { return s.tasks[:] }

func (*sink) EmitDirect(int, storm.TaskID, *storm.Tuple) {}

func (s *sink) Done(storm.Settlement, *track.Origin, track.Anchor, []track.Anchor) { s.acked++ }

func benchTuple() storm.Tuple {
	origin := &track.Origin{Component: "in", Stream: "default", Task: 1, ID: 1, Fields: []string{"word", "n"}}
	return storm.NewTuple(origin, 4, []track.Anchor{{Root: 1, Edge: 1}}, storm.String("the quick brown fox"), storm.Int(1234567))
}

func usageOf(who int) time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(who, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkBolt is one tuple through a child in Python and an emission and an
// ack back, by windows of tuples in flight. "pipe" is what the same script does
// between two cats: the limit.
func BenchmarkBolt(b *testing.B) {
	for _, script := range []string{"plain.py", "bulk.py"} {
		for _, window := range []int{1, 100, 1000} {
			b.Run(script+"/window="+strconv.Itoa(window), func(b *testing.B) { benchBolt(b, script, window) })
		}
		b.Run(script+"/pipe", func(b *testing.B) { benchPipe(b, script) })
	}
}

func benchBolt(b *testing.B, script string, window int) {
	dir, err := filepath.Abs("testdata")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	tc := storm.NewTopologyContext(storm.ContextSpec{
		Context: ctx, Topology: testTopology(), Component: "shell", Task: 4, Logger: slog.New(slog.DiscardHandler),
		Tasks: map[string][]storm.TaskID{}, Conf: storm.Config{string(storm.ConfTopologyShellboltMaxPending): window},
	})
	s := &sink{posts: make(chan func(), 1024)}
	bolt := NewBolt(Spec{Argv: []string{python(b), script}, Dir: dir})
	if err := bolt.Prepare(tc, storm.NewOutputCollector(s, "shell", shellStreams)); err != nil {
		b.Fatal(err)
	}
	tp := benchTuple()
	self, n := usageOf(syscall.RUSAGE_SELF), 0
	for b.Loop() {
		n++
		if err := bolt.Execute(tp); err != nil {
			b.Fatal(err)
		}
		for window == 1 && s.acked < n {
			(<-s.posts)()
		}
		for len(s.posts) > 0 {
			(<-s.posts)()
		}
	}
	for s.acked < n {
		(<-s.posts)()
	}
	self = usageOf(syscall.RUSAGE_SELF) - self
	children := usageOf(syscall.RUSAGE_CHILDREN)
	cancel()
	if err := bolt.Cleanup(); err != nil {
		b.Fatal(err)
	}
	children = usageOf(syscall.RUSAGE_CHILDREN) - children
	b.ReportMetric(float64(self.Nanoseconds())/float64(n), "go-cpu-ns/op")
	b.ReportMetric(100*float64(self)/float64(children), "go-cpu-%-of-child")
}

func benchPipe(b *testing.B, script string) {
	tp := benchTuple()
	one, err := protocol.JSON{}.NewEncoder().Tuple(nil, 123456, &tp)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		b.StopTimer()
		const n = 50_000
		cmd := exec.CommandContext(b.Context(), "sh", "-c", `cat | "$0" "$1" pipe | cat >/dev/null`, python(b), script)
		cmd.Dir = "testdata"
		cmd.Stdin = bytes.NewReader(bytes.Repeat(one, n))
		b.StartTimer()
		start := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start).Nanoseconds())/n, "ns/tuple")
	}
}
