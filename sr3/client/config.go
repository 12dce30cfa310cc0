package client

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/shard"
	"github.com/stormring/stormring/sr3/transport"
)

var (
	// ErrFenced is what errors wrap when a later placement of the task is at work:
	// this one must stop.
	ErrFenced = errors.New("a later placement of this task is at work")
	// ErrConflict is what errors wrap when a version exists already with other
	// content.
	ErrConflict = errors.New("it exists already with other content")
	// ErrSuperseded is what errors wrap when something was given up because
	// something newer was asked for.
	ErrSuperseded = errors.New("superseded")
	// ErrClosed is what errors wrap when the client or the task is closed.
	ErrClosed = errors.New("closed")

	errNotFound    = errors.New("not there")
	errUnavailable = errors.New("unavailable")
)

// Config is a client's.
type Config struct {
	// Nodes are addresses of ring nodes to begin with, the one on this host first.
	// It is called again and again and may change its mind.
	Nodes func() []string
	// Transport is how nodes are spoken to.
	Transport transport.Config
	// Level is the zstd level of objects: 1 to 22; 0 is 1, below 0 is off.
	Level int
	// Log gets what people should know. Default: discarded.
	Log *slog.Logger
	// Now tells the time of manifests and reports. Default: time.Now.
	Now func() time.Time
	// ViewEvery is how often the ring is looked at. Default: a second.
	ViewEvery time.Duration
	// ReportEvery is how often a changed report goes to this host's node. Default:
	// 2 seconds.
	ReportEvery time.Duration
	// Buffer is how many bytes of objects one save has in memory at a time, beyond
	// the largest. Default: 64 MiB.
	Buffer int64
}

func (c *Config) defaults() error {
	if c.Nodes == nil {
		return errors.New("sr3/client: Config.Nodes is missing")
	}
	switch {
	case c.Level == 0:
		c.Level = 1
	case c.Level < 0:
		c.Level = 0
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.ViewEvery = cmp.Or(c.ViewEvery, time.Second)
	c.ReportEvery = cmp.Or(c.ReportEvery, 2*time.Second)
	c.Buffer = cmp.Or(c.Buffer, 64<<20)
	return nil
}

// TaskOptions are those of one task.
type TaskOptions struct {
	Owner shard.Owner
	// Replicas is on how many hosts each object should be. Default: 3.
	Replicas int
	// ShardBytes is the size that shards are kept near, Limit the most bytes that
	// the state may have (0: no limit); see shard.Options.
	ShardBytes, Limit int64
	// Mode and Params say how the state comes back.
	Mode   recovery.Mode
	Params recovery.Params
	// Noticed is when it became known that the task had to be placed anew, for
	// reports; zero if nobody knows.
	Noticed time.Time
	// Detect is how long the task was lost by then; 0 if that is not known, or if it
	// was not lost.
	Detect time.Duration
	// OnDemand lets the task go on as soon as the manifest is known.
	OnDemand bool
	// SaveTimeout is when a save fails. Default: 30 seconds.
	SaveTimeout time.Duration
	// HolderTimeout is when a holder that does not answer is passed over. Default:
	// 3 seconds.
	HolderTimeout time.Duration
	// Post runs a function on the task's goroutine, soon. It must neither run it at
	// once nor wait until it ran; it may drop it once the task has ended. There is at
	// most one function of a Task that was posted and did not run.
	Post func(func())
}

func (o *TaskOptions) defaults() error {
	if o.Post == nil {
		return fmt.Errorf("state of %v: TaskOptions.Post is missing", o.Owner)
	}
	if o.Replicas < 0 || o.Replicas > maxReplicas {
		return fmt.Errorf("state of %v: %d replicas, must be from 1 to %d", o.Owner, o.Replicas, maxReplicas)
	}
	mode, err := recovery.ParseMode(string(o.Mode))
	if err != nil {
		return fmt.Errorf("state of %v: %w", o.Owner, err)
	}
	o.Mode = mode
	o.Replicas = cmp.Or(o.Replicas, 3)
	o.SaveTimeout = cmp.Or(o.SaveTimeout, 30*time.Second)
	o.HolderTimeout = cmp.Or(o.HolderTimeout, 3*time.Second)
	return nil
}

// maxReplicas is a bound that no reasonable ring reaches.
const maxReplicas = 32
