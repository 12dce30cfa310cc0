package client

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

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
	told     map[shard.NodeID]bool // whose answer is in the plan, or was news
	changed  chan struct{}         // signals an answer
}

func newSurvey(t *Task, m *shard.Manifest, p *picture) *survey {
	return &survey{
		t: t, m: m, picture: p, answered: make(map[shard.NodeID]protocol.HaveAnswer), told: make(map[shard.NodeID]bool),
		changed: make(chan struct{}, 1),
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
		s.t.each(s.picture.view.Nodes(), func(n ring.Node) { _, _ = s.askOne(ctx, n) })
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
	ctx, cancel := context.WithTimeout(ctx, s.t.o.HolderTimeout)
	defer cancel()
	var a protocol.HaveAnswer
	err := s.t.c.ask(ctx, n.Addr, protocol.Have, protocol.VersionRequest{Owner: s.t.o.Owner, Version: s.m.Version}, &a)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.answered[shard.NodeID(n.ID)] = a
		delete(s.told, shard.NodeID(n.ID))
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

// pieces are the shards with their holders: who says so, and for objects that
// nobody says to have, whom the manifest names, unless that node said otherwise.
// It is called with mu held.
func (s *survey) pieces(hints bool) []recovery.Piece {
	pieces := make([]recovery.Piece, len(s.m.Shards))
	for i, chain := range s.m.Shards {
		pieces[i] = recovery.Piece{Shard: i, Bytes: foldedSize(chain), Chain: make([]recovery.Object, len(chain))}
		for j := range chain {
			pieces[i].Chain[j].Bytes = chain[j].Stored
		}
	}
	for id, a := range s.answered {
		for _, span := range a.Spans {
			if span.Shard < 0 || span.Shard >= len(pieces) || span.First < 0 {
				continue
			}
			chain := pieces[span.Shard].Chain
			for j := span.First; j < min(span.Until, len(chain)); j++ {
				chain[j].Holders = append(chain[j].Holders, id)
			}
		}
	}
	if !hints {
		return pieces
	}
	for i, chain := range s.m.Shards {
		for j := range chain {
			if o := &pieces[i].Chain[j]; len(o.Holders) == 0 {
				o.Holders = slices.DeleteFunc(slices.Clone(chain[j].Holders), func(id shard.NodeID) bool {
					_, said := s.answered[id]
					_, living := s.picture.nodes[id]
					return said || !living
				})
			}
		}
	}
	return pieces
}

// foldedSize guesses what a chain has at rest once it is folded.
func foldedSize(chain []shard.Ref) int64 {
	size := chain[0].Stored
	for _, ref := range chain[1:] {
		size = max(size, ref.Stored)
	}
	return size
}

// input is what the plan is made of.
func (s *survey) input(status *protocol.NodeStatus) recovery.Input {
	t := s.t
	s.mu.Lock()
	defer s.mu.Unlock()
	in := recovery.Input{
		Owner: t.o.Owner.String(), Version: s.m.Version, Mode: t.o.Mode, Params: t.o.Params,
		Pieces: s.pieces(true),
	}
	rates := newRates(t.c.end.Peers(), status)
	in.Receiver.ID = s.picture.self
	if in.Receiver.ID == "" {
		in.Receiver.ID = "(a worker without a node)"
	}
	in.Receiver.Down = rates.down
	in.Receiver.Site = s.picture.nodes[s.picture.self].Rack
	for id := range s.answered {
		s.told[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(s.picture.nodes)) {
		n := s.picture.nodes[id]
		in.Nodes = append(in.Nodes, recovery.Node{
			ID: id, Site: n.Rack, Up: rates.up[n.Addr], RTT: rates.rtt[n.Addr], Streams: s.answered[id].Streams,
		})
	}
	return in
}
