package wordcount

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	goleak.VerifyTestMain(m)
}

// instance makes the topology as the command does.
func instance(stdin io.Reader, args ...string) (*storm.Instance, error) {
	return Definition().Instance(storm.Env{Args: args, Stdin: stdin})
}

// fataler is a *testing.T or a *rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// run runs the topology to its end and returns what it prints.
func run(t fataler, stdin io.Reader, workers int, args ...string) (string, error) {
	t.Helper()
	in, err := instance(stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return runInstance(t, in, workers)
}

func runInstance(t fataler, in *storm.Instance, workers int) (string, error) {
	t.Helper()
	conf := storm.Config{}
	conf.SetNumWorkers(workers)
	top, err := local.New(local.Options{Name: "wordcount", Instance: in, Conf: conf})
	if err != nil {
		t.Fatal(err)
	}
	res, err := top.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if res.Partial {
		t.Fatal("the run was partial")
	}
	var out strings.Builder
	err = in.Report(&out, false)
	return out.String(), err
}

// simple counts in another way.
func simple(data ...string) map[string]int64 {
	counts := map[string]int64{}
	for _, d := range data {
		for _, w := range strings.FieldsFunc(d, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F }) {
			counts[w]++
		}
	}
	return counts
}

// parseTSV reads what --format tsv prints and checks its order.
func parseTSV(t fataler, text string) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	lastN, lastWord := int64(0), ""
	for line := range strings.Lines(text) {
		word, num, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		n, err := strconv.ParseInt(num, 10, 64)
		if !ok || err != nil {
			t.Fatal(fmt.Sprintf("bad line %.100q", line))
		}
		if _, double := counts[word]; double {
			t.Fatal(fmt.Sprintf("%.100q comes twice", word))
		}
		if len(counts) > 0 && (n > lastN || n == lastN && word <= lastWord) {
			t.Fatal(fmt.Sprintf("%.100q is out of order", word))
		}
		counts[word], lastN, lastWord = n, n, word
	}
	return counts
}

func diff(got, want map[string]int64) string {
	for w, n := range want {
		if got[w] != n {
			return fmt.Sprintf("%.100q: got %d, want %d", w, got[w], n)
		}
	}
	for w, n := range got {
		if _, ok := want[w]; !ok {
			return fmt.Sprintf("%.100q: got %d, want none", w, n)
		}
	}
	return ""
}

func writeFile(t fataler, dir, name, data string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// oddInputs are contents that break careless counting.
func oddInputs() map[string]string {
	return map[string]string{
		"empty":            "",
		"one word":         "word",
		"no final newline": "a b\nc a",
		"crlf":             "a b\r\nc a\r\n",
		"space only":       strings.Repeat(" \n\t", 12_000),
		"nul":              "a\x00b \x00 a\x00b\x00",
		"invalid":          "a\xff \xff a\xff \xe2\x80 \xc2 \xe2\x80\xc2\x85z \xed\xb2\x80",
		"separators":       "a\x1cb\x1dc\x1ed\x1fe\x1bf",
		"unicode space":    "a\u00a0b\u0085c\u1680d\u2000e\u200ae\u200bf\u2028g\u2029h\u202fi\u205fj\u3000k\ufeffl\u180em",
		"case":             "Word word WORD",
		"long line":        strings.Repeat("abc de ", 20_000),
		"wide space only":  strings.Repeat("\u3000x\u2003", 5_000),
		"long word":        strings.Repeat("xyz", fullTail),
		"long words":       strings.Repeat("y", 40_000) + " " + strings.Repeat("z", 70_000) + "\u3000" + strings.Repeat("y", 40_000),
	}
}

func TestOddInputs(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for name, data := range oddInputs() {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, dir, name, data)
			out, err := run(t, nil, 1, "--top", "0", "--format", "tsv", "--input", path)
			if err != nil {
				t.Fatal(err)
			}
			if d := diff(parseTSV(t, out), simple(data)); d != "" {
				t.Error(d)
			}
		})
		all = append(all, data)
	}
	t.Run("all in two workers", func(t *testing.T) {
		out, err := run(t, nil, 2, "--top", "0", "--format", "tsv", "--spouts", "2", "--splitters", "3", "--counters", "3", dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(parseTSV(t, out), simple(all...)); d != "" {
			t.Error(d)
		}
	})
}

