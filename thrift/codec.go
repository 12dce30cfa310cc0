package thrift

import (
	"bytes"
	"context"
	"fmt"
	"math"

	apache "github.com/apache/thrift/lib/go/thrift"
)

// Marshal writes s in the binary protocol, without frame and message header.
func Marshal(s apache.TStruct) ([]byte, error) {
	out := newOutgoing(math.MaxInt32)
	if err := s.Write(context.Background(), out.protocol()); err != nil {
		return nil, fmt.Errorf("write %T: %w", s, err)
	}
	if out.tooLong() {
		return nil, fmt.Errorf("write %T: %d bytes are more than a Thrift message may have", s, out.size)
	}
	return out.message(), nil
}

// Unmarshal reads s from data in the binary protocol. What data claims to hold
// is believed only as far as data goes. Paths of wide are as for [Widen].
func Unmarshal(data []byte, s apache.TStruct, wide ...int16) error {
	if err := s.Read(context.Background(), Widen(reader(data), wide...)); err != nil {
		return fmt.Errorf("read %T from %d bytes: %w", s, len(data), err)
	}
	return nil
}

// reader reads data; no string or container in it may claim more than is left.
func reader(data []byte) apache.TProtocol {
	limits := &apache.TConfiguration{MaxMessageSize: int32(min(max(len(data), 1), math.MaxInt32))}
	return apache.NewTBinaryProtocolConf(&apache.TMemoryBuffer{Buffer: bytes.NewBuffer(data)}, limits)
}
