package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/stormring/stormring/sr3/shard"
)

const (
	// MaxObject is the most bytes that one object may have at rest.
	MaxObject = 1 << 30
	// prepared is how many bytes an Assembler makes ready on the word of a ref alone.
	prepared = 8 << 20
)

// EncodeRef gives the bytes of a ref, as they go before an object and as the
// header of FetchObject.
func EncodeRef(ref shard.Ref) ([]byte, error) {
	b, err := json.Marshal(ref)
	if err != nil {
		return nil, fmt.Errorf("encode the ref of %v: %w", ref.ObjectID, err)
	}
	return b, nil
}

// DecodeRef reads what EncodeRef wrote, and refuses what no object can be.
func DecodeRef(b []byte) (shard.Ref, error) {
	var ref shard.Ref
	if err := json.Unmarshal(b, &ref); err != nil {
		return ref, fmt.Errorf("a ref of %d bytes: %w", len(b), err)
	}
	if err := ref.Range.Check(); err != nil {
		return ref, fmt.Errorf("a ref to %v: %w", ref.ObjectID, err)
	}
	if ref.Kind != shard.Base && ref.Kind != shard.Delta {
		return ref, fmt.Errorf("a ref to an object of %v", ref.Kind)
	}
	if ref.Stored < 1 || ref.Stored > MaxObject || ref.Size < 0 {
		return ref, fmt.Errorf("a ref to %v of %d bytes, %d stored", ref.ObjectID, ref.Size, ref.Stored)
	}
	return ref, nil
}

// Put sends one object of PutObjects: a message with its ref, then messages of
// at most ChunkBytes with its bytes. send may keep nothing of a message.
func Put(send func(message []byte) error, ref shard.Ref, stored []byte) error {
	head, err := EncodeRef(ref)
	if err != nil {
		return err
	}
	if err := send(head); err != nil {
		return err
	}
	for len(stored) > 0 {
		n := min(len(stored), ChunkBytes)
		if err := send(stored[:n]); err != nil {
			return err
		}
		stored = stored[n:]
	}
	return nil
}

// Assembler puts together what Put cut up.
type Assembler struct {
	header PutHeader
	count  int
	bytes  int64
	ref    shard.Ref
	stored []byte
	open   bool
}

// NewAssembler makes the assembler of one stream. The error says what makes no
// sense in its header.
func NewAssembler(h PutHeader) (*Assembler, error) {
	if h.Count < 0 || h.Bytes < 0 {
		return nil, fmt.Errorf("objects of %v: a header of %d objects, %d bytes", h.Owner, h.Count, h.Bytes)
	}
	return &Assembler{header: h}, nil
}

// Take takes the next message, which it does not keep. When an object begins, it
// gives its ref; with the last message of the object its ref, its bytes, which are
// the caller's then, and done. Nothing but owner, epoch and lengths is checked.
func (a *Assembler) Take(message []byte) (ref shard.Ref, stored []byte, done bool, err error) {
	if !a.open {
		if a.ref, err = a.begin(message); err != nil {
			return shard.Ref{}, nil, false, err
		}
		a.stored, a.open = make([]byte, 0, min(a.ref.Stored, prepared)), true
		return a.ref, nil, false, nil
	}
	if int64(len(a.stored)+len(message)) > a.ref.Stored {
		return shard.Ref{}, nil, false, fmt.Errorf("%v: %d bytes and more, where its ref says %d",
			a.ref.ObjectID, len(a.stored)+len(message), a.ref.Stored)
	}
	a.stored = append(a.stored, message...)
	if int64(len(a.stored)) < a.ref.Stored {
		return shard.Ref{}, nil, false, nil
	}
	ref, stored = a.ref, a.stored
	a.ref, a.stored, a.open = shard.Ref{}, nil, false
	return ref, stored, true, nil
}

func (a *Assembler) begin(message []byte) (shard.Ref, error) {
	ref, err := DecodeRef(message)
	if err != nil {
		return ref, err
	}
	if ref.Owner != a.header.Owner || ref.Epoch != a.header.Epoch {
		return ref, fmt.Errorf("%v in a stream of %v, epoch %d", ref.ObjectID, a.header.Owner, a.header.Epoch)
	}
	a.count++
	a.bytes += ref.Stored
	if c, b := a.header.Count, a.header.Bytes; c > 0 && a.count > c || b > 0 && a.bytes > b {
		return ref, fmt.Errorf("%d objects of %d bytes and more, where the header says %d of %d", a.count, a.bytes, c, b)
	}
	return ref, nil
}

// End says that no message follows. The error tells what is missing.
func (a *Assembler) End() error {
	switch {
	case a.open:
		return fmt.Errorf("%v: %d bytes, where its ref says %d", a.ref.ObjectID, len(a.stored), a.ref.Stored)
	case a.header.Count > 0 && a.count < a.header.Count:
		return fmt.Errorf("%d objects, where the header says %d", a.count, a.header.Count)
	default:
		return nil
	}
}
