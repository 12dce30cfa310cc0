package client

import (
	"context"
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
)

// Report tells nimbus what a supervisor has heard of its workers.
func (c *Client) Report(ctx context.Context, r cluster.SupervisorReport) error {
	report, err := wire.SupervisorReportToThrift(r)
	if err != nil {
		return fmt.Errorf("the report cannot be sent: %w", err)
	}
	return c.do(ctx, again, func(ctx context.Context, x *conn) error { return x.SendSupervisorReport(ctx, report) })
}

// SetStanding says whether a supervisor, named by its id or host, takes
// workers. Errors: ErrKeyNotFound if there is none.
func (c *Client) SetStanding(ctx context.Context, supervisor string, s cluster.Standing) error {
	return c.do(ctx, again, func(ctx context.Context, x *conn) error {
		return x.SetSupervisorStanding(ctx, supervisor, wire.StandingToThrift(s))
	})
}

// Standings are those of supervisors that are not open.
func (c *Client) Standings(ctx context.Context) (map[cluster.SupervisorID]cluster.Standing, error) {
	all, err := ask(ctx, c, (*conn).GetSupervisorStandings)
	if err != nil {
		return nil, err
	}
	out := make(map[cluster.SupervisorID]cluster.Standing, len(all))
	for id, s := range all {
		if out[cluster.SupervisorID(id)], err = wire.StandingFromThrift(s); err != nil {
			return nil, fmt.Errorf("supervisor %s: %w", id, err)
		}
	}
	return out, nil
}
