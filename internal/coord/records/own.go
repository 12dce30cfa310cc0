package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
)

// This file has records that Storm does not know. They are JSON, so that an
// operator can read them.

// Life is what nimbus is about to do to a topology.
type Life struct {
	// Due is when, in UTC and whole milliseconds; zero if nothing is pending.
	Due time.Time
	// Removed tells that the topology is gone but for what is left of it.
	Removed bool
	// WaitSecs is the wait that was asked for.
	WaitSecs int
}

type lifeText struct {
	DueMS    int64 `json:"due_ms,omitempty"` // since 1970
	Removed  bool  `json:"removed,omitempty"`
	WaitSecs int   `json:"wait_secs,omitempty"`
}

func encodeLife(l Life) ([]byte, error) {
	t := lifeText{Removed: l.Removed, WaitSecs: l.WaitSecs}
	if !l.Due.IsZero() {
		t.DueMS = l.Due.UnixMilli()
	}
	return json.Marshal(t)
}

func decodeLife(data []byte) (Life, error) {
	var t lifeText
	if err := json.Unmarshal(data, &t); err != nil {
		return Life{}, err
	}
	l := Life{Removed: t.Removed, WaitSecs: t.WaitSecs}
	if t.DueMS != 0 {
		l.Due = time.UnixMilli(t.DueMS).UTC()
	}
	return l, nil
}

// Life is what is about to be done to a topology, if anything.
func (s *Store) Life(ctx context.Context, id cluster.TopologyID) (Life, bool, error) {
	l, _, err := read(ctx, s, s.path(dirLives, string(id)), decodeLife)
	if errors.Is(err, coord.ErrNoNode) {
		return Life{}, false, nil
	}
	return l, err == nil, err
}

// PutLife keeps what is about to be done to a topology. Parts of a millisecond
// are lost.
func (s *Store) PutLife(ctx context.Context, id cluster.TopologyID, l Life) error {
	data, err := encodeLife(l)
	if err != nil {
		return fmt.Errorf("records: life of %s: %w", id, err)
	}
	_, err = s.put(ctx, s.path(dirLives, string(id)), data, coord.AnyVersion, nil)
	return err
}

// RemoveLife tells that nothing is about to be done to a topology.
func (s *Store) RemoveLife(ctx context.Context, id cluster.TopologyID) error {
	return s.remove(ctx, s.path(dirLives, string(id)))
}

// Lives are the ids of all topologies that have a Life, sorted.
func (s *Store) Lives(ctx context.Context) ([]cluster.TopologyID, error) {
	return names[cluster.TopologyID](ctx, s, dirLives)
}

type standingText struct {
	Standing string `json:"standing"`
}

func decodeStanding(data []byte) (cluster.Standing, error) {
	var t standingText
	if err := json.Unmarshal(data, &t); err != nil {
		return 0, err
	}
	for _, st := range []cluster.Standing{cluster.Open, cluster.Cordoned, cluster.Drained} {
		if st.String() == t.Standing {
			return st, nil
		}
	}
	return 0, fmt.Errorf("%q is no standing of a supervisor", t.Standing)
}

// Standing is what the operator wants of a supervisor: Open if nothing was
// said, also of one that does not exist.
func (s *Store) Standing(ctx context.Context, id cluster.SupervisorID) (cluster.Standing, error) {
	st, _, err := read(ctx, s, s.path(dirStandings, string(id)), decodeStanding)
	if errors.Is(err, coord.ErrNoNode) {
		return cluster.Open, nil
	}
	return st, err
}

// Standings are those of all supervisors of which something was said.
func (s *Store) Standings(ctx context.Context) (map[cluster.SupervisorID]cluster.Standing, error) {
	return all(ctx, s, dirStandings, decodeStanding, func(name string) cluster.SupervisorID { return cluster.SupervisorID(name) })
}

// PutStanding keeps what the operator wants of a supervisor. Open says nothing.
func (s *Store) PutStanding(ctx context.Context, id cluster.SupervisorID, st cluster.Standing) error {
	path := s.path(dirStandings, string(id))
	switch st {
	case cluster.Open:
		return s.remove(ctx, path)
	case cluster.Cordoned, cluster.Drained:
	default:
		return fmt.Errorf("records: %d is no standing of a supervisor", st)
	}
	data, err := json.Marshal(standingText{Standing: st.String()})
	if err != nil {
		return fmt.Errorf("records: standing of %s: %w", id, err)
	}
	_, err = s.put(ctx, path, data, coord.AnyVersion, nil)
	return err
}
