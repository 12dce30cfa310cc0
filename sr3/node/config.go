package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/ring"
	"github.com/stormring/stormring/sr3/store"
	"github.com/stormring/stormring/sr3/transport"
)

// Config is what a node is started with. What is zero takes the default.
type Config struct {
	// ID names the node for ever; its positions on the ring follow from it.
	ID string
	// Addr is where it listens, as host:port; port 0 takes any.
	Addr string
	// Advertise is where others reach it; "" is where it listens, with Host for
	// the host if it listens on all addresses.
	Advertise string
	// Host and Rack are what it fails with; see ring.Node.
	Host, Rack string
	// Positions is how many it takes on the ring; default ring.DefaultPositions.
	Positions int
	// Dir is the folder of its store.
	Dir string
	// Ring are the times of the ring; the zero Config is ring.Default.
	Ring ring.Config
	// RepairDelay is how long the ring must be unchanged before copies are made
	// anew; default 10 s.
	RepairDelay time.Duration
	// RepairRate bounds what repair fetches, in bytes a second; default 64 MiB.
	RepairRate int64
	// ScrubRate is how fast what lies here is read and checked, in bytes a second;
	// default 4 MiB.
	ScrubRate int64
	// UpkeepEvery is how often it looks for what is to be done; default 2 s.
	UpkeepEvery time.Duration
	// Grace is how long what nobody needs is kept; default 10 min. It must be longer
	// than a checkpoint or a recovery takes.
	Grace time.Duration
	// Transport is handed on.
	Transport transport.Config
	// Level is the zstd level of what is folded here, 0 for 1, below 0 for none.
	// All nodes of a ring should have the same, so that they fold to the same bytes.
	Level int
	// ReadBudget bounds the bytes in memory for serving, and once more for taking
	// in; default 256 MiB. A single object may be larger.
	ReadBudget int64
	// Records is the coordination store.
	Records Records
	// Now is the wall clock, for what people read and for incarnations only.
	Now func() time.Time
	// Log is where it logs.
	Log *slog.Logger

	tune func(*store.Options) // for tests
}

// Records are the commit records of topologies in the coordination store. The
// methods are called by several goroutines at once. Their errors mean that the
// store is away; a Swap that failed leaves open what happened.
type Records interface {
	// Get gives the record of a topology, the zero Record if there is none.
	Get(ctx context.Context, topology string) (protocol.Record, error)
	// Swap replaces the record if it is expect, and tells whether it was.
	Swap(ctx context.Context, topology string, expect, next protocol.Record) (written bool, err error)
	// Topologies are the ids of all topologies that exist.
	Topologies(ctx context.Context) ([]string, error)
}

func (c *Config) complete() error {
	switch {
	case c.ID == "":
		return errors.New("sr3 node: no id")
	case c.Addr == "":
		return fmt.Errorf("sr3 node %s: no address to listen on; 127.0.0.1:0 takes any port", c.ID)
	case c.Dir == "" && c.tune == nil:
		return fmt.Errorf("sr3 node %s: no folder for its store", c.ID)
	case c.Records == nil:
		return fmt.Errorf("sr3 node %s: no coordination store", c.ID)
	}
	c.Positions = cmp.Or(c.Positions, ring.DefaultPositions)
	if c.Ring == (ring.Config{}) {
		c.Ring = ring.Default()
	}
	c.RepairDelay = cmp.Or(c.RepairDelay, 10*time.Second)
	c.RepairRate = cmp.Or(c.RepairRate, 64<<20)
	c.ScrubRate = cmp.Or(c.ScrubRate, 4<<20)
	c.UpkeepEvery = cmp.Or(c.UpkeepEvery, 2*time.Second)
	c.Grace = cmp.Or(c.Grace, 10*time.Minute)
	c.ReadBudget = cmp.Or(c.ReadBudget, 256<<20)
	if c.Level = cmp.Or(c.Level, 1); c.Level < 0 {
		c.Level = 0
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for what, v := range map[string]int64{
		"RepairRate": c.RepairRate, "ScrubRate": c.ScrubRate, "ReadBudget": c.ReadBudget,
		"RepairDelay": int64(c.RepairDelay), "UpkeepEvery": int64(c.UpkeepEvery), "Grace": int64(c.Grace),
	} {
		if v < 0 {
			return fmt.Errorf("sr3 node %s: %s is %d, it must be above 0", c.ID, what, v)
		}
	}
	return nil
}
