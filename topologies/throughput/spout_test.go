package throughput

import (
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// TestRoundRobin looks at what a spout emits in almost two rounds.
func TestRoundRobin(t *testing.T) {
	e := &emitter{}
	s := (&Flags{}).Spout("line", []string{"one", "two words", "three"})
	if err := s.Open(nil, storm.NewSpoutOutputCollector(e, "read", map[string]int{storm.DefaultStream: 0})); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := s.NextTuple(); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := strings.Join(e.lines, "|"), "one|two words|three|one|two words"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRate: a second tuple is not due at once.
func TestRate(t *testing.T) {
	e := &emitter{}
	s := (&Flags{Rate: 1}).Spout("line", []string{"one"})
	if err := s.Open(nil, storm.NewSpoutOutputCollector(e, "read", map[string]int{storm.DefaultStream: 0})); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := s.NextTuple(); err != nil {
			t.Fatal(err)
		}
	}
	if len(e.lines) != 1 {
		t.Errorf("%d tuples were emitted at once", len(e.lines))
	}
}

// emitter keeps what a spout emits.
type emitter struct {
	storm.SpoutEmitter
	lines []string
}

func (e *emitter) Emit(_ int, _ storm.Value, t *storm.Tuple) []storm.TaskID {
	e.lines = append(e.lines, t.String(0))
	return nil
}
