package conf

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stormring/stormring/storm"
)

// spec is what is known of one key. The tables are the only place that says
// it: a new key needs a constant and a row.
type spec struct {
	name string
	doc  string // one line, for people
	// def is the default, of the key's type; nil means null.
	def any
	// wants is the type with its range, in words.
	wants string
	// cast brings a value to the key's type.
	cast func(v any) (any, error)
	// in reports whether a value of the key's type is within the range.
	in func(v any) bool
	// unit is what 1 means if the key is a time.
	unit time.Duration
	// component tells that single components may set the key.
	component bool
	// text tells that the key's type is string.
	text bool
}

// table is all known keys by name. It is never changed.
var table = index(topologyTable(), clusterTable())

func index(parts ...[]spec) map[string]*spec {
	m := map[string]*spec{}
	for _, part := range parts {
		for i := range part {
			s := &part[i]
			if _, ok := m[s.name]; ok {
				panic("conf: key " + s.name + " has two rows")
			}
			m[s.name] = s
		}
	}
	return m
}

// nullable tells whether null is a value of the key.
func (s *spec) nullable() bool { return s.def == nil }

// parse is v as the key's type.
func (s *spec) parse(v any) (any, error) {
	t, err := s.cast(v)
	if err != nil {
		return nil, err
	}
	if s.in != nil && !s.in(t) {
		return nil, fmt.Errorf("%s wants %s, not %v", s.name, s.wants, t)
	}
	return t, nil
}

// row makes a row for a key that has a default, opt one for a key that may be
// null and is so by default.
func row[T storm.Setting](k storm.Key[T], def T, doc string, rules ...rule) spec {
	s := opt(k, doc, rules...)
	s.def = def
	return s
}

func opt[T storm.Setting](k storm.Key[T], doc string, rules ...rule) spec {
	var zero T
	_, text := any(zero).(string)
	s := spec{
		name:  string(k),
		doc:   doc,
		wants: k.Wants(),
		cast:  func(v any) (any, error) { return k.Parse(v) },
		unit:  unitOf(string(k)),
		text:  text,
	}
	for _, r := range rules {
		r(&s)
	}
	return s
}

// unitOf is the unit that a key's last word names, or 0.
func unitOf(name string) time.Duration {
	switch name[strings.LastIndexByte(name, '.')+1:] {
	case "ms", "millis":
		return time.Millisecond
	case "sec", "secs":
		return time.Second
	case "mins":
		return time.Minute
	}
	return 0
}

// rule narrows a spec.
type rule func(*spec)

// component lets single components set the key.
func component(s *spec) { s.component = true }

// millis is for times whose name does not tell their unit.
func millis(s *spec) { s.unit = time.Millisecond }

// atLeast bounds a number from below.
func atLeast(least float64) rule {
	return func(s *spec) {
		s.wants += fmt.Sprintf(" of at least %v", least)
		s.in = func(v any) bool { return asFloat(v) >= least }
	}
}

// between bounds a number on both sides, both included.
func between(least, most float64) rule {
	return func(s *spec) {
		s.wants += fmt.Sprintf(" from %v to %v", least, most)
		s.in = func(v any) bool { return asFloat(v) >= least && asFloat(v) <= most }
	}
}

// port bounds a TCP port.
func port(s *spec) { between(1, math.MaxUint16)(s) }

// portOrOff is a TCP port, or 0 for a service that is off.
func portOrOff(s *spec) { between(0, math.MaxUint16)(s) }

// oneOf lists all that a string may be.
func oneOf(words ...string) rule {
	return func(s *spec) {
		s.wants = "one of " + strings.Join(words, ", ")
		s.in = func(v any) bool { return slices.Contains(words, v.(string)) }
	}
}

// notEmpty refuses the empty string and the empty list.
func notEmpty(s *spec) {
	s.wants += " that is not empty"
	s.in = func(v any) bool {
		list, isList := v.([]string)
		return v != "" && (!isList || len(list) > 0)
	}
}

// ports makes of a list one of TCP ports.
func ports(s *spec) {
	s.wants = "a list of ports from 1 to 65535, none twice"
	s.in = func(v any) bool {
		seen := map[int]bool{}
		for _, e := range v.([]any) {
			n, err := storm.Key[int]("").Parse(e)
			if err != nil || n < 1 || n > math.MaxUint16 || seen[n] {
				return false
			}
			seen[n] = true
		}
		return true
	}
}

// asFloat is a number of a key's type for comparison with a bound; the int of
// 2^53 and more that it rounds are far from every bound.
func asFloat(v any) float64 {
	if n, ok := v.(int); ok {
		return float64(n)
	}
	return v.(float64)
}

// plain is v with every number an int64 or a float64 and every map a
// map[string]any, whatever parser or program it comes from.
func plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case int32:
		return int64(v)
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
		return float64(v)
	case float32:
		return float64(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case storm.Config:
		return plain(map[string]any(v))
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = plain(e)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = plain(e)
		}
		return list
	}
	return v
}

// Doc is one row of the tables, for help texts.
type Doc struct {
	Key     string
	Text    string
	Wants   string
	Default any // nil for null
	// Component tells that single components may set the key.
	Component bool
}

// Docs are all known keys, sorted.
func Docs() []Doc {
	docs := make([]Doc, 0, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		s := table[name]
		docs = append(docs, Doc{Key: name, Text: s.doc, Wants: s.wants, Default: s.def, Component: s.component})
	}
	return docs
}
