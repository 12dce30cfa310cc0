package protocol

import (
	"bytes"
	"fmt"
)

// jsonDecoder cuts a stream at the "end" lines. Between two of them there is
// one message, and maybe text that somebody printed.
type jsonDecoder struct {
	reader
	limit int
	buf   []byte
	from  int // of the bytes that are not decoded yet
	to    int
	seen  int // no end was found before
	// queue are messages of a frame that had several.
	queue []Message
	// skip tells to throw away everything up to the next "end" line, skipLine
	// up to the next line.
	skip, skipLine bool
}

var _ Decoder = (*jsonDecoder)(nil)

func newJSONDecoder(limit int) *jsonDecoder {
	return &jsonDecoder{limit: max(limit, len(jsonEnd))}
}

// Room implements Decoder.
func (d *jsonDecoder) Room(n int) []byte {
	d.buf, d.from, d.to, d.seen = room(d.buf, d.from, d.to, d.seen, n)
	return d.buf[d.to:]
}

// room makes space for n bytes behind to: by moving what is there to the
// front, or with a larger buffer.
func room(buf []byte, from, to, seen, n int) (b []byte, f, t, s int) {
	if len(buf)-to >= n && from < to {
		return buf, from, to, seen
	}
	dst := buf
	if size := to - from + n; size > len(buf) || len(buf) > 1<<20 && size < len(buf)/8 {
		dst = make([]byte, max(size+size/2, 4096))
	}
	copy(dst, buf[from:to])
	return dst, 0, to - from, max(seen-from, 0)
}

// Wrote implements Decoder.
func (d *jsonDecoder) Wrote(n int) { d.to += n }

var (
	endLine       = []byte("\nend")
	openBrace     = []byte(`{"`)
	byteOrderMark = []byte("\ufeff")
)

// Next implements Decoder.
func (d *jsonDecoder) Next(m *Message) bool {
	for {
		if len(d.queue) > 0 {
			*m = d.queue[0]
			d.queue = d.queue[1:]
			return true
		}
		if d.skip || d.skipLine {
			if !d.skipped() {
				return false
			}
			continue
		}
		d.trim()
		if d.from == d.to {
			return false
		}
		if d.buf[d.from] != '{' {
			switch done, ok := d.line(m); {
			case ok:
				return true
			case !done:
				return false
			}
		}
		end, next := d.end()
		if end < 0 {
			if d.to-d.from > d.limit {
				d.tooLarge(m)
				return true
			}
			return false
		}
		frame := d.buf[d.from:end]
		d.from = next
		if len(frame) > d.limit {
			*m = Message{Kind: Broken, Text: excerpt(frame), Err: ErrTooLarge}
			return true
		}
		if d.frame(m, frame) {
			return true
		}
	}
}

// trim steps over empty lines, and over the mark with which some libraries
// begin what they write in UTF-8.
func (d *jsonDecoder) trim() {
	for d.from < d.to {
		switch rest := d.buf[d.from:d.to]; {
		case rest[0] == '\n' || rest[0] == '\r':
			d.from++
		case bytes.HasPrefix(rest, byteOrderMark):
			d.from += len(byteOrderMark)
		default:
			if blank := len(rest) - len(bytes.TrimLeft(rest, " \t")); blank < len(rest) && rest[blank] == '{' {
				d.from += blank // what is text keeps its indentation
			}
			return
		}
	}
}

// maxStray is how much of a line without end is looked through again and again.
const maxStray = 1 << 20

// line looks at a line that does not begin as a message does. If it is stray
// text, ok is true and it is in m. done tells that the line is understood; if
// it is and ok is false, a message follows on it.
func (d *jsonDecoder) line(m *Message) (done, ok bool) {
	rest := d.buf[d.from:d.to]
	n := bytes.IndexByte(rest, '\n')
	if n < 0 {
		if len(rest) <= min(d.limit, maxStray) {
			return false, false
		}
		if bytes.Contains(rest, openBrace) {
			return true, false
		}
		// Nobody is interested in all of a line this long.
		*m = Message{Kind: Stray, Text: excerpt(rest)}
		d.from, d.skipLine = d.to, true
		return true, true
	}
	if bytes.Contains(rest[:n], openBrace) {
		return true, false
	}
	d.from += n + 1
	text := bytes.TrimRight(rest[:n], "\r \t")
	*m = Message{Kind: Stray, Text: excerpt(text)}
	return true, true
}

