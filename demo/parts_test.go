package demo

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/statefulwordcount"
)

// counted runs the topology over what a feed has written.
func counted(t *testing.T, f *feed) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "counts")
	in, err := statefulwordcount.Definition().Instance(storm.Env{Args: []string{
		"--input", f.path, "--follow", "--page-lines", fmt.Sprint(pageLines), "--output", dir, "--counters", "2",
	}})
	if err != nil {
		t.Fatal(err)
	}
	conf := storm.Config{string(storm.ConfTopologyStateCheckpointIntervalMS): 100}
	top, err := local.New(local.Options{Name: "words", Instance: in, Conf: conf})
	if err == nil {
		_, err = top.Run(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFeed has the topology count what the feed writes, odd texts among it, and
// the ledger find every count right, and every damage.
func TestFeed(t *testing.T) {
	c := corpus{docs: []document{
		{name: "a", text: strings.Repeat("one two two\n", 20) + "\f feed\n\n\nthe\u00a0end"},
		{name: "empty", text: ""},
		{name: "b/c", text: "x\r\ny \xff\xfe\n\tz z\n" + strings.Repeat("\n", 30) + "last\x00never"},
	}}
	f, err := newFeed(c, filepath.Join(t.TempDir(), "text"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.fill(3000), f.write(7), f.end()); err != nil {
		t.Fatal(err)
	}
	dir := counted(t, f)
	wrong, total, err := f.ledger.compare(dir)
	if total != 0 || err != nil {
		t.Fatalf("%d wrong, such as %q, %v", total, wrong, err)
	}

	path := filepath.Join(dir, "counts-0.tsv")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	for damage, want := range map[string]string{
		lines[0] + string(text):                                          "has two counts",
		"a:1\tnobody\t3\n" + string(text):                                `"nobody" on page a:1 was counted 3 times, and is not there`,
		strings.Join(lines[1:], ""):                                      "was not counted",
		lines[0][:len(lines[0])-1] + "0\n" + strings.Join(lines[1:], ""): "times, and is there ",
	} {
		for i := range f.ledger.entries {
			f.ledger.entries[i].seen = false
		}
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		wrong, total, err := f.ledger.compare(dir)
		if total != 1 || err != nil || len(wrong) != 1 || !strings.Contains(wrong[0], want) {
			t.Errorf("%s: %d wrong, %q, %v", want, total, wrong, err)
		}
	}
}

// TestLedger has it count as a map does.
func TestLedger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		docs := rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("ab \n\t\r"))), 1, 4).Draw(t, "docs")
		c := corpus{}
		for i, d := range docs {
			c.docs = append(c.docs, document{name: fmt.Sprint("d", i), text: d})
		}
		dir, err := os.MkdirTemp("", "feed-") //nolint:usetesting // one for each case
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		f, err := newFeed(c, filepath.Join(dir, "text"))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.write(rapid.IntRange(1, 40).Draw(t, "lines")); err != nil {
			if strings.TrimSpace(strings.Join(docs, "")) != "" {
				t.Fatal(err)
			}
			f.file.Close()
			return
		}
		if err := f.end(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		want, words := map[[2]string]int{}, int64(0)
		name, line := "", 0
		for l := range strings.Lines(string(text)) {
			if after, ok := strings.CutPrefix(l, "\f"); ok {
				name, line = strings.TrimSpace(after), 0
				continue
			}
			for w := range strings.FieldsSeq(l) {
				want[[2]string{w, fmt.Sprintf("%s:%d", name, line/pageLines+1)}]++
				words++
			}
			line++
		}
		got := map[uint64]int{}
		for _, e := range f.ledger.entries {
			got[e.hash] += int(e.count)
		}
		hashed := map[uint64]int{}
		for k, n := range want {
			hashed[f.ledger.hash(k[0], k[1])] = n
		}
		if !maps.Equal(got, hashed) || f.ledger.words != words {
			t.Fatalf("%d counts of %d words, want %v", len(got), f.ledger.words, want)
		}
	})
}

