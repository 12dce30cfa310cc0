package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"
)

// tally counts words in its own way: by runes, with the standard library.
func tally(text string) map[string]int {
	counts := map[string]int{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || r >= 0x1C && r <= 0x1F
	}) {
		counts[word]++
	}
	return counts
}

// tsv is what --format tsv must print of counts.
func tsv(counts map[string]int) string {
	type entry struct {
		word string
		n    int
	}
	var list []entry
	for word, n := range counts {
		list = append(list, entry{word, n})
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.word, b.word)) })
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "%s\t%d\n", e.word, e.n)
	}
	return b.String()
}

// weird is text with all that can go wrong: bytes that are no UTF-8, cut
// sequences, NUL, and white space of every kind.
func weird(size int) string {
	pieces := []string{
		"a", "b", "Straße", "Ärger", "日本", "\x00", "\xff", "\xc2", "\xe2\x80", "\xed\xa0\x80", "\xf0\x9f\x98\x80", "\ufeff", "\u200b",
		" ", "\n", "\t", "\r\n", "\v", "\f", "\x1c", "\x1f", "\u0085", "\u00a0", "\u1680", "\u2003", "\u2028", "\u202f", "\u205f", "\u3000",
		`"`, `\`, `\u0061`, "\x7f", "\x85", "\xa0",
	}
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < size {
		if random.IntN(4) == 0 {
			b.WriteByte(byte(random.Uint32()))
			continue
		}
		b.WriteString(pieces[random.IntN(len(pieces))])
	}
	b.WriteString(strings.Repeat("long", 100_000)) // longer than any buffer
	return b.String()
}

// compare exits with 1 if a Counter over the file that it is given differs from
// the JSON on standard input.
const compare = `
import collections, json, sys
text = open(sys.argv[1], "rb").read().decode("utf-8", "surrogateescape")
want = collections.Counter(text.split()).items()
want = sorted(want, key=lambda e: (-e[1], e[0].encode("utf-8", "surrogateescape")))
got = [(e["word"], e["count"]) for e in json.load(sys.stdin)]
sys.exit(0 if got == want else "%d words, want %d" % (len(got), len(want)))
`

func TestWeirdFile(t *testing.T) {
	t.Parallel()
	text := weird(1 << 18)
	path := filepath.Join(t.TempDir(), "weird")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := stormring(t, "local", "-q", "wordcount", "--input", path, "--top", "0", "--format", "tsv", "--workers", "2", "--splitters", "2").run(t)
	if code != 0 {
		t.Fatalf("code %d, %q", code, stderr)
	}
	if stdout != tsv(tally(text)) {
		t.Errorf("the counts differ; %d and %d bytes", len(stdout), len(tsv(tally(text))))
	}

	code, stdout, stderr = stormring(t, "local", "-q", "wordcount", "--input", path, "--top", "0", "--format", "json").run(t)
	if code != 0 || stderr != "" || !json.Valid([]byte(stdout)) {
		t.Fatalf("code %d, %q", code, stderr)
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("without a comparison with Python: ", err)
		return
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", compare, path)
	cmd.Stdin = strings.NewReader(stdout)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Python counts otherwise: %v: %s", err, out)
	}
}

// TestManyFiles: more files than may be open at a time.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	const files = 10_000
	dir := t.TempDir()
	want := map[string]int{"all": files}
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprint(i%10))
		if i < 10 {
			if err := os.Mkdir(sub, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		name := fmt.Sprintf("f%d", i)
		want[name]++
		// No line end: words of different files must not run together.
		if err := os.WriteFile(filepath.Join(sub, name), []byte("all "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := stormring(t, "local", "-q", "wordcount", "--input", dir, "--top", "0", "--format", "tsv", "--spouts", "3").run(t)
	if code != 0 || stderr != "" || stdout != tsv(want) {
		t.Errorf("code %d, %q, %d bytes, want %d", code, stderr, len(stdout), len(tsv(want)))
	}
}

// TestPipes: a named pipe and standard input at once, to their ends.
func TestPipes(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	p := stormring(t, "local", "-q", "wordcount", "--input", pipe, "--input", "-", "--top", "0", "--format", "tsv")
	p.Stdin = strings.NewReader(strings.Repeat("in both ", 50_000))
	p.start(t)
	w, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits for the reader
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString(strings.Repeat("named both ", 50_000)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if code := p.end(t); code != 0 || p.out.String() != "both\t100000\nin\t50000\nnamed\t50000\n" || p.err.String() != "" {
		t.Errorf("code %d, %q, %q", code, p.out.String(), p.err.String())
	}
}
