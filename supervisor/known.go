package supervisor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
)

// knownFormat is the version of the file of what is known.
const knownFormat = 1

// known is what is kept on disk of the topologies that have a slot here, so that
// a worker which dies while the coordination store is away comes back, even if
// the supervisor has died too. What starts from it waits for the store's word for a
// moment (slot.Config.AssignmentWait). Secrets are not kept.
type known struct {
	Format     int                                 `json:"format"`
	Topologies map[cluster.TopologyID]knownRecords `json:"topologies"`
}

// knownRecords are a topology's records as the store has them.
type knownRecords struct {
	Assignment []byte `json:"assignment"`
	Version    int32  `json:"version"`
	Base       []byte `json:"base"`
	Log        []byte `json:"log,omitempty"`
}

func (r knownRecords) equal(o knownRecords) bool {
	return r.Version == o.Version && bytes.Equal(r.Assignment, o.Assignment) && bytes.Equal(r.Base, o.Base) && bytes.Equal(r.Log, o.Log)
}

func knownPath(localDir string) string { return filepath.Join(supervisorDir(localDir), "known.json") }

// known are a topology's records; false if it lacks some.
func (t *topology) known() (knownRecords, bool, error) {
	if !t.placed || !t.based {
		return knownRecords{}, false, nil
	}
	r := knownRecords{Version: t.version}
	var err, baseErr, logErr error
	r.Assignment, err = wire.EncodeAssignment(t.assignment)
	r.Base, baseErr = wire.EncodeBase(t.base)
	if t.log != nil {
		r.Log, logErr = wire.EncodeLogConfig(t.log)
	}
	return r, true, errors.Join(err, baseErr, logErr)
}

// topology is what r tells.
func (r knownRecords) topology() (*topology, error) {
	t := &topology{placed: true, recalled: true, based: true, version: r.Version}
	var err, baseErr, logErr error
	t.assignment, err = wire.DecodeAssignment(r.Assignment)
	t.base, baseErr = wire.DecodeBase(r.Base)
	if r.Log != nil {
		t.log, logErr = wire.DecodeLogConfig(r.Log)
	}
	return t, errors.Join(err, baseErr, logErr)
}

// remember keeps what is known, if it is news.
func (s *Supervisor) remember() {
	s.mu.Lock()
	now := known{Format: knownFormat, Topologies: map[cluster.TopologyID]knownRecords{}}
	var errs []error
	for id, t := range s.view.topologies {
		if !t.here(s.id) {
			continue
		}
		r, ok, err := t.known()
		if err != nil {
			errs = append(errs, fmt.Errorf("topology %s: %w", id, err))
		} else if ok {
			now.Topologies[id] = r
		}
	}
	s.mu.Unlock()
	err := errors.Join(errs...)
	if !maps.EqualFunc(now.Topologies, s.kept.Topologies, knownRecords.equal) {
		var text []byte
		text, jsonErr := json.Marshal(now)
		err = errors.Join(err, jsonErr)
		if jsonErr == nil {
			err = errors.Join(err, writeFile(knownPath(s.cfg.LocalDir), text))
		}
		s.kept = now
	}
	if err != nil {
		s.log.Warn("what is known of topologies cannot be kept for a restart", "error", err)
	}
}

// recall reads what was known before. What cannot be read was not known.
func (s *Supervisor) recall() error {
	text, err := os.ReadFile(knownPath(s.cfg.LocalDir))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	found, topologies, err := decodeKnown(text)
	if err != nil {
		return fmt.Errorf("%s: %w", knownPath(s.cfg.LocalDir), err)
	}
	s.kept = found
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.topologies = topologies
	return nil
}

func decodeKnown(text []byte) (known, map[cluster.TopologyID]*topology, error) {
	var found known
	if err := json.Unmarshal(text, &found); err != nil {
		return known{}, nil, err
	}
	if found.Format != knownFormat {
		return known{}, nil, fmt.Errorf("it has format %d, this release reads %d", found.Format, knownFormat)
	}
	topologies := map[cluster.TopologyID]*topology{}
	for id, r := range found.Topologies {
		t, err := r.topology()
		if err != nil {
			return known{}, nil, fmt.Errorf("topology %s: %w", id, err)
		}
		topologies[id] = t
	}
	return found, topologies, nil
}