func TestCorpus(t *testing.T) {
	t.Setenv("GOROOT", t.TempDir())
	c, err := findCorpus("")
	if err != nil || c.label != "Stormring's documentation" || len(c.docs) < 5 || c.docs[0].name != "README.md" {
		t.Errorf("%s, %d documents, %v", c.label, len(c.docs), err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err = findCorpus(dir)
	if err != nil || len(c.docs) != 1 || c.docs[0].name != "a_b" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestTable(t *testing.T) {
	r := Result{
		Rounds: []Round{{Mode: "star", DetectMS: 4690, PlaceMS: 160, FetchMS: 2860, RebuildMS: 150, FirstMS: 7860, Bytes: 91 << 20, StateBytes: 272 << 20, PredictedMS: 570, RepairMS: 7880}},
		Proof:  Proof{Made: true, Keys: 4046501, Words: 5600629},
	}
	var out strings.Builder
	if err := r.Text(&out); err != nil {
		t.Fatal(err)
	}
	want := `  MODE  DETECT   PLACE   FETCH  REBUILD  RESUME  FIRST TUPLE   BYTES    STATE  PREDICTED  REPAIR
  star  4.69 s  0.16 s  2.86 s   0.15 s  0.00 s       7.86 s  91 MiB  272 MiB     0.57 s  7.88 s

4,046,501 keys, all counts right (5,600,629 words, counted again by this process)
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
	out.Reset()
	r.Rounds, r.Proof.Wrong, r.Proof.Examples = nil, 2, []string{"first", "second"}
	if err := r.Text(&out); err != nil || !strings.HasSuffix(out.String(), "\n\n2 of 4,046,501 counts are WRONG:\n  first\n  second\n") {
		t.Errorf("got\n%s%v", out.String(), err)
	}
	for n, want := range map[int64]string{0: "0.0 KiB", 1536: "1.5 KiB", 3 << 19: "1.5 MiB", 11 << 20: "11 MiB"} {
		if got := size(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := count(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestTimeline(t *testing.T) {
	begin := time.Now()
	var plain, live strings.Builder
	for out, isLive := range map[*strings.Builder]bool{&plain: false, &live: true} {
		l := newTimeline(out, isLive, begin)
		l.show("%d words", 1)
		l.show("%d words", 2)
		l.addAt(begin.Add(1500*time.Millisecond), "killed")
		l.close()
	}
	if got := plain.String(); strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, "  1 words\n   1.50 s  killed\n") {
		t.Errorf("plain: %q", got)
	}
	const erase = "\r\x1b[K"
	if got := strings.Split(live.String(), erase); len(got) != 4 || !strings.HasSuffix(got[0], "  1 words") || !strings.HasSuffix(got[1], "  2 words") ||
		!strings.HasPrefix(got[2], "   1.50 s  killed\n") || got[3] != "" {
		t.Errorf("live: %q", got)
	}
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := &journal{path: path}
	defer j.close()
	if err := j.poll(); err != nil || len(j.events) != 0 {
		t.Fatalf("%v, %v", j.events, err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range []string{
		`{"event":"commit","atMicros":1,"words":5}` + "\n" + `{"event":"comm`, `it","atMicros":2,"words":6}` + "\n" + `{"event":"first","atMicros":3}` + "\n",
	} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if err := j.poll(); err != nil {
			t.Fatal(err)
		}
	}
	last, ok := j.last(statefulwordcount.EventCommit)
	before, ok2 := j.lastButOne(statefulwordcount.EventCommit)
	after, ok3 := j.find(statefulwordcount.EventCommit, 1)
	_, none := j.find(statefulwordcount.EventState, 0)
	if !ok || last.Words != 6 || !ok2 || before.Words != 5 || !ok3 || after.Words != 6 || none {
		t.Errorf("%+v", j.events)
	}
	if _, err := f.WriteString("damaged\n"); err != nil {
		t.Fatal(err)
	}
	if err := j.poll(); err == nil {
		t.Error("a damaged line is no error")
	}
}