// end finds the next "end" line: where it begins, and where what follows it.
func (d *jsonDecoder) end() (end, next int) {
	at := max(d.seen, d.from)
	for {
		i := bytes.Index(d.buf[at:d.to], endLine)
		if i < 0 {
			d.seen = max(d.from, d.to-len(endLine)+1)
			return -1, 0
		}
		at += i
		after := at + len(endLine)
		if after < d.to && d.buf[after] == '\r' {
			after++
		}
		if after >= d.to {
			d.seen = at
			return -1, 0
		}
		if d.buf[after] == '\n' {
			d.seen = after + 1
			return at, after + 1
		}
		at++
	}
}

func (d *jsonDecoder) tooLarge(m *Message) {
	*m = Message{Kind: Broken, Text: excerpt(d.buf[d.from:d.to]), Err: ErrTooLarge}
	d.skip = true
}

// skipped throws away what is not wanted and reports whether that is done.
func (d *jsonDecoder) skipped() bool {
	if d.skipLine {
		i := bytes.IndexByte(d.buf[d.from:d.to], '\n')
		if i < 0 {
			d.from = d.to
			return false
		}
		d.from += i + 1
		d.skipLine = false
		return true
	}
	end, next := d.end()
	if end < 0 {
		d.from = max(d.from, d.to-len(endLine)-1)
		return false
	}
	d.from = next
	d.skip = false
	return true
}

// frame reads what is before an "end" line; false if that is nothing.
func (d *jsonDecoder) frame(m *Message, b []byte) bool {
	d.start(b)
	d.message(m)
	if d.hard == nil && d.peek() == 0 && d.at == len(b) {
		if m.Kind == Broken {
			m.Text = excerpt(b)
		}
		return true
	}
	d.salvage(b)
	return false
}

func (d *jsonDecoder) start(b []byte) { d.b, d.at, d.hard = b, 0, nil }

// salvage finds the messages in a frame that also has other text, and queues
// both.
func (d *jsonDecoder) salvage(b []byte) {
	d.queue = d.queue[:0]
	var first error
	found := false
	rest := b // not yet handed out
	for try := 0; try < len(rest); {
		i := bytes.IndexByte(rest[try:], '{')
		if i < 0 {
			break
		}
		try += i
		var m Message
		d.start(rest[try:])
		d.message(&m)
		switch {
		case d.hard != nil:
			if first == nil {
				first = d.hard
			}
			try++
		case errIs(m.Err, errNoCommand):
			try++ // an object, but none of ours
		default:
			d.stray(rest[:try])
			d.queue = append(d.queue, m)
			found = true
			rest, try = rest[try+d.at:], 0
		}
		if first != nil && len(b) > salvageLen {
			break // to look for more would take too long
		}
	}
	if !found && first != nil && bytes.Contains(b, []byte(`"command"`)) {
		d.queue = append(d.queue, Message{Kind: Broken, Text: excerpt(b), Err: fmt.Errorf("cannot be read: %w", first)})
		return
	}
	d.stray(rest)
}

// salvageLen bounds the frames in which a message is looked for at every brace.
const salvageLen = 1 << 20

func errIs(err, target error) bool { return err == target } //nolint:errorlint // it is never wrapped

// stray queues each line of a text.
func (d *jsonDecoder) stray(text []byte) {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			d.queue = append(d.queue, Message{Kind: Stray, Text: excerpt(line)})
		}
	}
}

// Rest implements Decoder.
func (d *jsonDecoder) Rest(m *Message) bool {
	if d.Next(m) {
		return true
	}
	b := bytes.TrimSpace(d.buf[d.from:d.to])
	d.from = d.to
	if len(b) == 0 || d.skip || d.skipLine {
		return false
	}
	if b[0] != '{' {
		*m = Message{Kind: Stray, Text: excerpt(b)}
		return true
	}
	*m = Message{Kind: Broken, Text: excerpt(b), Err: errCut}
	return true
}
