package filewordcount

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

func instance(args ...string) (*storm.Instance, error) {
	return Definition().Instance(storm.Env{Args: args})
}

// TestRoundRobin looks at what a spout emits in almost two rounds.
func TestRoundRobin(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("one\r\n\n two words \nthree"), 0o644); err != nil {
		t.Fatal(err)
	}
	lines, err := load(path)
	if err != nil {
		t.Fatal(err)
	}
	e := &emitter{}
	s := &spout{lines: lines}
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

// emitter keeps what a spout emits.
type emitter struct {
	storm.SpoutEmitter
	lines []string
}

func (e *emitter) Emit(_ int, _ storm.Value, t *storm.Tuple) []storm.TaskID {
	e.lines = append(e.lines, t.String(0))
	return nil
}

func TestBadFile(t *testing.T) {
	blank := filepath.Join(t.TempDir(), "blank")
	if err := os.WriteFile(blank, []byte("\n \n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{blank, blank + "not"} {
		if _, err := instance("--file", path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
