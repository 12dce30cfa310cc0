package wordcount

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// streamPieces is how many pieces a stream may be ahead of its spout.
	streamPieces = 4
	// pokeEvery is how long close waits before it tries to stop a reader again
	// that was just about to open its pipe.
	pokeEvery = time.Millisecond
)

// stream is an input that may keep its reader waiting. A goroutine reads it;
// close stops the goroutine.
type stream struct {
	full   chan []byte   // pieces for the spout; closed at the end
	free   chan []byte   // their memory, on its way back
	done   chan struct{} // closed when the goroutine has gone
	cancel context.CancelFunc
	last   []byte // the piece that the spout has
	err    error  // why full was closed, if not at the end of the input

	mu sync.Mutex
	// poke makes an open or read that waits return; nil if nothing can.
	poke func()
}

func newStream(cancel context.CancelFunc, poke func()) *stream {
	s := &stream{
		full: make(chan []byte, streamPieces), free: make(chan []byte, streamPieces),
		done: make(chan struct{}), cancel: cancel, poke: poke,
	}
	for range streamPieces {
		s.free <- make([]byte, pieceSize)
	}
	return s
}

// streamReader reads from r, which is not closed at the end.
func streamReader(r io.Reader) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	r, poke, release := stoppable(r)
	s := newStream(cancel, poke)
	go func() {
		defer release()
		s.run(ctx, r)
	}()
	return s
}

// streamPath reads a named pipe or a device. A pipe is opened in the
// goroutine, since that waits for a writer.
func streamPath(path string) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	// As long as the open waits for a writer, to be one is what ends it.
	s := newStream(cancel, func() {
		if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			w.Close()
		}
	})
	go func() {
		f, err := os.Open(path)
		if err != nil {
			s.err = err
			s.leave()
			return
		}
		defer f.Close()
		s.mu.Lock()
		s.poke = deadlinePoke(f)
		s.mu.Unlock()
		s.run(ctx, f)
	}()
	return s
}

// run reads r to its end or until ctx is done.
func (s *stream) run(ctx context.Context, r io.Reader) {
	defer s.leave()
	for ctx.Err() == nil {
		var piece []byte
		select {
		case piece = <-s.free:
		case <-ctx.Done():
			return
		}
		n, err := r.Read(piece[:cap(piece)])
		if n > 0 {
			s.full <- piece[:n] // there is room for every piece
		} else {
			s.free <- piece
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				s.err = err
			}
			return
		}
	}
}

func (s *stream) leave() {
	close(s.full)
	close(s.done)
}

func (s *stream) next() ([]byte, error) {
	if s.last != nil {
		s.free <- s.last
		s.last = nil
	}
	select {
	case piece, ok := <-s.full:
		switch {
		case ok:
			s.last = piece
			return piece, nil
		case s.err != nil:
			return nil, s.err
		}
		return nil, io.EOF
	default:
		return nil, nil
	}
}

func (s *stream) close() {
	s.cancel()
	for {
		s.mu.Lock()
		poke := s.poke
		s.mu.Unlock()
		if poke == nil {
			// Nothing stops a read that waits here, such as one from a socket
			// that was inherited; it ends with its writer or with the process.
			return
		}
		poke()
		select {
		case <-s.done:
			return
		case <-time.After(pokeEvery):
		}
	}
}

// stoppable prepares r for being read by a goroutine that must be stopped:
// poke makes a read that waits return, nil if nothing can, and release is
// called when nobody reads any more.
func stoppable(r io.Reader) (reader io.Reader, poke, release func()) {
	nothing := func() {}
	f, ok := r.(*os.File)
	if !ok {
		if c, ok := r.(io.Closer); ok {
			return r, func() { c.Close() }, nothing
		}
		return r, nil, nothing
	}
	if poke := deadlinePoke(f); poke != nil {
		return f, poke, nothing
	}
	info, err := f.Stat()
	if err != nil || info.Mode().IsRegular() {
		return f, nil, nothing
	}
	// Reads of an inherited descriptor cannot be stopped, those of a pipe or
	// terminal opened anew can. The descriptor itself must stay as it is: its
	// mode is shared with other processes.
	again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return f, nil, nothing
	}
	if poke := deadlinePoke(again); poke != nil {
		return again, poke, func() { again.Close() }
	}
	again.Close()
	return f, nil, nothing
}

// deadlinePoke ends a read of f by a deadline that has passed; it is nil if f
// knows no deadlines.
func deadlinePoke(f *os.File) func() {
	if f.SetReadDeadline(time.Time{}) != nil {
		return nil
	}
	return func() {
		// A file that is closed already needs no deadline.
		_ = f.SetReadDeadline(time.Unix(1, 0))
	}
}
