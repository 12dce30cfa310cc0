package wordcount

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// slack is how many bytes behind a block are read with it, in search of the
// end of its last word.
const slack = 512

// blockList numbers the blocks of regular files. A block is the words that
// begin in size bytes of a file; so each can be read by itself, and is the same
// in every process and at every time.
type blockList struct {
	inputs []input
	size   int64   // bytes
	ends   []int64 // the number of the first block after each input
}

func newBlockList(inputs []input, size int64) *blockList {
	l := &blockList{inputs: inputs, size: size, ends: make([]int64, len(inputs))}
	total := int64(0)
	for i, in := range inputs {
		total += (in.size + size - 1) / size
		l.ends[i] = total
	}
	return l
}

// total is how many blocks there are; they are numbered from 0.
func (l *blockList) total() int64 {
	if len(l.ends) == 0 {
		return 0
	}
	return l.ends[len(l.ends)-1]
}

// find tells which input a block is of, and where in it the block begins.
func (l *blockList) find(block int64) (in input, start int64) {
	i, exact := slices.BinarySearch(l.ends, block)
	for exact && l.ends[i] == block { // inputs without blocks come between
		i++
		exact = i < len(l.ends)
	}
	first := int64(0)
	if i > 0 {
		first = l.ends[i-1]
	}
	return l.inputs[i], (block - first) * l.size
}

// blockReader reads blocks and keeps the file of the last one open.
type blockReader struct {
	list *blockList
	path string
	file *os.File
	buf  []byte
}

// read returns the text of a block; it is empty if no word begins there.
func (r *blockReader) read(block int64) (string, error) {
	in, start := r.list.find(block)
	if r.file == nil || r.path != in.path {
		r.close()
		f, err := os.Open(in.path)
		if err != nil {
			return "", fmt.Errorf("input was there at the start: %w", unreadable(in.path, err))
		}
		r.file, r.path = f, in.path
	}
	text, buf, err := readBlock(r.file, in.size, start, r.list.size, r.buf)
	if int64(cap(buf)) > 4*(r.list.size+slack) {
		buf = nil // a very long word must not hold its memory for ever
	}
	r.buf = buf
	switch {
	case errors.Is(err, io.EOF):
		return "", fmt.Errorf("input %q had %d bytes at the start and has fewer now; with --ledger inputs must not change", in.path, in.size)
	case err != nil:
		return "", fmt.Errorf("input was there at the start: %w", unreadable(in.path, err))
	}
	return string(text), nil
}

func (r *blockReader) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// readBlock reads the block that begins about start in a file of size bytes.
// Blocks are cut behind the first ASCII white space at or after the byte
// before each multiple of blockSize, so that together they are the file. text
// lies in the memory of buf, which grows as needed and is handed back.
func readBlock(r io.ReaderAt, size, start, blockSize int64, buf []byte) (text, grown []byte, err error) {
	end := min(start+blockSize, size)
	from := max(start-1, 0)
	if buf, err = readMore(r, buf[:0], from, min(end-from+slack, size-from)); err != nil {
		return nil, buf, err
	}
	last := int(end - 1 - from) // the byte at which the end is sought
	left := 0
	if start > 0 {
		if left = afterSpace(buf[:last]); left < 0 {
			return nil, buf, nil // a word of an earlier block is all there is
		}
	}
	if end == size {
		return buf[left:], buf, nil
	}
	for at := last; ; {
		if n := afterSpace(buf[at:]); n >= 0 {
			return buf[left : at+n], buf, nil
		}
		at = len(buf)
		if from+int64(at) == size {
			return buf[left:], buf, nil
		}
		// Twice as much each time, so that a long word costs no more than its
		// length.
		if buf, err = readMore(r, buf, from, min(2*int64(at), size-from)); err != nil {
			return nil, buf, err
		}
	}
}

// readMore extends buf, whose first byte is the file's byte from, to n bytes.
func readMore(r io.ReaderAt, buf []byte, from, n int64) ([]byte, error) {
	have := len(buf)
	buf = slices.Grow(buf, int(n)-have)[:n]
	got, err := r.ReadAt(buf[have:], from+int64(have))
	if have+got == len(buf) {
		return buf, nil
	}
	return buf[:have+got], err
}

// afterSpace is the index behind the first ASCII white space, -1 without one.
func afterSpace(b []byte) int {
	for i, c := range b {
		if classes[c] == asciiSpace {
			return i + 1
		}
	}
	return -1
}
