package worker

import (
	"context"

	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

// Links connects a worker with the others of its topology.
type Links struct{}

func (l *Links) tupleLane(int, storm.TaskID) executor.Lane[*executor.Batch]          { return nil }
func (l *Links) ackLane(int, storm.TaskID) executor.Lane[*executor.AckBatch]         { return nil }
func (l *Links) outcomeLane(int, storm.TaskID) executor.Lane[*executor.OutcomeBatch] { return nil }
func (l *Links) run(context.Context, *Worker)                                        {}
