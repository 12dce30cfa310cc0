package inquiry

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Of the real nodes' stores: it ends up to a second after Close.
		goleak.IgnoreTopFunction("github.com/syndtr/goleveldb/leveldb.(*DB).mpoolDrain"))
}

const topology = "words-1-1700000000"

func owner(task int32) shard.Owner {
	return shard.Owner{Topology: topology, Component: "count", Task: task}
}

// said is a node that says what it is told to. A method without an answer fails.
type said struct {
	t    *testing.T
	self ring.Node

	mu      sync.Mutex
	answers map[byte]func(request []byte) ([]byte, error)
	silent  map[byte]bool // methods that are never answered
	asked   map[byte]int
}

func (s *said) Call(ctx context.Context, method byte, request []byte) ([]byte, error) {
	s.mu.Lock()
	s.asked[method]++
	answer, silent := s.answers[method], s.silent[method]
	s.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if answer == nil {
		return nil, &transport.RemoteError{Code: protocol.CodeUnavailable, Text: "not now"}
	}
	return answer(request)
}

func (s *said) Stream(context.Context, *transport.Stream, byte, []byte) error { return nil }
func (s *said) Message([]byte)                                                {}

func (s *said) times(method byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[method]
}

// answer sets what is said to a method.
func (s *said) answer(method byte, v any) { s.raw(method, protocol.Encode(v), nil) }

func (s *said) raw(method byte, body []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[method] = func([]byte) ([]byte, error) { return body, err }
}

func (s *said) quiet(methods ...byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range methods {
		s.silent[m] = true
	}
}

// fake starts a node that says nothing yet.
func fake(t *testing.T, id string) *said {
	t.Helper()
	s := &said{t: t, answers: map[byte]func([]byte) ([]byte, error){}, silent: map[byte]bool{}, asked: map[byte]int{}}
	end, err := transport.Listen(transport.Config{}, "127.0.0.1:0", s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end.Close)
	s.self = ring.Node{ID: id, Addr: end.Addr(), Host: "host-" + id, Positions: 8}
	return s
}

// knows has the node answer for its status, with others that it knows.
func (s *said) knows(others ...protocol.MemberStatus) {
	s.answer(protocol.GetStatus, protocol.NodeStatus{Node: s.self, Joined: true, Complete: true, Members: others})
}

func member(n ring.Node, status ring.Status) protocol.MemberStatus {
	return protocol.MemberStatus{Node: n, Status: status.String()}
}

func open(t *testing.T, cfg Config) *Inquiry {
	t.Helper()
	cfg.Now = func() time.Time { return time.UnixMilli(100_000) }
	q, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}
