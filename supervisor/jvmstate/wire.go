package jvmstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/stormring/stormring/worker/checkpoint"
)

const (
	// format is the version of the protocol.
	format = 2
	// maxChunk is how much of a stream of entries one frame has.
	maxChunk = 1 << 20
	// maxFrame is how long a frame may be, with its kind and without its length.
	maxFrame = maxChunk + 64
	// maxOpen is how long the first one may be, of which nobody knows who sends it.
	maxOpen = 256 << 10
	// maxKey and maxValue are those of state.
	maxKey   = 16 << 20
	maxValue = 1 << 30
	// deleted stands for the length of a value that there is not.
	deleted = -1
)

// kind is what a frame is.
type kind byte

// What JVMs send.
const (
	open kind = iota + 1
	contents
	prepare
	changes
	end
	commit
	rollback
	step
)

// What the agent sends.
const (
	wait kind = iota + 64
	base
	chunk
	over
	prepared
	record
	failed
)

// code says what a JVM should make of a failure.
type code byte

const (
	// refused is for this request; the next may succeed.
	refused code = iota + 1
	// superseded ends it: there is a newer one of the same task.
	superseded
	// stranger is one that does not know the token, or speaks another version.
	stranger
)

// failure is an answer that a JVM gets.
type failure struct {
	code code
	text string
}

func (f *failure) Error() string { return f.text }

func refuse(form string, args ...any) error {
	return &failure{code: refused, text: fmt.Sprintf(form, args...)}
}

// frame is one message.
type frame struct {
	kind kind
	body []byte
}

// readFrame reads one of at most limit bytes.
func readFrame(r io.Reader, limit int) (frame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n < 1 || n > uint32(limit) { //nolint:gosec // limit is a constant of ours
		return frame{}, fmt.Errorf("a frame of %d bytes; there are 1 to %d", n, limit)
	}
	f := frame{kind: kind(head[4]), body: make([]byte, n-1)}
	_, err := io.ReadFull(r, f.body)
	return f, err
}

// appendFrame appends a frame to b.
func appendFrame(b []byte, k kind, body []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(body)+1)) //nolint:gosec // at most maxFrame
	return append(append(b, byte(k)), body...)
}

// fields reads what a body is made of. The first error stays.
type fields struct {
	b   []byte
	err error
}

var errShort = errors.New("a message ends too early")

func (f *fields) take(n int) []byte {
	if f.err != nil || n < 0 || n > len(f.b) {
		f.err = errors.Join(f.err, errShort)
		return nil
	}
	out := f.b[:n]
	f.b = f.b[n:]
	return out
}

func (f *fields) byte() byte {
	if b := f.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (f *fields) int() int32 {
	if b := f.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b)) //nolint:gosec // as it was written
	}
	return 0
}

func (f *fields) long() int64 {
	if b := f.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // as it was written
	}
	return 0
}

func (f *fields) text() string { return string(f.take(int(f.int()))) }

func (f *fields) version() checkpoint.Version {
	return checkpoint.Version{TxID: f.long(), Era: checkpoint.Era(f.long())} //nolint:gosec // as it was written
}

func (f *fields) record() checkpoint.Record {
	return checkpoint.Record{Committed: f.version(), Last: checkpoint.Era(f.long()), Epoch: uint64(f.long())} //nolint:gosec // as it was written
}

// end is the error, if anything was wrong.
func (f *fields) end() error {
	if f.err == nil && len(f.b) > 0 {
		f.err = fmt.Errorf("a message has %d bytes too many", len(f.b))
	}
	return f.err
}

func appendLongs(b []byte, values ...int64) []byte {
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, uint64(v)) //nolint:gosec // as it is read
	}
	return b
}

func appendVersion(b []byte, v checkpoint.Version) []byte {
	return appendLongs(b, v.TxID, int64(v.Era)) //nolint:gosec // as it is read
}

func appendRecord(b []byte, r checkpoint.Record) []byte {
	return appendLongs(appendVersion(b, r.Committed), int64(r.Last), int64(r.Epoch)) //nolint:gosec // as it is read
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...) //nolint:gosec // short
}

// hello is what a JVM says of itself first.
type hello struct {
	token               string
	topology, component string
	task                int32
	namespace           string
	// boot is when the JVM started, serial numbers what it has opened: the greater
	// ones are the newer ones.
	boot, serial int64
	// spout tells that it is the checkpoint spout.
	spout bool
	// settings are the component's, which are the topology's where it has none, as JSON.
	settings string
	// noticed is when its worker was missed, in milliseconds, detect how long it was lost
	// by then, in microseconds; 0 if that is not known, or if it is not the first time.
	noticed, detect int64
}

func decodeHello(body []byte) (hello, error) {
	f := fields{b: body}
	if v := f.int(); f.err == nil && v != format {
		return hello{}, &failure{code: stranger, text: fmt.Sprintf("it speaks version %d of the protocol and the supervisor version %d: "+
			"run stormring jvm install anew, with the release of the supervisor", v, format)}
	}
	h := hello{
		token: f.text(), topology: f.text(), component: f.text(), task: f.int(), namespace: f.text(),
		boot: f.long(), serial: f.long(), spout: f.byte() != 0, settings: f.text(),
		noticed: f.long(), detect: f.long(),
	}
	return h, f.end()
}

// appendEntry appends an entry to a stream of them. Streams are cut into chunks
// anywhere.
func appendEntry(b, key, value []byte) []byte {
	b = append(binary.BigEndian.AppendUint32(b, uint32(len(key))), key...)        //nolint:gosec // at most maxKey
	return append(binary.BigEndian.AppendUint32(b, uint32(len(value))), value...) //nolint:gosec // at most maxValue
}

// entries puts chunks together.
type entries struct{ rest []byte }

// feed calls put for each entry that is whole; gone tells that it was deleted. What
// put is given is valid until it returns.
func (e *entries) feed(chunk []byte, put func(key, value []byte, gone bool) error) error {
	e.rest = append(e.rest, chunk...)
	b := e.rest
	for {
		key, value, gone, n, err := cutEntry(b)
		if err != nil {
			return err
		}
		if n == 0 {
			if len(b) < len(e.rest) { // else it would be moved for each chunk of a large value
				e.rest = append(e.rest[:0], b...)
			}
			return nil
		}
		if err := put(key, value, gone); err != nil {
			return err
		}
		b = b[n:]
	}
}

// cutEntry is the first entry, which has n bytes; 0 if it is not all there.
func cutEntry(b []byte) (key, value []byte, gone bool, n int, err error) {
	f := fields{b: b}
	size := int(f.int())
	if f.err == nil && (size < 0 || size > maxKey) {
		return nil, nil, false, 0, fmt.Errorf("a key of %d bytes; at most %d are supported", size, maxKey)
	}
	key = f.take(size)
	size = int(f.int())
	if f.err != nil {
		return nil, nil, false, 0, nil //nolint:nilerr // more is to come
	}
	if size == deleted {
		return key, nil, true, len(b) - len(f.b), nil
	}
	if size < 0 || size > maxValue {
		return nil, nil, false, 0, fmt.Errorf("a value of %d bytes; at most %d are supported", size, maxValue)
	}
	if value = f.take(size); f.err != nil {
		return nil, nil, false, 0, nil //nolint:nilerr // more is to come
	}
	return key, value, false, len(b) - len(f.b), nil
}

// end tells whether the stream ended between two entries.
func (e *entries) end() error {
	if len(e.rest) > 0 {
		return errors.New("a stream of entries ends within one")
	}
	return nil
}
