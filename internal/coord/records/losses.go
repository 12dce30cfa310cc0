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

// Loss tells of a worker that takes the place of one that was lost. It has durations,
// since the clocks of hosts need not agree.
type Loss struct {
	// Slot is the new worker's, StartSecs the time of its placement there.
	Slot      cluster.Slot
	StartSecs int64
	// Detect is from the last sign of life of what was lost until nimbus took it for
	// lost, Place from then until it was placed anew. Parts of a millisecond are lost.
	Detect, Place time.Duration
}

type lossText struct {
	Supervisor cluster.SupervisorID `json:"supervisor"`
	Port       cluster.Port         `json:"port"`
	StartSecs  int64                `json:"start_secs"`
	DetectMS   int64                `json:"detect_ms"`
	PlaceMS    int64                `json:"place_ms"`
}

func encodeLosses(losses []Loss) ([]byte, error) {
	texts := make([]lossText, len(losses))
	for i, l := range losses {
		texts[i] = lossText{l.Slot.Supervisor, l.Slot.Port, l.StartSecs, l.Detect.Milliseconds(), l.Place.Milliseconds()}
	}
	return json.Marshal(texts)
}

func decodeLosses(data []byte) ([]Loss, error) {
	var texts []lossText
	if err := json.Unmarshal(data, &texts); err != nil {
		return nil, err
	}
	const most = int64(1<<63-1) / int64(time.Millisecond)
	losses := make([]Loss, len(texts))
	for i, t := range texts {
		if min(t.DetectMS, t.PlaceMS) < 0 || max(t.DetectMS, t.PlaceMS) > most {
			return nil, fmt.Errorf("%d ms or %d ms is no time that anything takes", t.DetectMS, t.PlaceMS)
		}
		losses[i] = Loss{
			Slot: cluster.Slot{Supervisor: t.Supervisor, Port: t.Port}, StartSecs: t.StartSecs,
			Detect: time.Duration(t.DetectMS) * time.Millisecond, Place: time.Duration(t.PlaceMS) * time.Millisecond,
		}
	}
	return losses, nil
}

// Losses are those of the newest assignment of a topology that had any.
func (s *Store) Losses(ctx context.Context, id cluster.TopologyID) ([]Loss, error) {
	l, _, err := read(ctx, s, s.path(dirLosses, string(id)), decodeLosses)
	if errors.Is(err, coord.ErrNoNode) {
		return nil, nil
	}
	return l, err
}

// PutLosses keeps the losses for which an assignment is about to be written, with ops
// before it in the same Multi.
func (s *Store) PutLosses(ctx context.Context, id cluster.TopologyID, losses []Loss, ops ...coord.Op) error {
	data, err := encodeLosses(losses)
	if err != nil {
		return fmt.Errorf("records: losses of %s: %w", id, err)
	}
	_, err = s.put(ctx, s.path(dirLosses, string(id)), data, coord.AnyVersion, ops)
	return err
}
