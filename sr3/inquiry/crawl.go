package inquiry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stormring/stormring/sr3/overview"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
)

// crawling is a walk over all nodes that some node knows.
type crawling struct {
	q     *Inquiry
	visit func(ctx context.Context, addr string, s *protocol.NodeStatus) error
	slots chan struct{}
	wg    sync.WaitGroup

	mu      sync.Mutex
	asked   map[string]bool // addresses
	visited map[string]bool // ids
	answers []overview.Answer
}

// crawl asks all nodes for their status, those first that are known, then those that
// they name and do not take for dead. visit is called once for each that answered, by
// several goroutines; an error of it counts as no answer.
func (q *Inquiry) crawl(ctx context.Context, visit func(context.Context, string, *protocol.NodeStatus) error) (overview.Ring, error) {
	c := &crawling{
		q: q, visit: visit, slots: make(chan struct{}, q.cfg.Parallel),
		asked: map[string]bool{}, visited: map[string]bool{},
	}
	for _, addr := range q.cfg.Nodes {
		c.add(ctx, addr)
	}
	c.wg.Wait()
	if ctx.Err() != nil {
		return overview.Ring{}, context.Cause(ctx)
	}
	slices.SortFunc(c.answers, func(a, b overview.Answer) int { return strings.Compare(a.Addr, b.Addr) })
	var causes []string
	for _, a := range c.answers {
		if a.Status == nil {
			causes = append(causes, fmt.Sprintf("%s: %s", a.Addr, a.Cause))
		}
	}
	if len(causes) == len(c.answers) {
		return overview.Ring{}, silence(causes)
	}
	return overview.MakeRing(c.answers), nil
}

// add has an address asked, if it was not yet.
func (c *crawling) add(ctx context.Context, addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked[addr] || ctx.Err() != nil {
		return
	}
	c.asked[addr] = true
	c.wg.Go(func() {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		next := c.one(ctx, addr)
		<-c.slots
		for _, addr := range next {
			c.add(ctx, addr)
		}
	})
}

// one asks a node, and gives the addresses of those that it names.
func (c *crawling) one(ctx context.Context, addr string) (next []string) {
	a := overview.Answer{Addr: addr}
	var s protocol.NodeStatus
	err := c.q.ask(ctx, addr, protocol.GetStatus, nil, &s)
	if err == nil {
		c.mu.Lock()
		again := c.visited[s.Node.ID] // at another address
		c.visited[s.Node.ID] = true
		c.mu.Unlock()
		if !again {
			err = c.visit(ctx, addr, &s)
		}
	}
	if err != nil {
		a.Cause = err.Error()
	} else {
		a.Status = &s
		for _, m := range s.Members {
			if m.Status == ring.Alive.String() || m.Status == ring.Suspect.String() {
				next = append(next, m.Addr)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers = append(c.answers, a)
	return next
}
