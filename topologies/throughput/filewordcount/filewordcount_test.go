package filewordcount

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func instance(args ...string) (*storm.Instance, error) {
	flags := flag.NewFlagSet("filewordcount", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	build := Definition().Setup(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return build(storm.Env{Args: flags.Args()})
}

func TestRun(t *testing.T) {
	for _, ack := range []bool{true, false} {
		t.Run(fmt.Sprintf("ack=%t", ack), func(t *testing.T) {
			in, err := instance(fmt.Sprintf("--ack=%t", ack), "--spouts", "2", "--bolts", "2")
			if err != nil {
				t.Fatal(err)
			}
			top, err := local.New(local.Options{Name: "filewordcount", Instance: in, RunFor: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			res, err := top.Run(t.Context())
			if err != nil || res.Undrained != 0 {
				t.Fatalf("%+v, %v", res, err)
			}
			var out strings.Builder
			if err := in.Report(&out, res.Partial); err != nil {
				t.Fatal(err)
			}
			// Lines are executed by split, words by count.
			words := res.Totals.Executed - res.Totals.Emitted
			if want := fmt.Sprintf("tuples  %d\n", words); words == 0 || !strings.HasPrefix(out.String(), want) {
				t.Errorf("printed %q, want %q first", out.String(), want)
			}
		})
	}
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

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"--spouts", "0"}, {"--bolts", "-1"}, {"stray"}} {
		if _, err := instance(args...); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
}
