package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// slack is how far a sum of fractions may be off in comparisons.
const slack = 1e-6

// Resources is what a supervisor has or an executor asks for. It is a value:
// the methods change neither operand.
type Resources struct {
	// MemoryMB is memory in MiB.
	MemoryMB float64
	// CPU is processor time in percent of one core: 150 is a core and a half.
	CPU float64
	// Generic are resources of the administrator's own, by name; nil is fine.
	// It must not be changed once it is in use.
	Generic map[string]float64
}

// Plus is r and o together.
func (r Resources) Plus(o Resources) Resources { return r.combine(o, 1) }

// Minus is what is left of r without o; it may be below zero.
func (r Resources) Minus(o Resources) Resources { return r.combine(o, -1) }

func (r Resources) combine(o Resources, sign float64) Resources {
	r.MemoryMB += sign * o.MemoryMB
	r.CPU += sign * o.CPU
	if len(o.Generic) == 0 {
		return r
	}
	sum := make(map[string]float64, len(r.Generic)+len(o.Generic))
	maps.Copy(sum, r.Generic)
	for name, v := range o.Generic {
		sum[name] += sign * v
	}
	r.Generic = sum
	return r
}

// Equal reports whether r and o are the same; a resource at zero is like one
// that is not named.
func (r Resources) Equal(o Resources) bool {
	return r.MemoryMB == o.MemoryMB && r.CPU == o.CPU && covers(r.Generic, o.Generic) && covers(o.Generic, r.Generic)
}

func covers(a, b map[string]float64) bool {
	for name, v := range b {
		if a[name] != v {
			return false
		}
	}
	return true
}

// Lacks is the first resource of which r has less than need, in the order
// memory, CPU, generic ones by name, or "" if r is enough.
func (r Resources) Lacks(need Resources) string {
	switch {
	case need.MemoryMB > r.MemoryMB+slack:
		return MemoryName
	case need.CPU > r.CPU+slack:
		return CPUName
	}
	return r.lacksGeneric(need)
}

// LacksHard is like Lacks, but a lack of CPU does not count: work that has too
// little of it is slow, while work without memory dies.
func (r Resources) LacksHard(need Resources) string {
	if need.MemoryMB > r.MemoryMB+slack {
		return MemoryName
	}
	return r.lacksGeneric(need)
}

func (r Resources) lacksGeneric(need Resources) string {
	lack := ""
	for name, v := range need.Generic {
		if v > r.Generic[name]+slack && (lack == "" || name < lack) {
			lack = name
		}
	}
	return lack
}

// The names that Storm gives to the resources that are not generic.
const (
	MemoryName = "memory.mb"
	CPUName    = "cpu.pcore.percent"
)

// Get is the amount of the resource with this name.
func (r Resources) Get(name string) float64 {
	switch name {
	case MemoryName:
		return r.MemoryMB
	case CPUName:
		return r.CPU
	default:
		return r.Generic[name]
	}
}

// String is for people: "512 MB, 50 % CPU, 1 gpu".
func (r Resources) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%g MB, %g %% CPU", r.MemoryMB, r.CPU)
	for _, name := range slices.Sorted(maps.Keys(r.Generic)) {
		fmt.Fprintf(&b, ", %g %s", r.Generic[name], name)
	}
	return b.String()
}
