package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stormring/stormring/internal/coord"
)

// errMalformed is for bytes that no encoder here has written.
var errMalformed = errors.New("malformed record")

// AppendTxn appends a change of the store as DecodeTxn reads it: numbers as
// varints, strings behind their lengths.
func AppendTxn(b []byte, txn Txn) []byte {
	b = appendInts(b, txn.Zxid, txn.Millis, int64(len(txn.Changes)))
	for _, c := range txn.Changes {
		b = appendInts(b, int64(c.Type), c.Owner)
		b = appendBytes(b, c.Path)
		b = appendBytes(b, c.Data)
	}
	return b
}

// DecodeTxn reads what AppendTxn wrote. It keeps no part of b.
func DecodeTxn(b []byte) (Txn, error) {
	d := decoder{b: b}
	txn := Txn{Zxid: d.int(), Millis: d.int()}
	for n := d.int(); n > 0 && d.err == nil; n-- {
		c := Change{Type: coord.EventType(d.int32()), Owner: d.int()}
		c.Path = string(d.bytes())
		c.Data = append(c.Data, d.bytes()...)
		txn.Changes = append(txn.Changes, c)
	}
	return txn, d.end()
}

// AppendZnode appends a znode of a snapshot as DecodeZnode reads it.
func AppendZnode(b []byte, z Znode) []byte {
	b = appendBytes(b, z.Path)
	b = appendBytes(b, z.Data)
	s := z.Stat
	return appendInts(b, int64(z.Creates), s.Czxid, s.Mzxid, s.Pzxid, s.Ctime, s.Mtime, int64(s.Version), s.EphemeralOwner)
}

// DecodeZnode reads what AppendZnode wrote. It keeps no part of b. Of the Stat
// it leaves out what can be counted.
func DecodeZnode(b []byte) (Znode, error) {
	d := decoder{b: b}
	z := Znode{Path: string(d.bytes())}
	z.Data = append(z.Data, d.bytes()...)
	z.Creates = d.int32()
	z.Stat = coord.Stat{
		Czxid: d.int(), Mzxid: d.int(), Pzxid: d.int(), Ctime: d.int(), Mtime: d.int(),
		Version: d.int32(), EphemeralOwner: d.int(),
	}
	return z, d.end()
}

func appendInts(b []byte, ints ...int64) []byte {
	for _, i := range ints {
		b = binary.AppendVarint(b, i)
	}
	return b
}

func appendBytes[T string | []byte](b []byte, s T) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// decoder reads a record from its front; after an error all is zero.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", errMalformed, what)
	}
	d.b = nil
}

func (d *decoder) int() int64 {
	i, n := binary.Varint(d.b)
	if n <= 0 {
		d.fail("a number is cut off or too large")
		return 0
	}
	d.b = d.b[n:]
	return i
}

func (d *decoder) int32() int32 {
	i := d.int()
	if i < math.MinInt32 || i > math.MaxInt32 {
		d.fail("a number is too large")
		return 0
	}
	return int32(i)
}

func (d *decoder) bytes() []byte {
	size, n := binary.Uvarint(d.b)
	if n <= 0 || size > uint64(len(d.b)-n) {
		d.fail("a string is cut off")
		return nil
	}
	s := d.b[n : n+int(size)]
	d.b = d.b[n+int(size):]
	return s
}

func (d *decoder) end() error {
	if d.err == nil && len(d.b) > 0 {
		d.fail("it goes on behind its end")
	}
	return d.err
}
