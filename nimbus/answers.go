package nimbus

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/internal/coord/records"
	"github.com/stormring/stormring/nimbus/answer"
	"github.com/stormring/stormring/nimbus/survey"
)

// Every nimbus with a session can answer; statistics and reasons are known to
// the leader alone.

// one is a topology with the world that it is in.
func (n *Nimbus) one(ctx context.Context, id cluster.TopologyID, name string) (*answer.View, survey.Topology, *term, error) {
	w, term, err := n.world(ctx)
	if err != nil {
		return nil, survey.Topology{}, nil, err
	}
	t, ok := w.Topologies[id]
	if id == "" {
		t, ok = w.Named(name)
	}
	if !ok {
		return nil, t, nil, notAlive(cmp.Or(string(id), name))
	}
	return answer.New(w), t, term, nil
}

// ClusterSummary is all of the cluster in short.
func (n *Nimbus) ClusterSummary(ctx context.Context) (cluster.ClusterSummary, error) {
	w, _, err := n.world(ctx)
	if err != nil {
		return cluster.ClusterSummary{}, err
	}
	return answer.New(w).Cluster(), nil
}

// TopologySummaries are all topologies in short.
func (n *Nimbus) TopologySummaries(ctx context.Context) ([]cluster.TopologySummary, error) {
	w, _, err := n.world(ctx)
	if err != nil {
		return nil, err
	}
	return answer.New(w).Topologies(), nil
}

// TopologySummary is a topology in short. Errors: ErrNotAlive.
func (n *Nimbus) TopologySummary(ctx context.Context, id cluster.TopologyID) (cluster.TopologySummary, error) {
	v, t, _, err := n.one(ctx, id, "")
	if err != nil {
		return cluster.TopologySummary{}, err
	}
	return v.Topology(t), nil
}

// TopologySummaryByName is a topology in short. Errors: ErrNotAlive.
func (n *Nimbus) TopologySummaryByName(ctx context.Context, name string) (cluster.TopologySummary, error) {
	v, t, _, err := n.one(ctx, "", name)
	if err != nil {
		return cluster.TopologySummary{}, err
	}
	return v.Topology(t), nil
}

// TopologyInfo is a topology with its executors and errors. Errors:
// ErrNotAlive.
func (n *Nimbus) TopologyInfo(ctx context.Context, id cluster.TopologyID, choice cluster.ErrorsChoice) (cluster.TopologyInfo, error) {
	return n.info(ctx, id, "", choice)
}

// TopologyInfoByName is TopologyInfo by name.
func (n *Nimbus) TopologyInfoByName(ctx context.Context, name string, choice cluster.ErrorsChoice) (cluster.TopologyInfo, error) {
	return n.info(ctx, "", name, choice)
}

func (n *Nimbus) info(ctx context.Context, id cluster.TopologyID, name string, choice cluster.ErrorsChoice) (cluster.TopologyInfo, error) {
	v, t, term, err := n.one(ctx, id, name)
	if err != nil {
		return cluster.TopologyInfo{}, err
	}
	errs, err := componentErrors(ctx, term.store, t.ID, choice)
	if err != nil {
		return cluster.TopologyInfo{}, err
	}
	return v.Info(t, errs), nil
}

