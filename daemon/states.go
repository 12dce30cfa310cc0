package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/sr3/client"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker"
	"github.com/stormring/stormring/worker/checkpoint"
	"github.com/stormring/stormring/worker/executor"
	"github.com/stormring/stormring/worker/monitor"
	"github.com/stormring/stormring/worker/process"
)

// States keeps the state of a worker's tasks on the ring. It is the States of
// process.Config.
func States(spec process.StatesSpec) (process.States, error) {
	s, err := newStates(spec)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func newStates(spec process.StatesSpec) (*states, error) {
	c, err := client.Dial(client.Config{
		Nodes: func() []string { return []string{spec.Ring()} }, Level: level(spec.Conf), Log: spec.Logger,
	})
	if err != nil {
		return nil, err
	}
	return &states{client: c, topology: spec.Topology, noticed: spec.Noticed, detect: spec.Detect, log: spec.Logger}, nil
}

// states are the states of one worker on the ring.
type states struct {
	client   *client.Client
	topology cluster.TopologyID
	noticed  time.Time
	detect   time.Duration
	log      *slog.Logger
}

// versionOf is a checkpoint's version on the ring, where eras are the epochs. So
// versions ascend, whatever was rolled back between them.
func versionOf(v checkpoint.Version) shard.Version {
	return shard.MakeVersion(shard.Epoch(v.Era), v.TxID)
}

func checkpointOf(v shard.Version) checkpoint.Version {
	return checkpoint.Version{TxID: v.Number(), Era: checkpoint.Era(v.Epoch())}
}

func recordOf(r checkpoint.Record) protocol.Record {
	return protocol.Record{Committed: versionOf(r.Committed), Last: shard.Epoch(r.Last), Claimant: r.Epoch}
}

func (s *states) owner(component string, task int32) shard.Owner {
	return shard.Owner{Topology: string(s.topology), Component: component, Task: task}
}

// Close ends all that is under way.
func (s *states) Close() { s.client.Close() }

// Record implements executor.Records.
func (s *states) Record(ctx context.Context) (checkpoint.Record, error) {
	r, err := s.client.Record(ctx, string(s.topology))
	if err != nil {
		return checkpoint.Record{}, err
	}
	return checkpoint.Record{Committed: checkpointOf(r.Committed), Last: checkpoint.Era(r.Last), Epoch: r.Claimant}, nil
}

// Swap implements executor.Records.
func (s *states) Swap(ctx context.Context, expect, next checkpoint.Record) checkpoint.Outcome {
	written, err := s.client.Swap(ctx, string(s.topology), recordOf(expect), recordOf(next))
	switch {
	case err != nil:
		s.log.Warn("it is not known whether the commit record was written; it will be read again", "error", err)
		return checkpoint.Unknown
	case written:
		return checkpoint.Written
	default:
		return checkpoint.Refused
	}
}

// Keep implements worker.States.
func (s *states) Keep(k worker.KeepSpec) (executor.Keeper, error) {
	mode, err := recovery.ParseMode(k.Conf.String(storm.ConfTopologySr3Recovery))
	if err != nil {
		return nil, err
	}
	task, err := s.client.Task(client.TaskOptions{
		Owner:    s.owner(k.Component, int32(k.Task)),
		Replicas: k.Conf.Int(storm.ConfTopologySr3Replicas), ShardBytes: int64(k.Conf.Int(storm.ConfTopologySr3ShardBytes)),
		Limit: int64(k.Conf.Int(storm.ConfTopologySr3StateMaxBytes)), Mode: mode, Params: RecoveryParams(k.Conf),
		OnDemand: k.Conf.String(storm.ConfTopologySr3Resume) == "ondemand", Post: k.Post, Noticed: s.noticed, Detect: s.detect,
	})
	if err != nil {
		return nil, fmt.Errorf("its state: %w", err)
	}
	return &keeper{Task: task, log: s.log}, nil
}

// RecoveryParams are the keys of a component as plans of recoveries take them.
func RecoveryParams(c *conf.Conf) recovery.Params {
	p := recovery.DefaultParams()
	p.StarFanin = c.Int(storm.ConfTopologySr3StarFanin)
	p.LineLength = c.Int(storm.ConfTopologySr3LineLength)
	p.TreeFanin = c.Int(storm.ConfTopologySr3TreeFanin)
	p.StarMaxBytes = int64(c.Int(storm.ConfTopologySr3StarMaxBytes))
	p.LatencySensitive = c.Bool(storm.ConfTopologySr3LatencySensitive)
	return p
}

// keeper is one task's state on the ring.
type keeper struct {
	*client.Task
	log    *slog.Logger
	saving checkpoint.Version
}

// State implements executor.Keeper.
func (k *keeper) State() storm.State { return k.Task }

// Load implements executor.Keeper.
func (k *keeper) Load(v checkpoint.Version, era checkpoint.Era, done func(error)) {
	k.Task.Load(versionOf(v), shard.Epoch(era), done)
}

// Save implements executor.Keeper.
func (k *keeper) Save(v, base checkpoint.Version, done func(error)) {
	k.saving = v
	k.Task.Save(versionOf(v), versionOf(base), shard.Epoch(v.Era), done)
}

// Thaw implements executor.Keeper.
func (k *keeper) Thaw(tx int64) {
	k.Task.Thaw(versionOf(checkpoint.Version{TxID: tx, Era: k.saving.Era}))
}

// Committed implements executor.Keeper.
func (k *keeper) Committed(v checkpoint.Version) {
	if err := k.Task.Committed(versionOf(v)); err != nil {
		k.log.Error("a committed checkpoint does not fit the state in memory", "owner", k.Owner(), "version", v, "error", err)
	}
}

// Measures implements worker.Measured.
func (k *keeper) Measures() []monitor.Value {
	r := k.Report()
	c := r.Checkpoint
	out := []monitor.Value{
		{Name: monitor.StateKeys, Value: float64(r.Keys)}, {Name: monitor.StateBytes, Value: float64(r.Bytes)},
		{Name: monitor.StateReplicas, Value: float64(r.Replicas)}, {Name: monitor.StateShards, Value: float64(c.Shards)},
		{Name: monitor.StateStoredBytes, Value: float64(c.Stored)}, {Name: monitor.StateShortShards, Value: float64(c.Short)},
		{Name: monitor.StateSavedBytes, Value: float64(c.Bytes)}, {Name: monitor.StateSaveSeconds, Value: c.DurationMS / 1000},
		{Name: monitor.StateFreezeSeconds, Value: c.FreezeMS / 1000},
	}
	n := len(r.Recoveries)
	if n == 0 {
		return out
	}
	last := r.Recoveries[n-1]
	running := 0.0
	if last.Running {
		running = 1
	}
	return append(out, []monitor.Value{
		{Name: monitor.RecoveryRunning, Value: running}, {Name: monitor.RecoveryBytes, Value: float64(last.Bytes)},
		{Name: monitor.RecoveryDetect, Value: last.DetectMS / 1000}, {Name: monitor.RecoveryPlace, Value: last.PlaceMS / 1000},
		{Name: monitor.RecoveryPredicted, Value: last.PredictedMS / 1000}, {Name: monitor.RecoveryFetch, Value: last.FetchMS / 1000},
		{Name: monitor.RecoveryRebuild, Value: last.RebuildMS / 1000}, {Name: monitor.RecoveryResume, Value: last.ResumeMS / 1000},
	}...)
}