// TestChunkBorders moves a white space of several bytes over the border of a
// piece.
func TestChunkBorders(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for shift := range 8 {
		for i, space := range []string{"\u3000", "\u0085", "\r\n", "é", "\xe3\x80"} {
			data := strings.Repeat("w", pieceSize-4+shift) + space + "v " + strings.Repeat("u", pieceSize)
			writeFile(t, dir, fmt.Sprint(shift, i), data)
			all = append(all, data)
		}
	}
	out, err := run(t, nil, 1, "--top", "0", "--format", "tsv", dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(parseTSV(t, out), simple(all...)); d != "" {
		t.Error(d)
	}
}

func TestManySmallFiles(t *testing.T) {
	dir := t.TempDir()
	want := map[string]int64{}
	for i := range 1000 {
		word := fmt.Sprint("w", i%7)
		writeFile(t, dir, fmt.Sprintf("%d/%d", i%10, i), word+" x")
		want[word]++
		want["x"]++
	}
	out, err := run(t, nil, 1, "--top", "0", "--format", "tsv", "--spouts", "3", dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(parseTSV(t, out), want); d != "" {
		t.Error(d)
	}
}

func TestRandomBytes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		// Bytes of which white space is made, often.
		alphabet := rapid.SampledFrom([]byte("a \n\x1c\x00\xc2\x85\xa0\xe1\x9a\x80\xe2\x81\x9f\xa8\xe3\xff"))
		data := string(rapid.SliceOf(rapid.OneOf(alphabet, rapid.Byte())).Draw(t, "data"))
		var got []string
		for start, end := nextWord(data, 0); start < len(data); start, end = nextWord(data, end) {
			got = append(got, data[start:end])
		}
		want := strings.FieldsFunc(data, func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F })
		if !slices.Equal(got, want) {
			t.Fatalf("words %q, want %q", got, want)
		}
	})
	var data strings.Builder
	gen := rapid.SliceOfN(rapid.Byte(), 1000, 1000)
	for i := range 50 {
		data.Write(gen.Example(i))
	}
	path := writeFile(t, dir, "f", data.String())
	out, err := run(t, nil, 1, "--top", "0", "--format", "tsv", path)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(parseTSV(t, out), simple(data.String())); d != "" {
		t.Error(d)
	}
}

// TestCutter has blocks make up the input, each ending in white space.
func TestCutter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SliceOf(rapid.SampledFrom([]byte("ab \n\xe3\x80")))).Draw(t, "pieces")
		var c cutter
		var joined strings.Builder
		for _, p := range pieces {
			block := c.add(p)
			if block != "" && !strings.ContainsAny(block[len(block)-1:], " \n") {
				t.Fatalf("block %q ends in a word", block)
			}
			joined.WriteString(block)
		}
		joined.WriteString(c.end())
		if want := string(bytes.Join(pieces, nil)); joined.String() != want {
			t.Fatalf("blocks make %q, want %q", joined.String(), want)
		}
	})
}

// TestAgainstPython compares with Python's own idea of words, through JSON.
func TestAgainstPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3 is expected where CI is set")
		}
		t.Skip("no python3")
	}
	dir := t.TempDir()
	for name, data := range oddInputs() {
		writeFile(t, dir, name, data)
	}
	script := `
import collections, json, os, sys
c = collections.Counter()
for name in os.listdir(sys.argv[1]):
    with open(os.path.join(sys.argv[1], name), "rb") as f:
        c.update(f.read().decode("utf-8", "surrogateescape").split())
got = {e["word"]: e["count"] for e in json.load(sys.stdin)}
for w in set(c) | set(got):
    if c.get(w) != got.get(w):
        print(ascii(w)[:100], "python:", c.get(w), "got:", got.get(w))
`
	out, err := run(t, nil, 1, "--top", "0", "--format", "json", dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", script, dir)
	cmd.Stdin = strings.NewReader(out)
	cmd.Stderr = os.Stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if len(said) > 0 {
		t.Errorf("%s", said)
	}
}

func TestFormats(t *testing.T) {
	counts := []count{{"b", 2}, {"a", 10}, {"q\"\\", 2}, {"n\x00\xffé", 1}, {strings.Repeat("é", 200), 1}}
	cases := []struct {
		format string
		top    int
		want   string
	}{
		{"tsv", 0, "a\t10\nb\t2\nq\"\\\t2\nn\x00\xffé\t1\n" + strings.Repeat("é", 200) + "\t1\n"},
		{"tsv", 2, "a\t10\nb\t2\n"},
		{"table", 0, "COUNT  WORD\n   10  a\n    2  b\n    2  q\"\\\n    1  n\\x00\\xffé\n    1  " + strings.Repeat("é", 100) + "… (400 bytes)\n"},
		{"json", 4, `[
  {"word": "a", "count": 10},
  {"word": "b", "count": 2},
  {"word": "q\"\\", "count": 2},
  {"word": "n\u0000\udcffé", "count": 1}
]
`},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.format, c.top), func(t *testing.T) {
			var out strings.Builder
			if err := write(&out, most(slices.Clone(counts), c.top), c.format); err != nil {
				t.Fatal(err)
			}
			if out.String() != c.want {
				t.Errorf("got\n%s\nwant\n%s", out.String(), c.want)
			}
		})
	}
	var empty strings.Builder
	if err := write(&empty, nil, "json"); err != nil || empty.String() != "[]\n" || !json.Valid([]byte(empty.String())) {
		t.Errorf("no words: %q, %v", empty.String(), err)
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{
		{"--format", "xml"}, {"--top", "-1"}, {"--spouts", "0"}, {"--splitters", "0"}, {"--counters", "-2"}, {"-", "-"},
	} {
		if _, err := instance(strings.NewReader(""), args...); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
}
