package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stormring/stormring/sr3/ring"
)

const (
	// memoryFile is the file in a node's folder that names the others of its ring.
	memoryFile = "ring.json"
	// memoryFormat is its version.
	memoryFormat = 1
	// mostRemembered bounds it: one that answers is enough to find the rest.
	mostRemembered = 32
)

// memory keeps on disk whom a node knows on the ring, so that after a restart it
// does not believe to be alone while the coordination store names nobody.
type memory struct {
	path string // "" for none
	log  *slog.Logger
	kept []ring.Node // what is in the file, by id
}

// remembered is the content of the file.
type remembered struct {
	Format int         `json:"format"`
	Nodes  []neighbour `json:"nodes"`
}

// neighbour is a ring.Node.
type neighbour struct {
	ID        string `json:"id"`
	Addr      string `json:"addr"`
	Host      string `json:"host,omitempty"`
	Rack      string `json:"rack,omitempty"`
	Positions int    `json:"positions"`
}

// openMemory reads what an earlier life left. What cannot be read is not known.
func openMemory(dir string, log *slog.Logger) *memory {
	m := &memory{log: log}
	if dir == "" {
		return m
	}
	m.path = filepath.Join(dir, memoryFile)
	text, err := os.ReadFile(m.path)
	if errors.Is(err, os.ErrNotExist) {
		return m
	}
	if err == nil {
		m.kept, err = decodeMemory(text)
	}
	if err != nil {
		log.Warn("whom this node knew on the ring cannot be read; if nobody else is registered it takes itself for alone", "file", m.path, "err", err)
	}
	return m
}

func decodeMemory(text []byte) ([]ring.Node, error) {
	var r remembered
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	if r.Format != memoryFormat {
		return nil, fmt.Errorf("it has format %d, this release reads %d", r.Format, memoryFormat)
	}
	if len(r.Nodes) > mostRemembered {
		return nil, fmt.Errorf("it has %d nodes, at most %d are written", len(r.Nodes), mostRemembered)
	}
	var nodes []ring.Node
	for _, n := range r.Nodes {
		node := ring.Node(n)
		if err := node.Check(); err != nil {
			return nil, err
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func encodeMemory(nodes []ring.Node) ([]byte, error) {
	r := remembered{Format: memoryFormat, Nodes: []neighbour{}}
	for _, n := range nodes {
		r.Nodes = append(r.Nodes, neighbour(n))
	}
	return json.Marshal(r)
}

// worthRemembering are the others of a picture, by id: those that are recalled and
// still waited for, and the living, the next ones clockwise if they are many.
func worthRemembering(p *picture, self string) []ring.Node {
	nodes := slices.Clone(p.recalled)
	nodes = nodes[:min(len(nodes), mostRemembered)]
	for at := range p.view.Walk(ring.PositionOf(self, 0)) {
		if len(nodes) == mostRemembered {
			break
		}
		if at.Node.ID != self && !slices.ContainsFunc(nodes, func(n ring.Node) bool { return n.ID == at.Node.ID }) {
			nodes = append(nodes, *at.Node)
		}
	}
	slices.SortFunc(nodes, func(a, b ring.Node) int { return strings.Compare(a.ID, b.ID) })
	return nodes
}

// run writes down whom the circle knows, when that changes, until ctx ends.
func (m *memory) run(ctx context.Context, c *circle, self string) {
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.news:
		}
		err := m.keep(worthRemembering(c.now.Load(), self))
		if err != nil && !failing {
			m.log.Warn("whom this node knows on the ring cannot be kept for a restart", "file", m.path, "err", err)
		}
		failing = err != nil
	}
}

// keep writes nodes down if they are others than before.
func (m *memory) keep(nodes []ring.Node) error {
	if m.path == "" || slices.Equal(nodes, m.kept) {
		return nil
	}
	text, err := encodeMemory(nodes)
	if err == nil {
		err = replaceFile(m.path, text)
	}
	if err == nil {
		m.kept = nodes
	}
	return err
}

// replaceFile replaces a file, so that after a crash the old or the new one is
// there, whole.
func replaceFile(path string, text []byte) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
