package polyglot

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

// fakeEmitter keeps what a spout emits.
type fakeEmitter struct {
	storm.SpoutEmitter
	said []string
}

func (f *fakeEmitter) Emit(stream int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	f.said = append(f.said, fmt.Sprint(stream, id, t.Values()))
	return nil
}

func (f *fakeEmitter) ReportError(err error) { f.said = append(f.said, err.Error()) }

// take is what was said since the last time.
func (f *fakeEmitter) take() string {
	said := strings.Join(f.said, "; ")
	f.said = nil
	return said
}

func openLines(t *testing.T, text string) (*lines, *fakeEmitter) {
	t.Helper()
	sources, total, err := resolve([]string{write1(t, "text", text)})
	if err != nil {
		t.Fatal(err)
	}
	s, f := &lines{job: newJob(total), sources: sources}, &fakeEmitter{}
	out := storm.NewSpoutOutputCollector(f, "lines", map[string]int{storm.DefaultStream: 0, settledStream: 1})
	if err := s.Open(storm.NewTopologyContext(storm.ContextSpec{Task: 1}), out); err != nil {
		t.Fatal(err)
	}
	return s, f
}

func TestLines(t *testing.T) {
	s, f := openLines(t, "a b\n\nc")
	next := func(want string) {
		t.Helper()
		if err := s.NextTuple(); err != nil {
			t.Fatal(err)
		}
		if got := f.take(); got != want {
			t.Errorf("emitted %q, want %q", got, want)
		}
	}
	next("0 0 [a b 0]")
	next("0 1 [ 1]")
	next("0 2 [c 2]")
	next("")
	s.Fail(storm.Int(1))
	next("0 1 [ 1]")
	s.Ack(storm.Int(1))
	s.Fail(storm.Int(1)) // settled already
	s.Ack(storm.Int(2))
	if s.low != 0 || s.Exhausted() {
		t.Errorf("settled below %d, exhausted %t", s.low, s.Exhausted())
	}
	s.Ack(storm.Int(0))
	if s.low != 3 || !s.Exhausted() || s.job.progress() != 1 {
		t.Errorf("settled below %d, exhausted %t, progress %v", s.low, s.Exhausted(), s.job.progress())
	}
	next("")
}

func TestLinesTellHowFarTheyAreSettled(t *testing.T) {
	s, f := openLines(t, strings.Repeat("x\n", 2*tellAfter))
	for range tellAfter {
		s.NextTuple()
	}
	for i := range tellAfter {
		s.Ack(storm.Int(int64(tellAfter - 1 - i)))
	}
	f.take()
	s.NextTuple()
	if got, want := f.take(), fmt.Sprintf("1 nil [%d]; 0 %d [x %d]", tellAfter, tellAfter, tellAfter); got != want {
		t.Errorf("emitted %q, want %q", got, want)
	}
}

// TestALineThatAlwaysFails ends the run.
func TestALineThatAlwaysFails(t *testing.T) {
	s, f := openLines(t, "bad\nb")
	for range maxAttempts {
		if s.Exhausted() {
			t.Fatal("given up too soon")
		}
		s.NextTuple()
		s.Fail(storm.Int(0))
	}
	want := `a line failed 50 times, see the errors of the other components; it begins with "bad"`
	if got := f.take(); !strings.HasSuffix(got, want) || !s.Exhausted() {
		t.Errorf("said %q, exhausted %t", got, s.Exhausted())
	}
	if _, err := s.job.counts(); err == nil || err.Error() != "polyglot: "+want {
		t.Error(err)
	}
}

func TestLineLimit(t *testing.T) {
	s, f := openLines(t, strings.Repeat("x", maxLine)+"\n")
	s.NextTuple()
	if got := f.take(); !strings.Contains(got, "line 1 of ") || !strings.HasSuffix(got, " is longer than 16 MiB; break it") {
		t.Errorf("said %.200q", got)
	}
}

// TestCounterCountsALineOnce has attempts of lines in any order and mixture, and
// all that is settled told at any time after it is.
func TestCounterCountsALineOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &counter{job: newJob(0)}
		if err := b.Prepare(storm.NewTopologyContext(storm.ContextSpec{})); err != nil {
			t.Fatal(err)
		}
		var seen []int64
		want := int64(0)
		settled := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			line := rapid.Int64Range(0, 8).Draw(t, "line")
			if !slices.Contains(seen, line) && line >= settled {
				seen = append(seen, line)
				want += line + 1
			}
			b.add("w", line+1, line)
			for settled < 8 && slices.Contains(seen, settled) && rapid.Bool().Draw(t, "settle") {
				settled++
				if rapid.Bool().Draw(t, "tell") {
					b.settled = settled
				}
			}
		}
		if got := b.words["w"].n; got != want {
			t.Fatalf("counted %d, want %d", got, want)
		}
	})
}

// TestToUTF8 replaces as much at once as Python does.
func TestToUTF8(t *testing.T) {
	need(t)
	gen := rapid.Custom(func(t *rapid.T) string {
		odd := rapid.SampledFrom([]byte("a\x80\xbf\xc1\xc2\xe0\xa0\x9f\xe2\xed\xef\xbd\xf0\x90\x8f\xf4\xf5\xff"))
		return string(rapid.SliceOfN(rapid.OneOf(odd, rapid.Byte()), 0, 12).Draw(t, "bytes"))
	})
	var in, got []string
	for i := range 2000 {
		s := gen.Example(i)
		in, got = append(in, hex.EncodeToString([]byte(s))), append(got, toUTF8(s))
	}
	var want []string
	inPython(t, `
import json, sys
print(json.dumps([bytes.fromhex(h).decode("utf-8", "replace") for h in json.load(sys.stdin)]))
`, in, &want)
	for i := range in {
		if got[i] != want[i] {
			t.Errorf("%s: %q, Python has %q", in[i], got[i], want[i])
		}
	}
}

