package wordcount

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// emptyLedger makes a ledger without counts, of so many blocks.
func emptyLedger(t fataler, dir string, blocks int64) *ledger {
	t.Helper()
	l := newLedger(dir, newBlockList([]input{{path: "f", size: blocks * 100}}, 100), false)
	if err := l.enter(); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestTornFiles has every file of a counter end anywhere. What was cut off, and
// anything else, comes again in a later file.
func TestTornFiles(t *testing.T) {
	root, runs := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		dir := filepath.Join(root, strconv.Itoa(runs))
		l := emptyLedger(t, dir, 20)
		type key struct{ block, index int64 }
		want, written := map[string]int64{}, map[key]bool{}
		var lines []string
		for range rapid.IntRange(0, 60).Draw(t, "entries") {
			k := key{rapid.Int64Range(0, 19).Draw(t, "block"), rapid.Int64Range(0, 99).Draw(t, "index")}
			if written[k] {
				continue
			}
			written[k] = true
			word := rapid.SampledFrom([]string{"a", "b", "\x00", "\xff", "é", "\u3000x"}).Draw(t, "word")
			n := rapid.Int64Range(1, 1000).Draw(t, "n")
			want[word] += n
			lines = append(lines, string(appendEntry(nil, k.block, k.index, n, word)))
		}
		left := lines
		for file := 0; len(left) > 0; file++ {
			// A counter writes some of what is not acked, and some of the rest
			// again; the last one is killed by nobody.
			all := slices.Concat(left, lines[:rapid.IntRange(0, len(lines)).Draw(t, "doubled")])
			text := strings.Join(all, "")
			cut := len(text)
			if file < 5 {
				cut = rapid.IntRange(1, len(text)).Draw(t, "cut")
			}
			f, err := l.newCounts(rapid.IntRange(0, 2).Draw(t, "rank"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.WriteString(text[:cut])
			if err = errors.Join(err, f.Close()); err != nil {
				t.Fatal(err)
			}
			left = left[min(len(left), strings.Count(text[:cut], "\n")):]
		}
		got, complete, err := ReadLedger(dir)
		if err != nil || complete {
			t.Fatalf("complete %t, %v", complete, err)
		}
		if d := diff(got, want); d != "" {
			t.Fatal(d)
		}
	})
}

func TestReadLedgerComplete(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, _, err := ReadLedger(path); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path+" is no ledger") {
			t.Errorf("%s: %v", path, err)
		}
	}
	l := emptyLedger(t, dir, 3)
	steps := []struct {
		file     string
		complete bool
	}{
		{"", false},
		{"progress-0-of-1", false},
		{"done-0-of-2", false},
		{"done-0-of-3", false},
		{"done-1-of-2.123.tmp", false},
		{"done-01-of-2", false},
		{"done-1-of-2", true},
	}
	for _, s := range steps {
		if s.file != "" {
			writeFile(t, dir, s.file, "")
		}
		counts, complete, err := ReadLedger(dir)
		if err != nil || complete != s.complete || len(counts) != 0 {
			t.Errorf("with %q: %v, complete %t, %v", s.file, counts, complete, err)
		}
	}
	if err := l.enter(); err != nil {
		t.Errorf("entered again: %v", err)
	}
}

func TestDamagedLedger(t *testing.T) {
	for _, c := range []struct{ file, data, want string }{
		{"counts-0.1", "0\t0\t1\ta\n0\t0\t1\n", `line 2 is damaged`},
		{"counts-0.1", "3\t0\t1\ta\n", "there is no such block or word"},
		{"counts-0.1", "0\t100\t1\ta\n", "there is no such block or word"},
		{"job.json", "{", "job.json of the ledger"},
		{"job.json", `{"version":2}`, "of another version"},
	} {
		dir := t.TempDir()
		emptyLedger(t, dir, 3)
		writeFile(t, dir, c.file, c.data)
		if _, _, err := ReadLedger(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in %s: %v", c.data, c.file, err)
		}
	}
}

func TestOtherLedger(t *testing.T) {
	dir := t.TempDir()
	emptyLedger(t, dir, 3)
	l := newLedger(dir, newBlockList([]input{{path: "f", size: 299}}, 100), false)
	for _, err := range []error{l.check(), l.enter()} {
		if err == nil || !strings.Contains(err.Error(), "is of other inputs, or they have changed") {
			t.Errorf("got %v", err)
		}
	}
}

// TestEnterTogether has many tasks make the ledger at once.
func TestEnterTogether(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "ledger")
	errs := make(chan error)
	const tasks = 16
	for range tasks {
		go func() { errs <- newLedger(dir, newBlockList(nil, 1), true).enter() }()
	}
	for range tasks {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 || files[0].Name() != jobFile {
		t.Errorf("files %v, %v", files, err)
	}
}

func FuzzParseEntry(f *testing.F) {
	f.Add([]byte("0\t1\t2\tword"))
	f.Add([]byte("-1\t1\t2\tword"))
	f.Add([]byte("1\t9223372036854775808\t1\tw"))
	f.Add([]byte("007\t1\t2\t\xff\x00"))
	f.Add([]byte("1\t1\t0\tw"))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := parseEntry(line)
		if err != nil {
			return
		}
		if e.block < 0 || e.index < 0 || e.n < 1 || len(e.word) == 0 {
			t.Fatalf("%q is taken for %+v", line, e)
		}
		again := appendEntry(nil, e.block, e.index, e.n, string(e.word))
		e2, err := parseEntry(bytes.TrimSuffix(again, []byte{'\n'}))
		if err != nil || fmt.Sprint(e2) != fmt.Sprint(e) {
			t.Fatalf("%q, written again %q, is %+v, %v", line, again, e2, err)
		}
	})
}

func BenchmarkReadLedger(b *testing.B) {
	dir := b.TempDir()
	emptyLedger(b, dir, 1000)
	var data []byte
	const entries = 100_000
	for i := range int64(entries) {
		data = appendEntry(data, i/100, i%100, 3, fmt.Sprint("word", i*i%9973))
	}
	writeFile(b, dir, "counts-0.1", string(data))
	for b.Loop() {
		if _, _, err := ReadLedger(dir); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
