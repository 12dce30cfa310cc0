// Package flux reads topologies that are described in YAML, as Storm's Flux
// does, and makes descriptions of them (cluster.Topology) that can be submitted
// or run.
//
// Begin at Load. A file goes through these steps: text.go replaces ${…} and
// remembers where everything stood, yaml.go makes a tree of nodes with
// positions, definition.go and vertex.go read the keys, include.go joins files,
// build.go, shell.go and stream.go make the description. Whatever is wrong is
// noted with its file, line and key (problem.go), and reading goes on, so that
// a user sees all mistakes at once.
package flux

import (
	"errors"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// Options say what to read. Everything of the world comes in by them.
type Options struct {
	// File is the topology's file, as Read knows it and errors name it.
	File string
	// Read reads File and what it includes. A path is tried in the folder of
	// the file that includes it, and then as it stands.
	Read func(path string) ([]byte, error)
	// Resource reads what is included with resource: true; nil refuses that.
	Resource func(path string) ([]byte, error)
	// InResource tells that File itself is one for Resource.
	InResource bool
	// Properties are those of --filter; nil is no filter.
	Properties map[string]string
	// Env looks up ${ENV-NAME}; nil leaves the environment alone.
	Env func(name string) (value string, ok bool)
	// Components are the Go components that the program knows by name; nil is
	// none.
	Components *storm.Registry
	// Name is the topology's name in place of the file's; "" keeps that.
	Name string
}

// Topology is what a file describes.
type Topology struct {
	Name        string
	Conf        storm.Config
	Description cluster.Topology
	// Vertices are spouts and bolts in the order of the file, for people.
	Vertices []Vertex
	// Registered tells that components of the program are used, so that its
	// code must go with the topology.
	Registered bool
	// Warnings are what is odd and works all the same.
	Warnings []Problem
}

// Vertex is a spout or bolt as the file has it.
type Vertex struct {
	ID   string
	Kind cluster.ComponentKind
	// Class is its class name; "" if the file only has a command.
	Class string
	// Command is the command line of a shell component.
	Command []string
	// At is where it stands.
	At Place
}

// Load reads a file and all it includes. The error is Problems, with all that
// is wrong.
func Load(o Options) (*Topology, error) {
	l := &loader{o: o, seen: map[Problem]bool{}}
	def := l.file(request{path: o.File, resource: o.InResource})
	var t *Topology
	if def != nil && !l.unread {
		t = l.build(def)
	}
	l.inOrder(l.problems)
	l.inOrder(l.warnings)
	if len(l.problems) > 0 {
		return nil, l.problems
	}
	if t == nil {
		return nil, errors.New(o.File + ": nothing was read")
	}
	t.Warnings = l.warnings
	return t, nil
}

// loader is one Load.
type loader struct {
	o        Options
	problems Problems
	warnings []Problem
	seen     map[Problem]bool
	// unread tells that a file could not be read or parsed, so that what
	// follows from that need not be said.
	unread bool
	open   []string // files being read, outermost first
	files  []string // files read so far
	total  int      // files read so far
	beans  map[string]*bean
}
