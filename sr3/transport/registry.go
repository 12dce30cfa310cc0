package transport

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// all is a copy of the list of connections.
func (e *Endpoint) all() []*conn {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Keys(e.conns))
}

// peer is the peer at addr.
func (e *Endpoint) peer(addr string) *peer {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.peers[addr]
	if p == nil {
		p = &peer{e: e, addr: addr, link: e.linkLocked(addr)}
		e.peers[addr] = p
	}
	p.link.lastUsed = e.now()
	return p
}

// link is the link of an address.
func (e *Endpoint) link(addr string) *link {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.linkLocked(addr)
}

func (e *Endpoint) linkLocked(addr string) *link {
	l := e.links[addr]
	if l == nil {
		e.pruneLocked()
		l = &link{addr: addr}
		e.links[addr] = l
	}
	l.lastUsed = e.now()
	return l
}

// keepUnused is how long the figures of an address without connection are kept
// when there are many such.
const keepUnused = 10 * time.Minute

// pruneLocked forgets addresses that nobody has used for long, when there are
// more than connections could need.
func (e *Endpoint) pruneLocked() {
	if len(e.links) < 4*e.cfg.MaxConns {
		return
	}
	now := e.now()
	for addr, l := range e.links {
		p := e.peers[addr]
		if l.conns > 0 || now-l.lastUsed < keepUnused && p != nil {
			continue
		}
		if p != nil {
			if !p.mu.TryLock() {
				continue // in use
			}
			busy := p.attempt != nil
			p.mu.Unlock()
			if busy {
				continue
			}
		}
		delete(e.links, addr)
		delete(e.peers, addr)
	}
}

// reserveAccepted takes a place for a connection that came in.
func (e *Endpoint) reserveAccepted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.accepted >= e.cfg.MaxConns {
		return false
	}
	e.accepted++
	return true
}

// roomToDial takes a place for a connection to dial; it closes the one that is
// idle longest if there is none.
func (e *Endpoint) roomToDial() error {
	for {
		e.mu.Lock()
		if e.dialed < e.cfg.MaxConns {
			e.dialed++
			e.mu.Unlock()
			return nil
		}
		e.mu.Unlock()
		if !e.closeIdlest() {
			return fmt.Errorf("all %d connections (MaxConns) are in use", e.cfg.MaxConns)
		}
	}
}

// closeIdlest closes the dialed connection that is idle longest and waits until
// its place is free.
func (e *Endpoint) closeIdlest() bool {
	conns := slices.DeleteFunc(e.all(), func(c *conn) bool { return !c.dialed })
	slices.SortFunc(conns, func(a, b *conn) int { return int(a.lastUse.Load() - b.lastUse.Load()) })
	for _, c := range conns {
		if c.closeIfIdle(e.now(), 0); !c.alive() {
			e.forget(c)
			return true
		}
	}
	return false
}

func (e *Endpoint) unreserve(dialed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if dialed {
		e.dialed--
	} else {
		e.accepted--
	}
}

// adopt starts a connection that has its place, unless the endpoint is closed.
func (e *Endpoint) adopt(c *conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.conns[c] = struct{}{}
	e.links[c.link.addr] = c.link // it may have been forgotten meanwhile
	c.link.conns++
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.run(ctx)
	return true
}

// forget takes a connection that has ended off the list.
func (e *Endpoint) forget(c *conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.conns[c]; !ok {
		return
	}
	delete(e.conns, c)
	c.link.conns--
	c.link.lastUsed = e.now()
	if c.dialed {
		e.dialed--
	} else {
		e.accepted--
	}
}
