package wordcount

import (
	"io"
	"os"
	"sync/atomic"
)

// pieceSize is how much is read at once, in bytes; so it is the size of most
// blocks.
const pieceSize = 16 << 10

// feed is an input that has been opened.
type feed interface {
	// next is the next piece, valid until the following call. It never waits:
	// if nothing is at hand the piece is empty. io.EOF is the end.
	next() ([]byte, error)
	// close lets go of the input, whether or not it has come to its end.
	close()
}

// openFeed opens an input. buf is memory for the pieces of regular files.
func (j *job) openFeed(in input, buf []byte) (feed, error) {
	switch {
	case in.path == stdinPath:
		return streamReader(j.stdin), nil
	case in.waits:
		return streamPath(in.path), nil
	}
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	return &file{f: f, buf: buf, read: &j.read}, nil
}

// file is a regular file, which is read in place.
type file struct {
	f    *os.File
	buf  []byte
	read *atomic.Int64
}

func (f *file) next() ([]byte, error) {
	n, err := f.f.Read(f.buf)
	f.read.Add(int64(n))
	if n > 0 {
		return f.buf[:n], nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return nil, err
}

func (f *file) close() { f.f.Close() }
