package thrift

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	apache "github.com/apache/thrift/lib/go/thrift"
)

func TestReadBodyGrowsWithWhatArrives(t *testing.T) {
	b := budget{max: 1 << 30}
	buf, err := readBody(strings.NewReader("0123456789"), 1<<29, &b)
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(buf) != "0123456789" {
		t.Fatalf("got %q, %v", buf, err)
	}
	if cap(buf) != firstRead || b.used.Load() != firstRead {
		t.Errorf("10 bytes of a claimed 512 MiB took %d bytes, %d of the budget", cap(buf), b.used.Load())
	}
}

func TestReadBodyTakesWhatItHolds(t *testing.T) {
	whole := bytes.Repeat([]byte("x"), 10*firstRead+7)
	b := budget{max: 1 << 20}
	buf, err := readBody(iotest.OneByteReader(bytes.NewReader(whole)), len(whole), &b)
	if err != nil || !bytes.Equal(buf, whole) || cap(buf) != len(whole) || b.used.Load() != int64(len(whole)) {
		t.Errorf("%d bytes in %d, budget %d, %v", len(buf), cap(buf), b.used.Load(), err)
	}
	b = budget{max: 3 * firstRead}
	buf, err = readBody(bytes.NewReader(whole), len(whole), &b)
	if !errors.Is(err, errFull) || b.used.Load() != int64(cap(buf)) || cap(buf) != 2*firstRead {
		t.Errorf("%d of the budget for %d: %v", b.used.Load(), cap(buf), err)
	}
}

func TestReadHead(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		want        head
		err         error
	}{
		{"strict", "\x80\x01\x00\x01\x00\x00\x00\x03abc\x00\x00\x00\x07rest", head{"abc", apache.CALL, 7, 15}, nil},
		{"without version", "\x00\x00\x00\x03abc\x01\x00\x00\x00\x07rest", head{"abc", apache.CALL, 7, 12}, nil},
		{"an answer", "\x80\x01\x00\x03\x00\x00\x00\x00\x00\x00\x00\x07", head{"", apache.EXCEPTION, 7, 12}, nil},
		{"other version", "\x80\x02\x00\x01\x00\x00\x00\x03abc\x00\x00\x00\x07", head{}, errNotThrift},
		{"unknown kind", "\x80\x01\x00\x09\x00\x00\x00\x03abc\x00\x00\x00\x07", head{}, errNotThrift},
		{"long name", "\x80\x01\x00\x01\x00\x00\x01\x01", head{}, errNotThrift},
		{"negative name", "\x80\x01\x00\x01\xff\xff\xff\xff", head{}, errNotThrift},
		{"control character", "\x00\x00\x00\x03a\nc\x01\x00\x00\x00\x07", head{}, errNotThrift},
		{"HTTP", "/ HTTP/1.1\r\n", head{}, errNotThrift},
		{"cut", "\x80\x01\x00\x01\x00\x00\x00\x03ab", head{}, io.ErrUnexpectedEOF},
	} {
		got, err := readHead(strings.NewReader(c.bytes))
		if !errors.Is(err, c.err) || err == nil && got != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

func TestGuess(t *testing.T) {
	for start, want := range map[string]string{
		"GET ":             "HTTP",
		"HTTP":             "HTTP",
		"\x16\x03\x01\x02": "TLS",
		"\x15\x03\x03\x00": "TLS",
		"\x80\x01\x00\x01": "Thrift without frames",
		"\x82\x21\x01\x01": "Thrift's compact protocol without frames",
		"SSH-":             "neither frames nor Thrift (begins with 5353482d)",
	} {
		if got := guess([4]byte([]byte(start))); got != want {
			t.Errorf("%q: %s", start, got)
		}
	}
}

// FuzzReadHead compares with the library, which accepts more.
func FuzzReadHead(f *testing.F) {
	f.Add([]byte("\x80\x01\x00\x01\x00\x00\x00\x03abc\x00\x00\x00\x07rest"))
	f.Add([]byte("\x00\x00\x00\x03abc\x01\x00\x00\x00\x07rest"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, rest, err := parseHead(data)
		if err != nil {
			return
		}
		name, kind, seq, err := reader(data).ReadMessageBegin(context.Background())
		if err != nil || name != h.name || kind != h.kind || seq != h.seq || len(rest)+h.size != len(data) {
			t.Errorf("%+v, the library has %q %d %d %v", h, name, kind, seq, err)
		}
	})
}
