package compare

// System is a column of the comparison.
type System string

// The systems: stock Storm, and Stormring with the same jar in JVMs and with the
// same topology in Go.
const (
	Storm   System = "storm"
	SameJar System = "stormring, same jar"
	InGo    System = "stormring, Go"
)

// Systems are all systems in the order of their columns.
func Systems() []System { return []System{Storm, SameJar, InGo} }

// Shape is a topology that every system runs.
type Shape struct {
	// Name is the one in the jar, Go the one of this program's topologies.
	Name, Go string
	Title    string
	// Slow divides the rate at which latency is measured; 0 is 1.
	Slow int
	// Acks are the variants: with and without tracking.
	Acks []bool
}

// pythonSlow is for a splitter that does about a tenth of the others' work in a second.
const pythonSlow = 10

// StateShape is the one whose state comes back after a failure.
const StateShape = "state"

// Shapes are all topologies, in the order of their rows.
func Shapes() []Shape {
	both := []bool{true, false}
	return []Shape{
		{Name: "null", Go: "constnull", Title: "constant spout, null bolt", Acks: both},
		{Name: "identity", Go: "constidnull", Title: "constant spout, identity bolt, null bolt", Acks: both},
		{Name: "words", Go: "filewordcount", Title: "lines of a text, splitter, counter; tuples are words", Acks: both},
		{Name: "python", Go: "pythonwordcount", Title: "the same with a splitter in Python", Slow: pythonSlow, Acks: both},
		{Name: StateShape, Go: "statehold", Title: "a bolt with a large state: in Storm kept in Redis, in Stormring on the ring", Acks: []bool{false}},
	}
}
