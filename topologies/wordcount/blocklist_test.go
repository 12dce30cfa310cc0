package wordcount

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBlocksAreTheFile has blocks, each read by itself and in any order, make
// up the file and cut no word.
func TestBlocksAreTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.SampledFrom([]byte("abcdefg \n\xe3\x80")), 1, 200).Draw(t, "data")
		if stretch := rapid.IntRange(1, 700).Draw(t, "stretch"); stretch > 1 {
			data = bytes.ReplaceAll(data, []byte("a"), bytes.Repeat([]byte("a"), stretch))
		}
		size := rapid.Int64Range(1, 300).Draw(t, "block size")
		blocks := (int64(len(data)) + size - 1) / size
		parts := make([]string, blocks)
		var buf []byte
		for _, k := range rapid.Permutation(indexes(int(blocks))).Draw(t, "order") {
			var text []byte
			var err error
			text, buf, err = readBlock(bytes.NewReader(data), int64(len(data)), int64(k)*size, size, buf)
			if err != nil {
				t.Fatal(err)
			}
			parts[k] = string(text)
		}
		if got := strings.Join(parts, ""); got != string(data) {
			t.Fatalf("blocks make %q, want %q", got, data)
		}
		rest := int64(len(data))
		for k, p := range parts {
			rest -= int64(len(p))
			if p != "" && rest > 0 && classes[p[len(p)-1]] != asciiSpace {
				t.Fatalf("block %d %q ends in a word", k, p)
			}
		}
	})
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestBlockList(t *testing.T) {
	l := newBlockList([]input{{path: "z"}, {path: "a", size: 10}, {path: "b", size: 11}, {path: "y"}, {path: "c", size: 1}, {path: "x"}}, 5)
	if l.total() != 6 || newBlockList(nil, 5).total() != 0 {
		t.Fatalf("total %d", l.total())
	}
	var got []string
	for block := range l.total() {
		in, start := l.find(block)
		got = append(got, fmt.Sprint(in.path, start))
	}
	if got, want := strings.Join(got, " "), "a0 a5 b0 b5 b10 c0"; got != want {
		t.Errorf("blocks %q, want %q", got, want)
	}
}

// TestChangedInput has a file that shrinks be an error, and one that grows be
// counted as it was.
func TestChangedInput(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "f", "one two three")
	r := blockReader{list: newBlockList([]input{{path: path, size: 13}}, 4)}
	defer r.close()
	writeFile(t, dir, "f", "one two threefold and more")
	var got []string
	for block := range r.list.total() {
		text, err := r.read(block)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, text)
	}
	if got, want := strings.Join(got, "|"), "one |two |three|"; got != want {
		t.Errorf("blocks %q, want %q", got, want)
	}
	writeFile(t, dir, "f", "one two")
	if _, err := r.read(0); err != nil { // all of it and more is read
		if !strings.Contains(err.Error(), "has fewer now") {
			t.Error(err)
		}
	}
	if _, err := r.read(2); err == nil || !strings.Contains(err.Error(), "had 13 bytes at the start and has fewer now") {
		t.Errorf("got %v", err)
	}
}

func TestLongWordIsReadOnce(t *testing.T) {
	c := &countingReader{data: strings.Repeat("w", 1<<20) + " end"}
	size := int64(len(c.data))
	for start := int64(0); start < size; start += 1 << 10 {
		if _, _, err := readBlock(c, size, start, 1<<10, nil); err != nil {
			t.Fatal(err)
		}
	}
	if c.n > 4*size {
		t.Errorf("%d bytes were read of %d", c.n, size)
	}
}

type countingReader struct {
	data string
	n    int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := strings.NewReader(c.data).ReadAt(b, off)
	c.n += int64(n)
	return n, err
}
