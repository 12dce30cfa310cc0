package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// MaxPayloadBytes is how long a payload may be once it is decompressed. It is
// far above what Thrift's frames let through.
const MaxPayloadBytes = 64 << 20

// compress is data as gzip, the same bytes for the same data: there is no time
// in it.
func compress(data []byte) ([]byte, error) {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(data); err != nil {
		return nil, fmt.Errorf("wire: gzip: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("wire: gzip: %w", err)
	}
	return out.Bytes(), nil
}

// decompress is what data holds, up to MaxPayloadBytes.
func decompress(data []byte) ([]byte, error) { return decompressUpTo(data, MaxPayloadBytes) }

// decompressUpTo takes gzip as Storm 1 and 2 write it, zstd as Storm 3 does, and
// everything else as it is. A struct in the binary protocol and JSON text both
// begin with other bytes.
func decompressUpTo(data []byte, limit int) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("wire: gzip: %w", err)
		}
		return readBounded("gzip", z, limit)
	case bytes.HasPrefix(data, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// One decoder at a time: it then works without goroutines.
		z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxMemory(uint64(limit)+1))
		if err != nil {
			return nil, fmt.Errorf("wire: zstd: %w", err)
		}
		defer z.Close()
		return readBounded("zstd", z, limit)
	case len(data) > limit:
		return nil, tooLong(limit)
	default:
		return data, nil
	}
}

func readBounded(format string, r io.Reader, limit int) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded), len(out) > limit:
		return nil, tooLong(limit)
	case err != nil:
		return nil, fmt.Errorf("wire: %s: %w", format, err)
	default:
		return out, nil
	}
}

func tooLong(limit int) error {
	return fmt.Errorf("wire: a payload may have %d bytes once it is decompressed, this one has more", limit)
}
