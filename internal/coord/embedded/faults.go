package embedded

import "github.com/stormring/stormring/internal/coord"

// Cut takes a session's client off the network, for tests and simulations: its
// calls fail with ErrConnectionLoss, its events are held back, and unless
// Heal comes within its time-out it expires, of which it learns from Heal.
func (s *Server) Cut(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c == nil || c.cut {
		return
	}
	c.cut = true
	s.tree.Leave(id, s.cfg.Clock.Now())
	s.arm()
}

// Heal takes back Cut: what was held back arrives, be it events or the news
// that the session has expired.
func (s *Server) Heal(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.sessions[id]
	if c == nil || !c.cut {
		return
	}
	c.cut = false
	if !s.tree.Return(id) {
		c.finish(coord.ErrSessionExpired)
		return
	}
	held := c.held
	c.held = nil
	for _, f := range held {
		c.fired(f)
	}
	s.arm()
}

// Expire ends a session as if its client had been silent for its time-out.
func (s *Server) Expire(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.broken != nil || !s.tree.End(id, s.cfg.Clock.Now()) || s.settle() != nil {
		return
	}
	s.over(id, coord.ErrSessionExpired)
	s.arm()
}
