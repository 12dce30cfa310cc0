package worker

import (
	"bytes"
	"encoding/gob"
	"fmt"

	"github.com/stormring/stormring/worker/transport"
)

// gobCodec carries values of types that storm.Value has no kind for between
// workers, as Java topologies use serialisation for. encoding/gob is slow, but
// users know how to register a type with it, and it copes with two versions of
// one.
type gobCodec struct{}

var _ transport.Codecs = gobCodec{}

// Encode implements transport.Codecs.
func (gobCodec) Encode(dst []byte, x any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	if err := gob.NewEncoder(b).Encode(&x); err != nil {
		return dst, fmt.Errorf("%w (values of other types reach other workers by encoding/gob: call gob.Register for the type)", err)
	}
	return b.Bytes(), nil
}

// Decode implements transport.Codecs.
func (gobCodec) Decode(b []byte) (x any, err error) {
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(&x); err != nil {
		return nil, fmt.Errorf("decode a value by encoding/gob: %w", err)
	}
	return x, nil
}
