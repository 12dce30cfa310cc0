package cluster

import (
	"cmp"
	"maps"
	"slices"

	"github.com/stormring/stormring/storm"
)

// Topology is a topology as it was submitted: a description, of which no code
// can be run before a worker has resolved it. It mirrors Storm's StormTopology.
type Topology struct {
	// Components are spouts and bolts by id.
	Components map[string]Component
	// WorkerHooks are Java's serialised objects.
	WorkerHooks [][]byte
	// DependencyJars and DependencyArtifacts are keys of blobs.
	DependencyJars, DependencyArtifacts []string
	// StormVersion and JDKVersion are the submitter's; "" if it does not say.
	StormVersion, JDKVersion string
	// ComponentSharedMemory names the SharedMemory that components use.
	ComponentSharedMemory map[string][]string
	SharedMemory          map[string]SharedMemory
}

// IDs are the ids of all components of a kind, sorted by bytes; of both kinds
// if it is 0.
func (t Topology) IDs(kind ComponentKind) []string {
	ids := slices.Sorted(maps.Keys(t.Components))
	return slices.DeleteFunc(ids, func(id string) bool { return kind != 0 && t.Components[id].Kind != kind })
}

// SharedMemory is memory that several tasks use together, in MiB.
type SharedMemory struct {
	Name                               string
	OnHeap, OffHeapWorker, OffHeapNode float64
}

// ComponentKind tells spouts from bolts, with Storm's numbers.
type ComponentKind uint8

// The kinds of components.
const (
	Bolt  ComponentKind = 1
	Spout ComponentKind = 2
)

// Component is a spout or a bolt.
type Component struct {
	Kind   ComponentKind
	Object Object
	// Inputs are a bolt's subscriptions, sorted by component and stream.
	Inputs []Input
	// Streams are the streams that it declares, by id.
	Streams map[string]storm.StreamSpec
	// Parallelism is the number of executors wanted; 0 if it was not said,
	// which counts as 1.
	Parallelism int
	// Conf is its own configuration as JSON text; "" is an empty one.
	Conf string
}

// Object is a component's code: exactly one of these is set. An acker or the
// system's component has an empty Serialized that is not nil.
type Object struct {
	// Serialized is an object of Java.
	Serialized []byte
	// Shell is a program that speaks multilang.
	Shell *Shell
	// Class is made by name: a class of Java, or a component of Go.
	Class *Class
}

// Shell is a program with its single argument, started in the resources of the
// topology's jar.
type Shell struct{ Command, Script string }

// Class is something to be made by name. Args are int32, int64, string, bool,
// []byte or float64.
type Class struct {
	Name string
	Args []any
}

// Input is a subscription to a stream.
type Input struct {
	Component, Stream string
	Grouping          Grouping
}

// Compare orders inputs by component and stream.
func (i Input) Compare(o Input) int {
	return cmp.Or(cmp.Compare(i.Component, o.Component), cmp.Compare(i.Stream, o.Stream))
}

// GroupingKind is which rule chooses tasks, with the numbers of Thrift's union.
type GroupingKind uint8

// The groupings that can be described.
const (
	GroupFields           GroupingKind = 1
	GroupShuffle          GroupingKind = 2
	GroupAll              GroupingKind = 3
	GroupNone             GroupingKind = 4
	GroupDirect           GroupingKind = 5
	GroupCustomObject     GroupingKind = 6
	GroupCustomSerialized GroupingKind = 7
	GroupLocalOrShuffle   GroupingKind = 8
)

// Grouping is a rule with what it needs.
type Grouping struct {
	Kind GroupingKind
	// Fields of GroupFields; none is the global grouping.
	Fields []string
	// Class of GroupCustomObject.
	Class *Class
	// Serialized of GroupCustomSerialized.
	Serialized []byte
}
