package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/wire"
)

// WorkerBeat is what a worker of Storm's, in a slot, last wrote of itself; false if it
// has not written anything.
func (s *Store) WorkerBeat(ctx context.Context, id cluster.TopologyID, at cluster.Slot) (cluster.WorkerReport, bool, error) {
	r, _, err := read(ctx, s, s.path(dirWorkerbeats, string(id), fmt.Sprintf("%s-%d", at.Supervisor, at.Port)), wire.DecodeWorkerBeat)
	if errors.Is(err, coord.ErrNoNode) {
		return cluster.WorkerReport{}, false, nil
	}
	r.Port = at.Port
	return r, err == nil, err
}
