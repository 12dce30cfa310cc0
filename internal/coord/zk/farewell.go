package zk

import (
	"cmp"
	"encoding/binary"
	"io"
	"net"
	"time"
)

// farewell is what the library gets instead of a connection when the session
// is over. It would go on trying for ever, in a new session if need be, and its
// Close would wait for an answer that nobody gives: here it is given.
func (s *session) farewell() net.Conn {
	s.mu.Lock()
	g := s.greeting
	s.mu.Unlock()
	// The library cannot do with zeros, as they are if it never was greeted.
	g.session, g.timeout = cmp.Or(g.session, 1), max(g.timeout, time.Second)
	client, server := net.Pipe()
	s.calls.Go(func() {
		defer server.Close()
		if err := bid(server, g); err != nil {
			s.log.Debug("the library ended a connection of a session that is over", "error", err)
		}
	})
	return client
}

// bid greets the library and answers nothing but that it closes.
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
		if len(b) >= 8 && int32(binary.BigEndian.Uint32(b[4:])) == opClose {
			answer := binary.BigEndian.AppendUint32(nil, 4+8+4)
			answer = append(answer, b[:4]...)             // which request
			answer = append(answer, make([]byte, 8+4)...) // the last change, no error
			_, err := conn.Write(answer)
			return err
		}
	}
}

// request reads one of the library's.
func request(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, b)
	return b, err
}

func appendGreeting(b []byte, g greeting) []byte {
	b = binary.BigEndian.AppendUint32(b, greetingBytes-4)
	b = binary.BigEndian.AppendUint32(b, 0) // protocol
	b = binary.BigEndian.AppendUint32(b, uint32(g.timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(g.session))
	b = binary.BigEndian.AppendUint32(b, uint32(len(g.password)))
	return append(b, g.password[:]...)
}
