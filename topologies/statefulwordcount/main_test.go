package statefulwordcount

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"--page-lines -1":              "--page-lines is -1; it must be at least 0",
		"--rate -1":                    "--rate is -1; it must be at least 0",
		"--splitters 0":                "--splitters is 0; it must be at least 1",
		"--counters 0":                 "--counters is 0; it must be at least 1",
		"--top -2":                     "--top is -2; it must be at least 0",
		"--follow":                     "--follow is for one input, but there are 0",
		"--follow --input a --input b": "--follow is for one input, but there are 2",
		"--output counts":              `--output is "counts"; it must be an absolute path`,
		"--journal j":                  `--journal is "j"; it must be an absolute path`,
		"--nosuch":                     "flag provided but not defined",
	} {
		_, err := Definition().Instance(storm.Env{Args: strings.Fields(args)})
		if !errors.Is(err, storm.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if _, err := Definition().Instance(storm.Env{Args: []string{"--input", "/no/such/file"}}); err == nil || !strings.Contains(err.Error(), "--input: stat /no/such/file: no such file") {
		t.Errorf("got %v", err)
	}
	if _, err := Definition().Instance(storm.Env{Args: []string{t.TempDir()}}); err == nil || !strings.Contains(err.Error(), "--input: there is no file in") {
		t.Errorf("got %v", err)
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	setup(flags)
	flags.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			t.Errorf("--%s has no help", f.Name)
		}
	})
}

// emitter keeps what a spout emits; end has the ids of the tuples of endStream.
type emitter struct {
	storm.SpoutEmitter
	ids  []int64
	got  []string
	ends []int64
}

func (f *emitter) Emit(stream int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	n, _ := id.AsInt()
	if stream == 1 {
		f.ends = append(f.ends, n)
		return nil
	}
	f.ids = append(f.ids, n)
	f.got = append(f.got, t.String(1)+"|"+t.String(0))
	return nil
}

// opened is a spout that has its state.
type opened struct {
	*spout
	*emitter
}

func open(t rapid.TB, in reader, state storm.State) *opened {
	t.Helper()
	o := &opened{newSpout(in, 0, newJob(in.files, 1)), &emitter{}}
	must(t, o.Open(nil, storm.NewSpoutOutputCollector(o.emitter, "lines", map[string]int{storm.DefaultStream: 0, endStream: 1})))
	must(t, o.InitState(state))
	return o
}

func (o *opened) take(t rapid.TB, n int) []string {
	t.Helper()
	before := len(o.emitter.got)
	for range n {
		must(t, o.NextTuple())
	}
	return o.emitter.got[before:]
}

func (o *opened) ackAll() {
	for _, id := range append(o.ids, o.ends...) {
		o.Ack(storm.Int(id))
	}
	o.ids, o.ends = nil, nil
}

// write makes files of texts and returns them.
func write(t rapid.TB, dir string, texts ...string) []source {
	t.Helper()
	var out []source
	for i, text := range texts {
		path := filepath.Join(dir, fmt.Sprintf("f%d", i))
		must(t, os.WriteFile(path, []byte(text), 0o600))
		out = append(out, source{path: path})
	}
	return out
}

// clone is a checkpoint of a state.
func clone(t rapid.TB, s *storm.MapState) *storm.MapState {
	t.Helper()
	c := storm.NewMapState()
	for k, v := range s.All(nil) {
		must(t, c.Put(k, v))
	}
	return c
}

func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
