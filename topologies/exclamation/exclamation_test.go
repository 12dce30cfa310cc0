package exclamation

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func instance(args ...string) (*storm.Instance, error) {
	return Definition().Instance(storm.Env{Args: args})
}

func TestCount(t *testing.T) {
	in, err := instance("--count", "10001")
	if err != nil {
		t.Fatal(err)
	}
	in.Topology.Components["word"].Hint = 3
	top, err := local.New(local.Options{Name: "exclamation", Instance: in})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := top.Run(t.Context()); err != nil || res.Partial {
		t.Fatalf("%+v, %v", res, err)
	}
	var out strings.Builder
	if err := in.Report(&out, false); err != nil || out.String() != "10001 words exclaimed\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestCheck(t *testing.T) {
	r := &result{}
	b := &exclaimer{result: r}
	for _, word := range []string{"rain!!!!!!", "hail!!!", "snow!!!!!!"} {
		b.check(word)
	}
	b.Cleanup()
	err := r.report(io.Discard, false)
	if err == nil || !strings.Contains(err.Error(), `2 of 3 words came out wrong, such as "snow!!!!!!"`) {
		t.Error(err)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"--count", "-1"}, {"stray"}} {
		if _, err := instance(args...); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
}

// emitter keeps what a spout emits.
type emitter struct {
	storm.SpoutEmitter
	words []string
	id    storm.Value
}

func (e *emitter) Emit(_ int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	e.id = id
	e.words = append(e.words, t.String(0))
	return nil
}

func TestReplay(t *testing.T) {
	e := &emitter{}
	s := &spout{count: 1}
	ctx := storm.NewTopologyContext(storm.ContextSpec{Component: "word", Task: 1, Tasks: map[string][]storm.TaskID{"word": {1}}})
	if err := s.Open(ctx, storm.NewSpoutOutputCollector(e, "word", map[string]int{storm.DefaultStream: 0})); err != nil {
		t.Fatal(err)
	}
	s.NextTuple()
	s.Fail(e.id)
	s.NextTuple()
	s.NextTuple()
	if len(e.words) != 2 || e.words[0] != e.words[1] || s.Exhausted() {
		t.Errorf("emitted %q, exhausted %t", e.words, s.Exhausted())
	}
	s.Ack(e.id)
	if !s.Exhausted() {
		t.Error("not exhausted after the last ack")
	}
}
