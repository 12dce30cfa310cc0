package demo

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/transport"
)

// askFor bounds how long a ring node is waited for.
const askFor = 2 * time.Second

// ringAddr is where the host's ring node listens.
func (h *host) ringAddr() string {
	return net.JoinHostPort(h.spec.Host, strconv.Itoa(h.spec.Ring))
}

// askAll asks the ring nodes of all living hosts; those that do not answer are
// left out.
func askAll[T any](ctx context.Context, end *transport.Endpoint, hosts []*host, method byte, request any) []T {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	var wg sync.WaitGroup
	answers := make([]*T, len(hosts))
	for i, h := range hosts {
		if !h.alive() {
			continue
		}
		wg.Go(func() {
			var body []byte
			if request != nil {
				body = protocol.Encode(request)
			}
			b, err := end.Call(ctx, h.ringAddr(), method, body)
			if err != nil {
				return
			}
			a := new(T)
			if protocol.Decode(b, a) == nil {
				answers[i] = a
			}
		})
	}
	wg.Wait()
	var out []T
	for _, a := range answers {
		if a != nil {
			out = append(out, *a)
		}
	}
	return out
}

// report is the newest word of the task that counts; false if there is none.
func (s *show) report(ctx context.Context) (newest protocol.TaskReport, ok bool) {
	for _, r := range askAll[protocol.Reports](ctx, s.end, s.cluster.hosts, protocol.GetReports, protocol.TopologyRequest{Topology: string(s.id)}) {
		for _, t := range r.Reports {
			if t.Owner.Component == counting && t.AtMillis >= newest.AtMillis {
				newest, ok = t, true
			}
		}
	}
	return newest, ok
}

// ringState is what the ring nodes say of themselves, together.
type ringState struct {
	answers, missing int
	whole            bool // each knows all that live as alive
	repaired, bytes  int64
	owners           int
}

func (s *show) ring(ctx context.Context) ringState {
	var r ringState
	living := 0
	for _, h := range s.cluster.hosts {
		if h.alive() {
			living++
		}
	}
	r.whole = true
	for _, st := range askAll[protocol.NodeStatus](ctx, s.end, s.cluster.hosts, protocol.GetStatus, nil) {
		r.answers++
		r.missing += st.UnderReplicated
		r.repaired += st.Repaired
		r.bytes += st.Bytes
		r.owners += len(st.Owners)
		alive := 0 // others
		for _, m := range st.Members {
			if m.Status == "alive" {
				alive++
			}
		}
		r.whole = r.whole && st.Joined && alive+1 == living
	}
	r.whole = r.whole && r.answers == living
	return r
}

// hostOf is the host of a supervisor.
func (s *show) hostOf(ctx context.Context, id cluster.SupervisorID) (*host, error) {
	nodes, err := s.cluster.records.RingNodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range s.cluster.hosts {
		if n, ok := nodes[id]; ok && n.Host == h.spec.Host {
			return h, nil
		}
	}
	return nil, fmt.Errorf("the host of supervisor %s is not known", id)
}
