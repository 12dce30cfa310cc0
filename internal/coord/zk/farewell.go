package zk

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// farewellTimeout is the time-out of the session in a farewell: no machine is
// so busy that the library is not answered in this time.
const farewellTimeout = time.Minute

// farewell is what the library gets instead of a connection when the session is
// over. It would go on trying for ever, in a new session if need be, and its
// Close would wait for an answer that nobody gives.
func (s *session) farewell() net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.final = true
	g := greeting{session: cmp.Or(s.greeting.session, 1), timeout: farewellTimeout} // 0 would be expired
	client, server := net.Pipe()
	s.calls.Go(func() {
		defer server.Close()
		s.log.Debug("farewell to the ZooKeeper client", "reason", bid(server, g))
	})
	return client
}

// bid greets the library and answers nothing but that the session is closed,
// until the library hangs up. It returns why it ends.
func bid(conn net.Conn, g greeting) error {
	if _, err := request(conn); err != nil {
		return err
	}
	if _, err := conn.Write(appendGreeting(nil, g)); err != nil {
		return err
	}
	for {
		b, err := request(conn)
		if err != nil {
			return err
		}
		if int32(binary.BigEndian.Uint32(b[4:])) != opClose {
			continue
		}
		if err := answer(conn, b); err != nil {
			return err
		}
	}
}

// maxRequest is more than the library sends.
const maxRequest = 64 << 20

// request reads one of the library's, without its length.
func request(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 8 || n > maxRequest {
		return nil, io.ErrUnexpectedEOF
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// answer is to a request: its number, no last change, no error.
func answer(w io.Writer, request []byte) error {
	b := binary.BigEndian.AppendUint32(nil, 4+8+4)
	b = append(b, request[:4]...)
	b = append(b, make([]byte, 8+4)...)
	_, err := w.Write(b)
	return err
}

func appendGreeting(b []byte, g greeting) []byte {
	b = binary.BigEndian.AppendUint32(b, greetingBytes-4)
	b = binary.BigEndian.AppendUint32(b, 0) // protocol
	b = binary.BigEndian.AppendUint32(b, uint32(g.timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(g.session))
	b = binary.BigEndian.AppendUint32(b, uint32(len(g.password)))
	return append(b, g.password[:]...)
}
