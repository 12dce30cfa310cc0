package zk

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/coordtest"
	"github.com/stormring/stormring/internal/coord/zk/zktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 20 * time.Second

func testConfig(address string) Config {
	cfg := DefaultConfig(slog.New(slog.DiscardHandler), address)
	cfg.ConnectTimeout = 300 * time.Millisecond
	return cfg
}

// network is a ZooKeeper to which each session has a way of its own.
type network struct {
	tb     testing.TB
	server *zktest.Server

	mu   sync.Mutex
	ways map[int64]*zktest.Proxy
}

func newNetwork(tb testing.TB, server *zktest.Server) *network {
	tb.Helper()
	return &network{tb: tb, server: server, ways: map[int64]*zktest.Proxy{}}
}

// Open implements coord.Opener.
func (n *network) Open(ctx context.Context, timeout time.Duration) (coord.Session, error) {
	proxy := zktest.NewProxy(n.tb, n.server.Address)
	store, err := New(testConfig(proxy.Address))
	if err != nil {
		return nil, err
	}
	c, err := store.Open(ctx, timeout)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ways[c.ID()] = proxy
	return c, nil
}

func (n *network) way(c coord.Session) *zktest.Proxy {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ways[c.ID()]
}

// expire ends a session as ZooKeeper would: its client hears of it when it
// comes back.
func (n *network) expire(c coord.Session) {
	way := n.way(c)
	wasCut := way.IsCut()
	way.Cut()
	if err := endSession(n.server.Address, c.(*session)); err != nil {
		n.tb.Errorf("expire: %v", err)
	}
	if !wasCut {
		way.Heal()
	}
}

// endSession takes over a session and closes it.
func endSession(address string, c *session) error {
	c.mu.Lock()
	g := c.greeting
	c.mu.Unlock()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	b := binary.BigEndian.AppendUint32(nil, 4+8+4+8+4+16)
	b = binary.BigEndian.AppendUint32(b, 0) // protocol
	b = binary.BigEndian.AppendUint64(b, 0) // the last change that was seen
	b = binary.BigEndian.AppendUint32(b, uint32(g.timeout.Milliseconds()))
	b = binary.BigEndian.AppendUint64(b, uint64(g.session))
	b = binary.BigEndian.AppendUint32(b, 16)
	b = append(b, g.password[:]...)
	if _, err := conn.Write(b); err != nil {
		return err
	}
	answer, err := request(conn)
	if err != nil {
		return err
	}
	if got := binary.BigEndian.Uint64(answer[8:]); got != uint64(g.session) {
		return fmt.Errorf("the server greets session %x, not %x", got, g.session)
	}
	b = binary.BigEndian.AppendUint32(nil, 8)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(b, 1<<32+opClose)
	if _, err := conn.Write(b); err != nil {
		return err
	}
	_, err = request(conn)
	return err
}

func TestContract(t *testing.T) {
	server := zktest.Start(t)
	var tests atomic.Int32
	coordtest.Run(t, func(t *testing.T) coordtest.Server {
		root := fmt.Sprintf("/test-%d", tests.Add(1))
		n := newNetwork(t, server)
		c, err := n.Open(t.Context(), 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create(t.Context(), root, nil, coord.Persistent); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		return coordtest.Server{
			Opener:       n,
			Root:         root,
			MaxDataBytes: DefaultMaxDataBytes,
			Expire:       n.expire,
			Cut:          func(c coord.Session) { n.way(c).Cut() },
			Heal:         func(c coord.Session) { n.way(c).Heal() },
		}
	})
}
