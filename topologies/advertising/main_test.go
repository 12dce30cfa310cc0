package advertising

import (
	"errors"
	"flag"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--events -1":                         "--events is -1; it must be at least 0",
		"--campaigns 0":                       "--campaigns is 0; it must be at least 1",
		"--ads 0":                             "--ads is 0; it must be at least 1",
		"--users -1":                          "--users is -1; it must be at least 0",
		"--per-second 0":                      "--per-second is 0; it must be at least 1",
		"--rate -1":                           "--rate is -1; it must be at least 0",
		"--spouts 0":                          "--spouts is 0; it must be at least 1",
		"--parallelism 0":                     "--parallelism is 0; it must be at least 1",
		"--retain -1":                         "--retain is -1; it must be at least 0",
		"--campaigns 4 --ads 9000000":         "4 campaigns with 9000000 ads each are more than 10000000 ads",
		"--ads 9223372036854775807":           "are more than 10000000 ads",
		"--check --events 0":                  "--check needs a run that ends",
		"--check --retain 2":                  "keeps all windows",
		"--output counts":                     `--output is "counts"; it must be an absolute path`,
		"--format xml":                        `--format is "xml"; it must be table or json`,
		"stray":                               `takes no arguments, but got "stray"`,
		"--nosuch":                            "flag provided but not defined",
		"--seed -1":                           "invalid value",
		"--campaigns 20000000 --ads 20000000": "are more than 10000000 ads",
	} {
		_, err := Definition().Instance(storm.Env{Args: strings.Fields(args)})
		if !errors.Is(err, storm.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	o := &options{}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	setup(flags)
	if got := flags.Lookup("events").DefValue + " " + flags.Lookup("seed").DefValue; got != "1000000 1" {
		t.Errorf("--events and --seed are %s", got)
	}
	flags.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s has no help", f.Name)
		}
	})
	if got := strings.Join(o.format.Choices(), " "); got != "json table" {
		t.Errorf("formats %s", got)
	}
}

// lineEmitter keeps what a spout emits.
type lineEmitter struct {
	storm.SpoutEmitter
	ids     []int64
	lines   []string
	arrived []int64
}

func (f *lineEmitter) Emit(_ int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	n, _ := id.AsInt()
	f.ids = append(f.ids, n)
	f.lines = append(f.lines, t.String(0))
	f.arrived = append(f.arrived, t.Int(1))
	return nil
}

// taskContext is that of the rank-th of n tasks.
func taskContext(component string, rank, n int) *storm.TopologyContext {
	tasks := make([]storm.TaskID, n)
	for i := range tasks {
		tasks[i] = storm.TaskID(10 + i)
	}
	return storm.NewTopologyContext(storm.ContextSpec{
		TopologyID: "ad-1", Component: component, Task: tasks[rank], Tasks: map[string][]storm.TaskID{component: tasks},
	})
}

func tuple(vals ...storm.Value) storm.Tuple { return storm.NewTuple(nil, 1, nil, vals...) }

// clone is a checkpoint of a state.
func clone(s *storm.MapState) *storm.MapState {
	c := storm.NewMapState()
	for k, v := range s.All(nil) {
		c.Put(k, v)
	}
	return c
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
