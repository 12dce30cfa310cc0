package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
)

// patience is how long a call goes on trying after it failed first.
type patience struct {
	c     *Client
	since time.Time // zero until then
	pause time.Duration
}

const (
	firstPause   = 50 * time.Millisecond
	longestPause = time.Second
)

func (c *Client) patience() *patience {
	return &patience{c: c, pause: firstPause}
}

// wait waits a while, longer each time; false if there is no patience left. There
// is more of it while the nimbuses elect a leader.
func (p *patience) wait(ctx context.Context, election bool) bool {
	now := p.c.cfg.Clock.Now()
	if p.since.IsZero() {
		p.since = now
	}
	limit := p.c.cfg.Patience
	if election && limit >= 0 {
		limit = max(limit, p.c.cfg.Election)
	}
	left := p.since.Add(limit).Sub(now)
	if left <= 0 {
		return false
	}
	t := p.c.cfg.Clock.NewTimer(min(p.pause, left))
	defer t.Stop()
	p.pause = min(2*p.pause, longestPause)
	select {
	case <-t.C():
		return true
	case <-p.c.gone:
		return false
	case <-ctx.Done():
		return false
	}
}

// find connects to the leader: to where it was last, else to where the seeds
// say it is.
func (c *Client) find(ctx context.Context, p *patience) (*conn, error) {
	for {
		if addr := c.leaderAddr(); addr != "" {
			x, err := c.connect(ctx, addr)
			if err == nil {
				return x, nil
			}
			c.cfg.Logger.Info("nimbus lost", "leader", addr, "error", err)
			c.forget(addr)
		}
		x, failures := c.search(ctx)
		if x != nil {
			return x, nil
		}
		if err := c.over(ctx); err != nil {
			return nil, err
		}
		if !mayPass(failures) || !p.wait(ctx, electing(failures)) {
			if err := c.over(ctx); err != nil {
				return nil, err
			}
			return nil, c.unreachable(failures)
		}
	}
}

// over says why there is no point in going on, if so.
func (c *Client) over(ctx context.Context) error {
	select {
	case <-c.gone:
		return ErrClosed
	default:
		return ctx.Err()
	}
}

// failure is why a seed was of no use.
type failure struct {
	seed string
	err  error
}

// search asks each seed who leads. It begins with the one after that at which
// the last search ran out of time, so that a seed that swallows all does not
// hide the others.
func (c *Client) search(ctx context.Context) (*conn, []failure) {
	var failures []failure
	n := len(c.cfg.Seeds)
	first := c.firstSeed(0)
	for i := range n {
		seed := c.address(c.cfg.Seeds[(first+i)%n])
		x, err := c.via(ctx, seed)
		if err == nil {
			c.setLeader(x.addr)
			return x, nil
		}
		failures = append(failures, failure{seed, err})
		if ctx.Err() != nil {
			c.firstSeed(i + 1)
			break
		}
	}
	return nil, failures
}

// via connects to the leader of which the nimbus at seed knows.
func (c *Client) via(ctx context.Context, seed string) (*conn, error) {
	x, err := c.connect(ctx, seed)
	if err != nil || c.cfg.Only {
		return x, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.cfg.ConnectTimeout)
	defer cancel()
	leader, err := x.askLeader(bounded)
	if err != nil {
		c.discard(x)
		return nil, err
	}
	addr := addressOf(leader)
	if addr == seed {
		return x, nil
	}
	c.discard(x)
	if x, err = c.connect(ctx, addr); err != nil {
		return nil, &hopError{addr, err}
	}
	return x, nil
}

func addressOf(n cluster.NimbusSummary) string {
	return net.JoinHostPort(n.Host, strconv.Itoa(n.Port))
}

// hopError is why the leader that a seed named is of no use.
type hopError struct {
	leader string
	err    error
}

// Error is for people.
func (h *hopError) Error() string {
	return fmt.Sprintf("it names %s as the leader, which cannot be reached (%v); storm.local.hostname of the leader must be a name by which it is reached from here",
		h.leader, cause(h.err))
}

// Unwrap is why.
func (h *hopError) Unwrap() error { return h.err }

// errNoLeader: a nimbus answers but does not know who leads.
var errNoLeader = errors.New("it answers, but no nimbus leads at the moment")

// askLeader asks who leads.
func (x *conn) askLeader(ctx context.Context) (cluster.NimbusSummary, error) {
	s, err := x.GetLeader(ctx)
	if e, ok := errors.AsType[apache.TApplicationException](err); ok {
		if e.TypeId() == apache.MISSING_RESULT {
			return cluster.NimbusSummary{}, errNoLeader
		}
		if answer, ok := refusal(err); ok && (sendsElsewhere(answer) || strings.Contains(answer.Text, "no nimbus leads")) {
			return cluster.NimbusSummary{}, errNoLeader
		}
	}
	if err != nil {
		return cluster.NimbusSummary{}, err
	}
	return wire.NimbusSummaryFromThrift(s), nil
}

// mayPass reports whether it is worth while to ask the seeds again soon.
func mayPass(failures []failure) bool {
	for _, f := range failures {
		_, unknownHost := errors.AsType[*net.DNSError](f.err)
		network, ok := errors.AsType[net.Error](f.err)
		slow := ok && network.Timeout()
		if errors.Is(f.err, errNoLeader) || broken(f.err) && !unknownHost && !slow {
			return true
		}
	}
	return false
}

// electing reports whether a nimbus answers, but none leads: at once after the
// leader has died, others name it until its session is over.
func electing(failures []failure) bool {
	for _, f := range failures {
		if _, dead := errors.AsType[*hopError](f.err); dead || errors.Is(f.err, errNoLeader) {
			return true
		}
	}
	return false
}

// unreachable tells people what was tried and what they can do.
func (c *Client) unreachable(failures []failure) error {
	if len(failures) == 0 {
		return fmt.Errorf("%w: nimbus.seeds is empty; name the hosts of nimbus there", ErrUnreachable)
	}
	whys := make([]string, len(failures))
	errs := make([]error, len(failures))
	for i, f := range failures {
		whys[i], errs[i] = fmt.Sprintf("%s: %v", f.seed, cause(f.err)), f.err
	}
	return &unreachable{errs, fmt.Sprintf("%v: %s. Does nimbus run there? Its hosts are set by nimbus.seeds (-c 'nimbus.seeds=[\"host\"]'), its port by nimbus.thrift.port (-c nimbus.thrift.port=%d)",
		ErrUnreachable, strings.Join(whys, "; "), c.cfg.Port)}
}

// unreachable is an ErrUnreachable of several causes.
type unreachable struct {
	errs []error
	text string
}

// Error is for people.
func (u *unreachable) Error() string { return u.text }

// Unwrap is the kind and the causes.
func (u *unreachable) Unwrap() []error { return append([]error{ErrUnreachable}, u.errs...) }

// cause is err without what is said anyway.
func cause(err error) error {
	if hop, ok := errors.AsType[*hopError](err); ok {
		return hop
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		if number, ok := errors.AsType[syscall.Errno](op.Err); ok {
			return number
		}
		return op.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("it takes the connection and does not answer: is that nimbus's Thrift port?")
	}
	return err
}
