package statefulwordcount

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func instance(t *testing.T, args ...string) *storm.Instance {
	t.Helper()
	in, err := Definition().Instance(storm.Env{Args: args})
	must(t, err)
	// So that some checkpoints fit into a short run.
	in.Conf[string(storm.ConfTopologyStateCheckpointIntervalMS)] = 100
	return in
}

// run runs the topology to its end and returns what it prints.
func run(t *testing.T, in *storm.Instance) string {
	t.Helper()
	conf := storm.Config{}
	conf.SetNumWorkers(2)
	top, err := local.New(local.Options{Name: Name, Instance: in, Conf: conf})
	must(t, err)
	res, err := top.Run(t.Context())
	must(t, err)
	if res.Partial {
		t.Errorf("%+v", res)
	}
	var out strings.Builder
	must(t, in.Report(&out, false))
	return out.String()
}

// expected counts the words of a text by page and word.
func expected(text string, pageLines int) map[string]int64 {
	counts := map[string]int64{}
	name, line := "", 0
	for l := range strings.Lines(text) {
		if after, ok := strings.CutPrefix(l, "\f"); ok {
			name, line = strings.TrimSpace(after), 0
			continue
		}
		for w := range strings.FieldsSeq(l) {
			counts[fmt.Sprintf("%s:%d\t%s", name, line/pageLines+1, w)]++
		}
		line++
	}
	return counts
}

// failing is a stateless bolt that ends its worker at its n-th tuple.
type failing struct {
	storm.Bolt
	n *atomic.Int64
}

var errOnPurpose = errors.New("on purpose")

func (b failing) Execute(t storm.Tuple) error {
	if b.n.Add(-1) == 0 {
		return errOnPurpose
	}
	return b.Bolt.Execute(t)
}

// TestRun counts the text that is built in while a worker fails in the middle:
// what was counted since the last checkpoint is forgotten and comes again, once.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "journal")
	in := instance(t, "--page-lines", "10", "--rate", "4000", "--counters", "2", "--output", dir, "--journal", journal, "--top", "1")
	split := in.Topology.Components["split"]
	newBolt := split.NewBolt
	var n atomic.Int64
	n.Store(900)
	split.NewBolt = func() (storm.Bolt, error) {
		b, err := newBolt()
		return failing{b, &n}, err
	}
	out := run(t, in)
	want := expected(Text(), 10)
	got := map[string]int64{}
	must(t, ReadCounts(dir, func(page, word string, n int64) error {
		got[page+"\t"+word] += n
		return nil
	}))
	if !maps.Equal(got, want) {
		t.Errorf("%d counts, want %d", len(got), len(want))
	}
	words, different := int64(0), map[string]bool{}
	for key, n := range want {
		words += n
		different[key[strings.IndexByte(key, '\t')+1:]] = true
	}
	if !strings.HasPrefix(out, "COUNT") || !strings.HasSuffix(out, fmt.Sprintf("\n%d words, %d different\n", words, len(different))) || strings.Count(out, "\n") != 3 {
		t.Errorf("printed\n%s", out)
	}
	if p := in.Progress(); p != 1 || n.Load() > 0 {
		t.Errorf("progress %v, %d lines until the failure", p, n.Load())
	}
	events(t, journal, words)
}

// events checks the journal of two tasks that went back once.
func events(t *testing.T, journal string, words int64) {
	t.Helper()
	text, err := os.ReadFile(journal)
	must(t, err)
	seen, last := map[string]int{}, map[int]Event{}
	for line := range strings.Lines(string(text)) {
		var e Event
		must(t, json.Unmarshal([]byte(line), &e))
		seen[fmt.Sprint(e.Event, e.Task)]++
		if e.Event == EventCommit {
			if e.Transaction <= last[e.Task].Transaction || e.Words < last[e.Task].Words {
				t.Errorf("%+v after %+v", e, last[e.Task])
			}
			last[e.Task] = e
		}
	}
	if sum := last[0].Words + last[1].Words; sum != words {
		t.Errorf("%d words committed, want %d", sum, words)
	}
	for _, task := range []string{"0", "1"} {
		if seen[EventState+task] < 2 || seen[EventFirst+task] < 2 || seen[EventCommit+task] < 2 {
			t.Errorf("events of task %s: %v", task, seen)
		}
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b a b", "a\nb c")
	if out, want := run(t, instance(t, "--input", dir)), "COUNT  WORD\n3      b\n2      a\n1      c\n6 words, 3 different\n"; out != want {
		t.Errorf("printed\n%s", out)
	}
}

func TestNoReport(t *testing.T) {
	err := instance(t).Report(&strings.Builder{}, true)
	if err == nil || !strings.Contains(err.Error(), "0 of 1 tasks that count came to an orderly end") {
		t.Errorf("got %v", err)
	}
}

func TestReadCountsDamaged(t *testing.T) {
	for text, want := range map[string]string{
		"p\tw\t1\np\tw":     "line 2 is not a page, a word and a number with tabs between them",
		"p\t\t1\n":          "line 1 is not",
		"p\tw\tmany\n":      "line 1 is not",
		"p\tw\t1\t2\n":      "line 1 is not",
		"\tw\t1\n\tw\t2\nx": "line 3 is not",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "counts-0.tsv")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		err := ReadCounts(dir, func(string, string, int64) error { return nil })
		if err == nil || !strings.Contains(err.Error(), path+": "+want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "counts-0.tsv"), []byte("p\tw\t1\n"), 0o600))
	if err := ReadCounts(dir, func(string, string, int64) error { return errOnPurpose }); !errors.Is(err, errOnPurpose) {
		t.Errorf("got %v", err)
	}
}

func FuzzReadCounts(f *testing.F) {
	f.Add("page:1\tword\t3\n\tother\t-1\n")
	f.Fuzz(func(t *testing.T, text string) {
		n := 0
		err := readLines(strings.NewReader(text), func(page, word string, _ int64) error {
			if word == "" || strings.ContainsAny(page+word, "\t\n") {
				t.Errorf("page %q, word %q", page, word)
			}
			n++
			return nil
		})
		if err == nil && n != strings.Count(strings.TrimSuffix(text, "\n")+"\n", "\n") && text != "" {
			t.Errorf("%d counts in %q", n, text)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add([]byte("word\tpage:1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := entryCodec{}.Decode(b)
		if err != nil {
			return
		}
		again, err := entryCodec{}.Append(nil, e)
		if err != nil || string(again) != string(b) {
			t.Errorf("%q came back as %q, %v", b, again, err)
		}
	})
}
