package zk

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// Waiting between rounds of all servers, each half of it at random.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// route says which server to try next. It is the library's HostProvider: its
// own looks names up but once, and pauses where it should not.
type route struct {
	patience time.Duration // for a round

	mu      sync.Mutex
	servers []string
	next    int
	tried   int // since the last success
	last    error
}

// Init is handed the servers, in an order at random.
func (r *route) Init(servers []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.servers = servers
	return nil
}

// Len is the number of servers.
func (r *route) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.servers)
}

// Next is the server to try. The library is not to pause before it.
func (r *route) Next() (server string, pause bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	server = r.servers[r.next]
	r.next = (r.next + 1) % len(r.servers)
	return server, false
}

// Connected notes a success.
func (r *route) Connected() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tried, r.last = 0, nil
}

func (r *route) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = err
}

// lastError is why there is no connection.
func (r *route) lastError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return errors.New("no server was tried")
	}
	return r.last
}

// share is how long one server is given.
func (r *route) share() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.patience / time.Duration(len(r.servers))
}

// pause waits before a server is tried once more.
func (r *route) pause(ctx context.Context) error {
	r.mu.Lock()
	rounds := r.tried / len(r.servers)
	r.tried++
	r.mu.Unlock()
	if rounds == 0 {
		return nil
	}
	d := min(firstPause<<min(rounds-1, 10), lastPause)
	d = d/2 + rand.N(d/2)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