// componentErrors are errors by component, as many as are wanted.
func componentErrors(ctx context.Context, s *records.Store, id cluster.TopologyID, choice cluster.ErrorsChoice) (map[string][]cluster.ErrorRecord, error) {
	out := map[string][]cluster.ErrorRecord{}
	if choice == cluster.NoErrors {
		return out, nil
	}
	components, err := s.ErrorComponents(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, c := range components {
		if choice == cluster.OneError {
			last, ok, err := s.LastError(ctx, id, c)
			if err = readable(err); err != nil {
				return nil, err
			}
			if ok {
				out[c] = []cluster.ErrorRecord{last}
			}
			continue
		}
		all, err := s.Errors(ctx, id, c)
		if err = readable(err); err != nil {
			return nil, err
		}
		out[c] = all
	}
	return out, nil
}

// readable is err unless it is about one record that cannot be read.
func readable(err error) error {
	if _, corrupt := errors.AsType[*records.CorruptError](err); corrupt {
		return nil
	}
	return err
}

// code is a topology's code. Errors: ErrNotAlive.
func (n *Nimbus) code(ctx context.Context, id cluster.TopologyID) (survey.Topology, error) {
	t, err := n.current()
	if err != nil {
		return survey.Topology{}, err
	}
	buried, err := t.store.Lives(ctx)
	if err != nil {
		return survey.Topology{}, err
	}
	if slices.Contains(buried, id) {
		if life, ok, err := t.store.Life(ctx, id); err == nil && ok && life.Removed {
			return survey.Topology{}, notAlive(string(id))
		}
	}
	topology, err := n.loadTopology(ctx, t.store, id)
	if errors.Is(err, coord.ErrNoNode) {
		return topology, notAlive(string(id))
	}
	if err == nil && topology.Code == nil {
		return topology, asf(ErrNotAlive, "%s cannot be shown: %s", id, topology.Broken)
	}
	return topology, err
}

// TopologyConf is a topology's configuration as JSON. Errors: ErrNotAlive.
func (n *Nimbus) TopologyConf(ctx context.Context, id cluster.TopologyID) (string, error) {
	t, err := n.code(ctx, id)
	if err != nil {
		return "", err
	}
	return answer.Conf(t)
}

// Topology is a topology with the system's components. Errors: ErrNotAlive.
func (n *Nimbus) Topology(ctx context.Context, id cluster.TopologyID) (cluster.Topology, error) {
	t, err := n.code(ctx, id)
	if err != nil {
		return cluster.Topology{}, err
	}
	return t.Code.Layout.System(t.Code.User)
}

// UserTopology is a topology as it was submitted. Errors: ErrNotAlive.
func (n *Nimbus) UserTopology(ctx context.Context, id cluster.TopologyID) (cluster.Topology, error) {
	t, err := n.code(ctx, id)
	if err != nil {
		return cluster.Topology{}, err
	}
	return t.Code.User, nil
}

// TopologyPage is what the UI shows of a topology in a window such as "600";
// "" is all time. Errors: ErrNotAlive.
func (n *Nimbus) TopologyPage(ctx context.Context, id cluster.TopologyID, window string, system bool) (cluster.TopologyPage, error) {
	v, t, term, err := n.one(ctx, id, "")
	if err != nil {
		return cluster.TopologyPage{}, err
	}
	errs, err := componentErrors(ctx, term.store, id, cluster.OneError)
	if err != nil {
		return cluster.TopologyPage{}, err
	}
	last := map[string]cluster.ErrorRecord{}
	for c, list := range errs {
		last[c] = list[0]
	}
	return v.Page(t, window, system, last)
}

// ComponentPage is what the UI shows of a component. Errors: ErrNotAlive, also
// if the topology has no such component.
func (n *Nimbus) ComponentPage(ctx context.Context, id cluster.TopologyID, component, window string, system bool) (cluster.ComponentPage, error) {
	v, t, term, err := n.one(ctx, id, "")
	if err != nil {
		return cluster.ComponentPage{}, err
	}
	errs, err := term.store.Errors(ctx, id, component)
	if err = readable(err); err != nil && !errors.Is(err, coord.ErrNoNode) {
		return cluster.ComponentPage{}, err
	}
	page, ok := v.ComponentPage(t, component, window, system, errs)
	if !ok {
		return page, asf(ErrNotAlive, "topology %s has no component %q", id, component)
	}
	return page, nil
}

// SupervisorPage is a supervisor, or all on a host if id is "". Errors:
// ErrNotAlive.
func (n *Nimbus) SupervisorPage(ctx context.Context, id cluster.SupervisorID, host string, system bool) (cluster.SupervisorPage, error) {
	w, _, err := n.world(ctx)
	if err != nil {
		return cluster.SupervisorPage{}, err
	}
	page, ok := answer.New(w).Supervisor(id, host, system)
	if !ok {
		return page, asf(ErrNotAlive, "there is no supervisor %s", cmp.Or(string(id), "on host "+host))
	}
	return page, nil
}

// TopologyHistory are the ids of a user's topologies that this cluster knows,
// those whose blobs are still kept included; of all users if user is "".
func (n *Nimbus) TopologyHistory(ctx context.Context, user string) ([]cluster.TopologyID, error) {
	t, err := n.current()
	if err != nil {
		return nil, err
	}
	all, err := n.loadTopologies(ctx, t.store)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(_ cluster.TopologyID, t survey.Topology) bool { return user != "" && t.Base.Owner != user })
	ids := slices.Collect(maps.Keys(all))
	buried, err := tombstones(ctx, t.store)
	ids = append(ids, buried...)
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// OwnerSummaries are the sums of owners' topologies; of one owner if it is
// named.
func (n *Nimbus) OwnerSummaries(ctx context.Context, owner string) ([]cluster.OwnerSummary, error) {
	w, _, err := n.world(ctx)
	if err != nil {
		return nil, err
	}
	return answer.New(w).Owners(owner, n.cfg.Conf.Map(conf.ResourceAwareUserPools)), nil
}

// RingNodes are the addresses of the ring nodes that live, by their supervisors.
func (n *Nimbus) RingNodes(ctx context.Context) (map[cluster.SupervisorID]string, error) {
	t, err := n.current()
	if err != nil {
		return nil, err
	}
	nodes, err := t.store.RingNodes(ctx)
	if err = readable(err); err != nil {
		return nil, err
	}
	out := make(map[cluster.SupervisorID]string, len(nodes))
	for id, one := range nodes {
		out[id] = one.Addr
	}
	return out, nil
}

// NimbusConf is the cluster's configuration as JSON.
func (n *Nimbus) NimbusConf() (string, error) {
	all := n.cfg.Conf.All()
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	data, err := json.Marshal(all)
	return string(data), err
}

// LogConfig are the levels of loggers that were set for a topology.
func (n *Nimbus) LogConfig(ctx context.Context, id cluster.TopologyID) (cluster.LogConfig, error) {
	t, err := n.current()
	if err != nil {
		return nil, err
	}
	c, err := t.store.LogConfig(ctx, id)
	if errors.Is(err, coord.ErrNoNode) {
		return cluster.LogConfig{}, nil
	}
	return c, err
}
