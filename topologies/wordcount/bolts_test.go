package wordcount

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stormring/stormring/storm"
)

// fakeSpoutEmitter keeps what a spout emits.
type fakeSpoutEmitter struct {
	storm.SpoutEmitter
	ids   []int64
	texts []string
	errs  []error
}

func (f *fakeSpoutEmitter) Emit(_ int, id storm.Value, t *storm.Tuple) []storm.TaskID {
	n, _ := id.AsInt()
	f.ids = append(f.ids, n)
	f.texts = append(f.texts, t.String(0))
	return nil
}

func (f *fakeSpoutEmitter) ReportError(err error) { f.errs = append(f.errs, err) }

func openSpout(t *testing.T, paths ...string) (*spout, *fakeSpoutEmitter) {
	t.Helper()
	inputs, err := resolve(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, f := &spout{job: newJob(inputs, nil)}, &fakeSpoutEmitter{}
	out := storm.NewSpoutOutputCollector(f, "read", map[string]int{storm.DefaultStream: 0})
	if err := s.Open(storm.NewTopologyContext(storm.ContextSpec{Task: 1}), out); err != nil {
		t.Fatal(err)
	}
	return s, f
}

func TestSpoutReplays(t *testing.T) {
	dir := t.TempDir()
	s, f := openSpout(t, writeFile(t, dir, "a", "one"), writeFile(t, dir, "b", "two"))
	for range 4 {
		if err := s.NextTuple(); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(f.texts, "|"); got != "one|two" || s.Exhausted() {
		t.Fatalf("emitted %q, exhausted %t", got, s.Exhausted())
	}
	if p := s.job.progress(); p != 1 {
		t.Errorf("progress %v", p)
	}
	s.Ack(storm.Int(1))
	s.Fail(storm.Int(1)) // settled already
	s.Fail(storm.Int(2))
	for range 2 {
		s.NextTuple()
	}
	if got := strings.Join(f.texts, "|"); got != "one|two|two" || f.ids[2] != 2 || s.Exhausted() {
		t.Fatalf("emitted %q as %v, exhausted %t", got, f.ids, s.Exhausted())
	}
	s.Ack(storm.Int(2))
	s.NextTuple()
	if !s.Exhausted() || len(f.texts) != 3 {
		t.Errorf("exhausted %t, emitted %q", s.Exhausted(), f.texts)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestBlockSize reads a long line in blocks of about the size of a piece.
func TestBlockSize(t *testing.T) {
	s, f := openSpout(t, writeFile(t, t.TempDir(), "a", strings.Repeat("0123456 ", 100_000)))
	for !s.done {
		s.NextTuple()
	}
	for _, text := range f.texts {
		if len(text) > 2*pieceSize {
			t.Errorf("a block has %d bytes", len(text))
		}
	}
	if n := len(strings.Join(f.texts, "")); n != 800_000 {
		t.Errorf("blocks have %d bytes", n)
	}
}

func BenchmarkWords(b *testing.B) {
	text := strings.Repeat("some words é\u3000and more\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for start, end := nextWord(text, 0); start < len(text); start, end = nextWord(text, end) {
		}
	}
}

func BenchmarkRun(b *testing.B) {
	var text strings.Builder
	for i := range 500_000 {
		text.WriteString([]string{"the ", "a ", "of\n", "and ", "to "}[i%5])
		if i%10 == 0 {
			text.WriteString(strconv.Itoa(i%10_000) + "\t")
		}
	}
	path := writeFile(b, b.TempDir(), "text", text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := run(b, nil, 1, path); err != nil {
			b.Fatal(err)
		}
	}
}