func TestFormats(t *testing.T) {
	counts := map[string]int64{"b": 2, "a": 10, "q\"\\": 2, "n\x00é<": 1}
	for format, want := range map[string]string{
		"table": "  COUNT  WORD\n     10  a\n      2  b\n      2  q\"\\\n      1  n\\x00é<\n",
		"tsv":   "a\t10\nb\t2\nq\"\\\t2\nn\x00é<\t1\n",
		"json": `[
  {
    "word": "a",
    "count": 10
  },
  {
    "word": "b",
    "count": 2
  },
  {
    "word": "q\"\\",
    "count": 2
  },
  {
    "word": "n\u0000é<",
    "count": 1
  }
]
`,
	} {
		var out strings.Builder
		if err := write(&out, most(counts, 0), format); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", format, out.String(), err)
		}
	}
	if got := fmt.Sprint(most(counts, 2)); got != "[{a 10} {b 2}]" {
		t.Errorf("the most frequent are %s", got)
	}
	var out strings.Builder
	if err := write(&out, most(nil, 0), "json"); err != nil || out.String() != "[]\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestRegisteredComponents are those that a YAML names, here in a topology
// without one.
func TestRegisteredComponents(t *testing.T) {
	need(t)
	r := storm.NewRegistry()
	Register(r)
	if got := fmt.Sprint(r.Names()); got != "[polyglot.Count polyglot.Lines polyglot.Report]" {
		t.Fatal(got)
	}
	path, output := write1(t, "text", "a b\na\n"), filepath.Join(t.TempDir(), "counts")
	files, err := fs.Sub(embedded, "resources")
	if err != nil {
		t.Fatal(err)
	}
	split := newOptions().script(files, "python", "split", "word", "times", "line")
	b := storm.NewTopologyBuilder()
	b.Use(r)
	b.SetSpoutNamed("lines", "polyglot.Lines", storm.Values([]any{path}), 1)
	b.SetBolt("split", split, 1).ShuffleGrouping("lines")
	b.SetBoltNamed("count", "polyglot.Count", nil, 2).FieldsGrouping("split", "word").
		Grouping("lines", settledStream, storm.Grouping{Kind: storm.GroupAll})
	b.SetBoltNamed("report", "polyglot.Report", storm.Values(output), 1).GlobalGrouping("count")
	topology, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	top, err := local.New(local.Options{Name: "words", Instance: &storm.Instance{Topology: topology}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := top.Run(context.Background()); err != nil || res.Partial {
		t.Fatalf("%+v, %v", res, err)
	}
	if text, err := os.ReadFile(output); string(text) != "a\t2\nb\t1\n" {
		t.Errorf("wrote %q, %v", text, err)
	}
	if left, err := os.ReadDir(filepath.Dir(output)); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestRegisteredComponentsRefuseArguments(t *testing.T) {
	r := storm.NewRegistry()
	Register(r)
	none := filepath.Join(t.TempDir(), "none")
	for want, made := range map[string]func() error{
		"argument 0 of polyglot.Lines is 1; it must be the path of a file": func() error {
			_, err := r.FindSpout("polyglot.Lines", storm.Values(1))()
			return err
		},
		"cannot read input: open " + none + ": no such file or directory": func() error {
			_, err := r.FindSpout("polyglot.Lines", storm.Values(none))()
			return err
		},
		"polyglot.Count takes no arguments, but got 1": func() error {
			_, err := r.FindBolt("polyglot.Count", storm.Values("x"))()
			return err
		},
		"polyglot.Report writes one file, but got 2 arguments": func() error {
			_, err := r.FindBolt("polyglot.Report", storm.Values("x", "y"))()
			return err
		},
	} {
		if err := made(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestReportToTheLog is what a YAML without a file has.
func TestReportToTheLog(t *testing.T) {
	var log strings.Builder
	b := &reporter{job: newJob(0), log: true}
	ctx := storm.NewTopologyContext(storm.ContextSpec{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err := b.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	b.counts, b.changed = map[string]int64{"a": 1, "b": 3}, true
	for range 2 {
		if err := b.Cleanup(); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `msg="the most frequent words" words="b 3, a 1"`) {
		t.Errorf("logged %q", got)
	}
	b = &reporter{job: newJob(0), output: filepath.Join(t.TempDir(), "none", "f"), changed: true}
	if err := b.tell(); err == nil || !strings.HasPrefix(err.Error(), "polyglot: write the counts: ") {
		t.Error(err)
	}
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\xff\n\x00c"), true, false)
	f.Add([]byte("\n\r\n"), false, true)
	f.Fuzz(func(t *testing.T, data []byte, replace, noNUL bool) {
		r := newLineReader("f", io.NopCloser(strings.NewReader(string(data))), text{replace, noNUL})
		defer r.close()
		var all strings.Builder
		total := 0
		for {
			line, n, err := r.next()
			total += n
			if err != nil {
				if err != io.EOF { //nolint:errorlint // next promises io.EOF itself
					return
				}
				break
			}
			all.WriteString(line + "\n")
		}
		want, got := string(data), all.String()
		if want != "" && !strings.HasSuffix(want, "\n") {
			want += "\n" // the last line needs none
		}
		if replace {
			want = strings.ReplaceAll(strings.ToValidUTF8(want, ""), "\ufffd", "")
			got = strings.ReplaceAll(got, "\ufffd", "")
		}
		if got != want || total != len(data) {
			t.Errorf("read %q of %q, %d bytes", got, data, total)
		}
	})
}
