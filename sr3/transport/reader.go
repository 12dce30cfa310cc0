package transport

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	wireBytes = 32 * kib
	// peekBytes is how much is read ahead after bulk: enough for the next
	// headers, little enough that bulk goes straight to where it belongs.
	peekBytes = 512
	// progressBytes is how much must arrive to count as a sign of life within a
	// frame.
	progressBytes = 4 * kib
)

// errInterrupted says that a reader of RecvHead wants its buffer back.
var errInterrupted = errors.New("read interrupted")

// wire reads frames. Only the reader goroutine uses it.
type wire struct {
	c        *conn
	nc       net.Conn
	buf      []byte
	from, to int
	ahead    int // how much to read ahead at the next fill
	progress int
	meter    meter
	bulk     atomic.Uint64 // bytes of it that came
}

// header reads the next header. A clean end of the connection is io.EOF.
func (w *wire) header(l limits) (header, error) {
	for w.to-w.from < headerBytes {
		if w.from > 0 {
			w.to = copy(w.buf, w.buf[w.from:w.to])
			w.from = 0
		}
		limit := len(w.buf)
		if w.ahead > 0 {
			limit = min(limit, w.to+w.ahead)
		}
		n, err := w.nc.Read(w.buf[w.to:limit])
		w.to += n
		w.count(n, false)
		if w.to-w.from >= headerBytes {
			break
		}
		if err != nil {
			if errors.Is(err, io.EOF) && w.to > w.from {
				err = io.ErrUnexpectedEOF
			}
			return header{}, err
		}
	}
	h, err := parseHeader(w.buf[w.from:w.to], l)
	w.from += headerBytes
	w.ahead = 0
	if h.kind == kindData || h.kind == kindPart {
		w.ahead = peekBytes
	}
	w.c.lastIn.Store(int64(w.c.e.now()))
	return h, err
}

// read fills b, first with what was read ahead. If a deadline is over it
// returns errInterrupted and how much it has.
func (w *wire) read(b []byte, bulk bool) (int, error) {
	got := copy(b, w.buf[w.from:w.to])
	w.from += got
	for got < len(b) {
		n, err := w.nc.Read(b[got:])
		got += n
		w.count(n, bulk)
		if got == len(b) {
			break
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return got, errInterrupted
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return got, err
		}
	}
	return got, nil
}

// fill is read where nobody interrupts.
func (w *wire) fill(b []byte, bulk bool) error {
	_, err := w.read(b, bulk)
	return err
}

// payload reads n bytes into memory of their own.
func (w *wire) payload(n uint32) ([]byte, error) {
	b := make([]byte, n)
	return b, w.fill(b, false)
}

// skip passes over n bytes.
func (w *wire) skip(n int) error {
	buf := w.c.e.pool.get(min(n, 128*kib))
	defer w.c.e.pool.put(buf)
	for n > 0 {
		piece := buf.b[:min(n, len(buf.b))]
		if err := w.fill(piece, true); err != nil {
			return err
		}
		n -= len(piece)
	}
	return nil
}

func (w *wire) count(n int, bulk bool) {
	if n <= 0 {
		return
	}
	l := w.c.link
	l.received.Add(uint64(n))
	now := w.c.e.now()
	if w.progress += n; w.progress >= progressBytes {
		w.progress = 0
		w.c.lastIn.Store(int64(now))
	}
	if bulk {
		rtt := l.rtt()
		w.bulk.Add(uint64(n))
		l.recvRate.learn(w.meter.add(now, rtt, n))
		w.c.e.received.passed(now, now, rtt, w.c.e.all)
	}
}

// interrupt makes a read that is under way return errInterrupted.
func (c *conn) interrupt() {
	c.nc.SetReadDeadline(time.Unix(1, 0)) //nolint:errcheck // a closed socket ends the read too
}

// resume lets reads wait again.
func (c *conn) resume() {
	c.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // a closed socket shows at the next read
}
