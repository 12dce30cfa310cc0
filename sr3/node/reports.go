package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/shard"
)

// maxReports bounds the reports that a node keeps; the oldest go first.
const maxReports = 4096

// reports are the last words of tasks, for people; they are not on disk.
type reports struct {
	mu   sync.Mutex
	last map[shard.Owner]protocol.TaskReport
	told toldLinks
}

// link is the best that workers told lately of this host's link.
func (r *reports) link(now time.Time) protocol.Link {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told.best(now)
}

func (r *reports) put(_ context.Context, q protocol.TaskReport) (nothing, error) {
	if q.Owner.Topology == "" {
		return nothing{}, fmt.Errorf("%w: a report of no task", errInvalid)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		r.last = make(map[shard.Owner]protocol.TaskReport)
	}
	if old, ok := r.last[q.Owner]; ok && old.AtMillis > q.AtMillis {
		return nothing{}, nil // a late one
	}
	r.last[q.Owner] = q
	r.told.hear(time.UnixMilli(q.AtMillis), q.Link)
	if len(r.last) > maxReports {
		oldest := q
		for _, x := range r.last {
			if x.AtMillis < oldest.AtMillis {
				oldest = x
			}
		}
		delete(r.last, oldest.Owner)
	}
	return nothing{}, nil
}

func (r *reports) get(_ context.Context, q protocol.TopologyRequest) (protocol.Reports, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := protocol.Reports{Reports: []protocol.TaskReport{}}
	for o, x := range r.last {
		if o.Topology == q.Topology {
			a.Reports = append(a.Reports, x)
		}
	}
	slices.SortFunc(a.Reports, func(x, y protocol.TaskReport) int {
		if c := strings.Compare(x.Owner.Component, y.Owner.Component); c != 0 {
			return c
		}
		return int(x.Owner.Task) - int(y.Owner.Task)
	})
	return a, nil
}
