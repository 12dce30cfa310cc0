package polyglot

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"
)

// source is a text to read.
type source struct {
	name string
	open func() (io.ReadCloser, error)
}

// resolve finds files and how many bytes they have; without any, the scripts.
func resolve(paths []string) (sources []source, total int64, err error) {
	if len(paths) == 0 {
		return scriptTexts()
	}
	for _, path := range paths {
		open := func() (io.ReadCloser, error) { return openFile(path) }
		f, err := openFile(path)
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		f.Close()
		if err != nil {
			return nil, 0, fmt.Errorf("cannot read input %q: %w", path, err)
		}
		sources = append(sources, source{path, open})
		total += info.Size()
	}
	return sources, total, nil
}

// openFile opens a file that can be read again after a restart.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("input %q is no file; topology wordcount also takes folders, pipes and patterns", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read input: %w", err)
	}
	return f, nil
}

// scriptTexts are the scripts of this topology.
func scriptTexts() (sources []source, total int64, err error) {
	err = fs.WalkDir(embedded, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		sources = append(sources, source{path, func() (io.ReadCloser, error) { return embedded.Open(path) }})
		return nil
	})
	return sources, total, err
}

// maxLine bounds the memory that a line takes, in bytes.
const maxLine = 16 << 20

// text says what lines may hold.
type text struct {
	replace bool // what is not UTF-8, instead of refusing it
	noNUL   bool // refuse NUL, which a shell cannot hold
}

// lineReader reads lines of UTF-8.
type lineReader struct {
	name   string
	file   io.ReadCloser
	buf    *bufio.Reader
	long   []byte // what has come of a line that is longer than buf
	number int    // of the last line, from 1
	text   text
}

func newLineReader(name string, file io.ReadCloser, text text) *lineReader {
	return &lineReader{name: name, file: file, buf: bufio.NewReaderSize(file, 64<<10), text: text}
}

func (r *lineReader) close() { r.file.Close() }

// next is the next line without its end, and how many bytes were read. The last
// line needs no end.
func (r *lineReader) next() (line string, n int, err error) {
	r.long = r.long[:0]
	r.number++
	for {
		part, err := r.buf.ReadSlice('\n')
		n += len(part)
		r.long = append(r.long, part...)
		switch {
		case len(r.long) > maxLine:
			return "", n, fmt.Errorf("line %d of %s is longer than %d MiB; break it", r.number, r.name, maxLine>>20)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && n == 0:
			return "", 0, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return "", n, fmt.Errorf("line %d of %s: %w", r.number, r.name, err)
		}
		break
	}
	line, err = r.check(strings.TrimSuffix(string(r.long), "\n"))
	return line, n, err
}

// check is a line as it may be sent.
func (r *lineReader) check(line string) (string, error) {
	switch {
	case r.text.noNUL && strings.ContainsRune(line, 0):
		return "", fmt.Errorf("line %d of %s has a NUL, which a shell cannot hold; take another --splitter", r.number, r.name)
	case utf8.ValidString(line):
		return line, nil
	case r.text.replace:
		return toUTF8(line), nil
	}
	return "", fmt.Errorf("line %d of %s is not UTF-8, which messages to other languages are; convert it (iconv -t UTF-8), or count with --invalid %s", r.number, r.name, replaceInvalid)
}

// toUTF8 puts one U+FFFD in the place of what is not UTF-8, or of what only
// begins as a character, as Unicode recommends and Python does.
func toUTF8(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			n = beginning(s[i:])
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// beginning is how many bytes of s, which begins with no character, are the
// beginning of one; at least 1.
func beginning(s string) int {
	for n := 1; n < min(len(s), utf8.UTFMax); n++ {
		if !startsCharacter(s[:n+1]) {
			return n
		}
	}
	return min(len(s), utf8.UTFMax)
}

// startsCharacter reports whether more bytes could make s, of two bytes or
// more, a character.
func startsCharacter(s string) bool {
	for _, end := range []string{"\x80", "\xbf", "\x80\x80", "\xbf\xbf"} {
		if r, n := utf8.DecodeRuneInString(s + end); r != utf8.RuneError && n == len(s)+len(end) {
			return true
		}
	}
	return false
}
