package maven

import (
	"fmt"
	"strings"

	model "deps.dev/util/maven"
)

// maxProperty bounds a property with all that it refers to, in bytes: values
// that refer to one another twice double with each, and a few dozen fill any memory.
const maxProperty = 64 << 10

// checkProperties refuses properties that are too large when filled in.
func checkProperties(list []model.Property) error {
	s := sizes{values: make(map[string]string, len(list)), known: map[string]int{}}
	for _, p := range list {
		s.values[p.Name] = p.Value
	}
	for _, p := range list {
		if s.of(p.Name) > maxProperty {
			return fmt.Errorf("the property %s is larger than %d bytes when it is filled in", p.Name, maxProperty)
		}
	}
	return nil
}

// sizes are how large properties are when they are filled in.
type sizes struct {
	values map[string]string
	known  map[string]int
}

func (s sizes) of(name string) int {
	if n, ok := s.known[name]; ok {
		return n
	}
	value, ok := s.values[name]
	if !ok {
		return len(name)
	}
	s.known[name] = 0 // if it refers to itself, that is not followed
	n := 0
	for {
		before, rest, found := strings.Cut(value, "${")
		n += len(before)
		if !found {
			break
		}
		key, after, closed := strings.Cut(rest, "}")
		if !closed {
			n += len(rest)
			break
		}
		n = min(n+s.of(key), 2*maxProperty)
		value = after
	}
	s.known[name] = n
	return n
}
