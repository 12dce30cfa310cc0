package statefulwordcount

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// readBytes is what is read of a file at a time.
	readBytes = 256 << 10
	// maxLine bounds a line, in bytes.
	maxLine = 1 << 20
	// formFeed begins a line that names the pages after it.
	formFeed = '\f'
)

// text is what is counted without --input: Stormring's documentation, as it was
// once.
//
//go:embed text.txt
var text string

// Text is what is counted without --input: some 70 KB of English, in which a line
// that begins with a form feed names the document that follows.
func Text() string { return text }

// source is an input: a file, or text.
type source struct{ path, text string }

// sourceFile is an open source.
type sourceFile interface {
	io.ReadSeeker
	io.Closer
}

// inMemory is an open text.
type inMemory struct{ *strings.Reader }

// Close does nothing.
func (inMemory) Close() error { return nil }

func (s source) open() (sourceFile, error) {
	if s.text != "" {
		return inMemory{strings.NewReader(s.text)}, nil
	}
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return f, nil
}

// size is that of the source in bytes, 0 if nobody knows.
func (s source) size() int64 {
	if s.text != "" {
		return int64(len(s.text))
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return 0 // the spout will say what is wrong
	}
	return info.Size()
}

// resolve finds the files that paths mean.
func resolve(paths []string) ([]source, error) {
	if len(paths) == 0 {
		return []source{{path: "text", text: text}}, nil
	}
	var files []source
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("--input: %w", err)
		}
		if !info.IsDir() {
			files = append(files, source{path: path})
			continue
		}
		err = filepath.WalkDir(path, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, source{path: path})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("--input: %w", err)
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("--input: there is no file in %q", paths)
	}
	return files, nil
}

// position is where in the input a reader is: before a line.
type position struct {
	File   int   `json:"file"`
	Offset int64 `json:"offset"`
	// Name is that of the pages here, "" for the file's, Line the lines since it
	// was named.
	Name string `json:"name,omitempty"`
	Line int64  `json:"line"`
}

// reader reads lines of files and knows on which page each is.
type reader struct {
	files     []source
	follow    bool // the last file grows
	pageLines int

	at   position
	file sourceFile // nil: not open
	buf  []byte     // from at.Offset on
	off  int        // into buf: at.Offset
	page string     // of the line at at; "" is not made yet
}

// errWait tells that there is no line now but one may come.
var errWait = errors.New("no line yet")

// seek goes on from p.
func (r *reader) seek(p position) error {
	if p.File < 0 || p.File > len(r.files) || p.Offset < 0 || p.Line < 0 {
		return fmt.Errorf("the state says that the input is read up to byte %d of file %d of %d; has --input changed?", p.Offset, p.File, len(r.files))
	}
	r.close()
	r.at = p
	return nil
}

func (r *reader) close() {
	if r.file != nil {
		r.file.Close()
	}
	r.file, r.buf, r.off, r.page = nil, r.buf[:0], 0, ""
}

// next is the next line, without its end, and its page. The error is io.EOF after
// the last line, and errWait.
func (r *reader) next() (line, page string, err error) {
	for {
		raw, err := r.raw()
		if err != nil {
			return "", "", err
		}
		r.at.Offset += int64(len(raw))
		r.off += len(raw)
		text := bytes.TrimRight(raw, "\r\n")
		if r.pageLines == 0 {
			return string(text), "", nil
		}
		if len(text) > 0 && text[0] == formFeed {
			r.at.Name, r.at.Line, r.page = printable(string(text)), 0, ""
			continue
		}
		if r.at.Line%int64(r.pageLines) == 0 || r.page == "" {
			name := cmp.Or(r.at.Name, printable(filepath.Base(r.files[r.at.File].path)))
			r.page = name + ":" + strconv.FormatInt(r.at.Line/int64(r.pageLines)+1, 10)
		}
		r.at.Line++
		return string(text), r.page, nil
	}
}

// raw is the line at the position, with its end. It is valid until the next call.
func (r *reader) raw() ([]byte, error) {
	for r.at.File < len(r.files) {
		if r.file == nil {
			if err := r.open(); err != nil {
				return nil, err
			}
		}
		if n := bytes.IndexByte(r.buf[r.off:], '\n'); n >= 0 {
			return r.buf[r.off : r.off+n+1], nil
		}
		ended := r.ended() // before the read that finds no more
		err := r.fill()
		switch {
		case err == nil:
			continue
		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read the input: %w", err)
		case !ended:
			return nil, errWait
		case r.off < len(r.buf):
			return r.buf[r.off:], nil
		}
		file := r.at.File + 1
		r.close()
		r.at = position{File: file}
	}
	return nil, io.EOF
}

// printable is a name of a page without what separates things in files and keys.
func printable(name string) string { return strings.Join(strings.Fields(name), " ") }

func (r *reader) open() error {
	f, err := r.files[r.at.File].open()
	if err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	r.file = f
	if _, err := f.Seek(r.at.Offset, io.SeekStart); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	return nil
}

// ended tells that the file does not grow any more.
func (r *reader) ended() bool {
	if !r.follow {
		return true
	}
	_, err := os.Stat(r.files[r.at.File].path + ".end")
	return err == nil
}

// fill reads on; io.EOF is no more now.
func (r *reader) fill() error {
	if len(r.buf)-r.off > maxLine {
		return fmt.Errorf("%s: the line at byte %d has more than %d bytes; is it text?", r.files[r.at.File].path, r.at.Offset, maxLine)
	}
	r.buf = append(r.buf[:0], r.buf[r.off:]...)
	r.off = 0
	n := len(r.buf)
	r.buf = slices.Grow(r.buf, readBytes)[:n+readBytes]
	got, err := r.file.Read(r.buf[n:])
	r.buf = r.buf[:n+got]
	if got > 0 {
		return nil
	}
	return err
}
