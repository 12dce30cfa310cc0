package transport

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"
)

// keep pings, cuts the silent and closes the idle, until the endpoint closes.
func (e *Endpoint) keep() {
	ticker := time.NewTicker(max(e.cfg.PingEvery/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-e.done:
			return
		case <-ticker.C:
		}
		now := e.now()
		for _, c := range e.all() {
			c.check(now)
		}
	}
}

// check looks after one connection.
func (c *conn) check(now time.Duration) {
	patience := 3 * c.e.cfg.PingEvery
	silent := now - time.Duration(c.lastIn.Load())
	pinged := time.Duration(c.pinged.Load())
	// A peer that sends but does not answer is busy as long as it takes bulk: on
	// a slow link our ping waits behind that.
	deaf := pinged != 0 && now-pinged > patience && now-time.Duration(c.lastBulk.Load()) > patience
	switch {
	case silent > patience:
		c.fail(fmt.Errorf("silent for %v", silent.Round(time.Millisecond)))
	case deaf:
		c.fail(fmt.Errorf("no answer to a ping for %v", (now - pinged).Round(time.Millisecond)))
	default:
		if now-time.Duration(c.lastPing.Load()) >= c.e.cfg.PingEvery {
			c.ping(now)
		}
		c.closeIfIdle(now, c.e.cfg.IdleClose)
	}
}

const (
	quietFor   = time.Minute
	quietHosts = 256
)

// quiet lets one log line a host a minute through.
type quiet struct {
	mu   sync.Mutex
	last map[string]time.Duration
}

func (q *quiet) says(addr string, now time.Duration) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if last, ok := q.last[host]; ok && now-last < quietFor {
		return false
	}
	if len(q.last) >= quietHosts {
		for h, last := range q.last {
			if now-last >= quietFor {
				delete(q.last, h)
			}
		}
		if len(q.last) >= quietHosts {
			return false // so many at once: the ones noted tell enough
		}
	}
	q.last[host] = now
	return true
}

// report logs why a connection ended, if that is worth a line.
func (e *Endpoint) report(c *conn, cause error) {
	log := e.cfg.Log.With(slog.String("peer", c.addr), slog.Bool("dialed", c.dialed))
	if _, ok := errors.AsType[*protocolError](cause); ok {
		if e.quiet.says(c.nc.RemoteAddr().String(), e.now()) {
			log.Warn("connection cut", slog.Any("error", cause))
		}
		return
	}
	log.Debug("connection ended", slog.Any("cause", cause))
}

// reportGreeting logs a failed hello of somebody who connected.
func (e *Endpoint) reportGreeting(addr string, err error) {
	if e.isClosed() {
		return
	}
	if e.quiet.says(addr, e.now()) {
		e.cfg.Log.Warn("connection refused; more of this host in the next minute are not logged",
			slog.String("from", addr), slog.Any("error", err))
	}
}
