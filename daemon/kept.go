package daemon

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/sr3/protocol"
	"github.com/stormring/stormring/sr3/transport"
	"github.com/stormring/stormring/storm"
)

// kept tells nimbus where the state of a topology lies. It is asked when tasks
// with state are placed anew, and answers soon with what it has heard.
type kept struct {
	records *ringRecords
	caller  *transport.Endpoint
	log     *slog.Logger
}

// keptPatience is how long a placement waits for the ring.
const keptPatience = 300 * time.Millisecond

func newKept(d Nimbus) (*kept, error) {
	caller, err := transport.Listen(transport.Config{Log: d.Logger}, "", nil)
	if err != nil {
		return nil, err
	}
	return &kept{
		records: &ringRecords{opener: d.Coord, timeout: d.Conf.Duration(conf.ZookeeperSessionTimeout), root: d.Conf.String(conf.ZookeeperRoot)},
		caller:  caller, log: d.Logger,
	}, nil
}

func (k *kept) close() error {
	k.caller.Close()
	return k.records.close()
}

// of is the Kept of nimbus.Config.
func (k *kept) of(id cluster.TopologyID) map[storm.TaskID]map[cluster.SupervisorID]int64 {
	ctx, cancel := context.WithTimeout(context.Background(), keptPatience)
	defer cancel()
	var nodes map[cluster.SupervisorID]records.RingNode
	err := k.records.with(ctx, func(s *records.Store) (err error) {
		nodes, err = s.RingNodes(ctx)
		return err
	})
	if err != nil {
		k.log.Debug("where state lies is not known", "topology", id, "error", err)
	}
	var mu sync.Mutex
	var asked sync.WaitGroup
	out := map[storm.TaskID]map[cluster.SupervisorID]int64{}
	for sup, n := range nodes {
		asked.Go(func() {
			answer, err := k.caller.Call(ctx, n.Addr, protocol.GetStatus, []byte("{}"))
			var status protocol.NodeStatus
			if err != nil || json.Unmarshal(answer, &status) != nil {
				return // it is the one that was lost, perhaps
			}
			mu.Lock()
			defer mu.Unlock()
			for _, o := range status.Owners {
				if o.Owner.Topology != string(id) {
					continue
				}
				task := storm.TaskID(o.Owner.Task)
				if out[task] == nil {
					out[task] = map[cluster.SupervisorID]int64{}
				}
				out[task][sup] += o.Bytes
			}
		})
	}
	asked.Wait()
	return out
}
