package client

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/evidence"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/shard"
)

// survey is who has what of a version, as the nodes say.
type survey struct {
	t       *Task
	m       *shard.Manifest
	picture *picture

	mu       sync.Mutex
	answered map[shard.NodeID]protocol.HaveAnswer
	told     map[shard.NodeID]bool          // whose answer is in the plan, or was news
	patience map[shard.NodeID]time.Duration // with nodes that were too slow
	changed  chan struct{}                  // signals an answer
}

func newSurvey(t *Task, m *shard.Manifest, p *picture) *survey {
	return &survey{
		t: t, m: m, picture: p, answered: make(map[shard.NodeID]protocol.HaveAnswer), told: make(map[shard.NodeID]bool),
		patience: make(map[shard.NodeID]time.Duration), changed: make(chan struct{}, 1),
	}
}

// How long answers are waited for before the plan is made: less if all shards are
// had by those who answered.
const (
	surveyFor  = 500 * time.Millisecond
	surveyRest = 30 * time.Millisecond
)

// ask asks all nodes and returns when all have answered, or some are late. It goes
// on with those in the background.
func (s *survey) ask(ctx context.Context) {
	done := make(chan struct{})
	s.t.wg.Go(func() {
		defer close(done)
		each(s.picture.view.Nodes(), func(n ring.Node) { _, _ = s.askOne(ctx, n) })
	})
	all, rest := time.After(surveyFor), time.After(surveyRest)
	late := false
	for {
		if late && s.covered() {
			return
		}
		select {
		case <-done:
			return
		case <-s.changed:
		case <-rest:
			late = true
		case <-all:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *survey) askOne(ctx context.Context, n ring.Node) (protocol.HaveAnswer, error) {
	id := shard.NodeID(n.ID)
	s.mu.Lock()
	patience := cmp.Or(s.patience[id], s.t.o.HolderTimeout)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var a protocol.HaveAnswer
	err := s.t.c.ask(ctx, n.Addr, protocol.Have, protocol.VersionRequest{Owner: s.t.o.Owner, Version: s.m.Version}, &a)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.answered[id] = a
		delete(s.told, id)
	case ctx.Err() != nil:
		s.patience[id] = longer(patience)
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return a, err
}

// known tells whether the node's answer is in the plan, or was news.
func (s *survey) known(id shard.NodeID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.told[id]
}

// answer tells whether there is an answer of the node.
func (s *survey) answer(id shard.NodeID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.answered[id]
	return ok
}

// news are the answers that came since the last call, or since the plan.
func (s *survey) news() map[shard.NodeID]protocol.HaveAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := make(map[shard.NodeID]protocol.HaveAnswer)
	for id, a := range s.answered {
		if !s.told[id] {
			s.told[id] = true
			news[id] = a
		}
	}
	return news
}

// forget says that a node's answer is void.
func (s *survey) forget(id shard.NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.answered, id)
	delete(s.told, id)
}

// covered tells whether those who answered have everything.
func (s *survey) covered() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pieces(false) {
		for _, o := range p.Chain {
			if len(o.Holders) == 0 {
				return false
			}
		}
	}
	return true
}

// pieces are the shards with their holders: who says so, and with hints, for objects
// that nobody says to have, whom the manifest names, unless that node said otherwise.
// It is called with mu held.
func (s *survey) pieces(hints bool) []recovery.Piece {
	if !hints {
		return evidence.Pieces(s.m, s.answered, nil)
	}
	return evidence.Pieces(s.m, s.answered, func(id shard.NodeID) bool {
		_, said := s.answered[id]
		_, living := s.picture.nodes[id]
		return !said && living
	})
}

// input is what the plan is made of; status is the word of this host's node, or nil.
func (s *survey) input(status *protocol.NodeStatus) recovery.Input {
	t := s.t
	s.mu.Lock()
	defer s.mu.Unlock()
	in := recovery.Input{
		Owner: t.o.Owner.String(), Version: s.m.Version, Mode: t.o.Mode, Params: t.o.Params, Pieces: s.pieces(true),
	}
	sight := evidence.Sight{
		Self: s.picture.self, Own: t.c.link(), Peers: t.c.peers(),
		Links: make(map[shard.NodeID]protocol.Link), Streams: make(map[shard.NodeID]int),
	}
	if sight.Self == "" {
		sight.Self = "(a worker without a node)"
	}
	for id, a := range s.answered {
		s.told[id] = true
		sight.Links[id], sight.Streams[id] = a.Link, a.Streams
	}
	if status != nil {
		sight.Peers = append(sight.Peers, status.Peers...)
		sight.Links[s.picture.self] = status.Link.Best(sight.Links[s.picture.self])
	}
	for _, id := range slices.Sorted(maps.Keys(s.picture.nodes)) {
		sight.Nodes = append(sight.Nodes, s.picture.nodes[id])
	}
	sight.Fill(&in)
	return in
}
