package records

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
)

// State names a state of a Java topology that takes part in its checkpoints.
type State struct {
	Component string
	Task      int32
}

func (s State) name() string { return escape(s.Component) + ":" + strconv.Itoa(int(s.Task)) }

func stateOf(name string) (State, error) {
	component, number, _ := strings.Cut(name, ":")
	task, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return State{}, fmt.Errorf("%q does not end with a task", name)
	}
	return State{Component: unescape(component), Task: int32(task)}, nil
}

// AddState takes down that there is such a state, until the topology is gone.
func (s *Store) AddState(ctx context.Context, id cluster.TopologyID, state State) error {
	return s.makeDir(ctx, s.path(dirStates, string(id), state.name()))
}

// States are all states that were added, as new as they were anywhere when this was
// called.
func (s *Store) States(ctx context.Context, id cluster.TopologyID) ([]State, error) {
	path := s.path(dirStates, string(id))
	if y, ok := s.s.(coord.Syncer); ok {
		if err := y.Sync(ctx, path); err != nil {
			return nil, err
		}
	}
	children, _, err := s.s.Children(ctx, path)
	if errors.Is(err, coord.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	states := make([]State, len(children))
	for i, name := range children {
		if states[i], err = stateOf(name); err != nil {
			return nil, &CorruptError{Path: path + "/" + name, Err: err}
		}
	}
	return states, nil
}
