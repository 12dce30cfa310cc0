package protocol

import (
	"fmt"
	"iter"
	"strconv"
)

const (
	// inlineHeader is the longest header that goes with the opening of a stream.
	inlineHeader = 32 << 10
	// maxHeader bounds a header that goes in messages.
	maxHeader = 64 << 20
)

// SplitHeader cuts an encoded FetchHeader, which may be long, into what the stream
// is opened with and the messages that the opener sends before anything else.
func SplitHeader(header []byte) (head []byte, rest iter.Seq[[]byte]) {
	if len(header) <= inlineHeader {
		return header, func(func([]byte) bool) {}
	}
	head = append([]byte{'+'}, strconv.Itoa(len(header))...)
	return head, func(yield func([]byte) bool) {
		for left := header; len(left) > 0; {
			n := min(ChunkBytes, len(left))
			if !yield(left[:n]) {
				return
			}
			left = left[n:]
		}
	}
}

// HeaderRest is how many bytes of messages the header consists of that stands for
// itself if it is 0.
func HeaderRest(head []byte) (int, error) {
	if len(head) == 0 || head[0] != '+' {
		return 0, nil
	}
	n, err := strconv.Atoi(string(head[1:]))
	if err != nil || n <= 0 || n > maxHeader {
		return 0, fmt.Errorf("a header of %.20q bytes: at most %d are possible", head[1:], maxHeader)
	}
	return n, nil
}
