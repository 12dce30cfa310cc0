package protocol

import (
	"errors"
	"fmt"

	"github.com/stormring/stormring/storm"
)

// reader reads messages out of JSON objects.
type reader struct {
	jsonParser
	name   []byte // the command
	id     []byte // as it stands
	vals   []storm.Value
	refs   []uint64
	slab   slab[storm.Value]
	ids    slab[uint64]
	stream string // the last one seen, to save a copy
}

// message reads one object, which begins at r.at. If r.hard is set there was
// none.
func (r *reader) message(m *Message) {
	*m = Message{NeedTaskIDs: true}
	r.name, r.id, r.soft = r.name[:0], nil, nil
	var saw seen
	r.expect('{')
	for first := true; r.more('}', first); first = false {
		saw |= r.field(m, r.key())
	}
	if r.hard != nil {
		return
	}
	m.finish(saw, r.name)
	switch {
	case r.id == nil:
	case m.Kind == Ack || m.Kind == Fail:
		if m.settle(unquote(r.id)); m.Ref == 0 && m.Kind != Sync {
			m.ID = string(r.id)
		}
	default:
		m.ID = string(r.id)
	}
}

// unquote is what is in an id that may be quoted.
func unquote(id []byte) []byte {
	if n := len(id); n >= 2 && id[0] == '"' && id[n-1] == '"' {
		return id[1 : n-1]
	}
	return id
}

// field reads the value of a key into m. A null counts as absent.
func (r *reader) field(m *Message, key []byte) seen {
	if r.hard != nil {
		return 0
	}
	switch string(key) {
	case "tuple":
		return r.tuple(m)
	case "value":
		r.soft = nil
		m.Value = r.value(1)
		r.note(m, "value")
		return sawValue // null is a value like any other
	}
	if r.peek() == 'n' {
		r.word("null")
		return 0
	}
	switch string(key) {
	case "command":
		r.name = append(r.name[:0], r.chars(m, "command")...)
		return sawCommand
	case "id":
		return r.rawID(m)
	case "stream":
		if s := r.chars(m, "stream"); string(s) != r.stream {
			r.stream = string(s)
		}
		m.Stream = r.stream
	case "anchors":
		r.anchors(m)
	case "task":
		m.setTask(r.int(m, "task"))
	case "need_task_ids":
		m.NeedTaskIDs = r.bool(m, "need_task_ids")
	default:
		return r.rareField(m, string(key))
	}
	return 0
}

func (r *reader) rareField(m *Message, key string) seen {
	switch key {
	case "msg":
		m.Text = r.words(m)
		return sawMsg
	case "level":
		level := r.value(1)
		r.soft = nil
		return m.setLevel(level)
	case "name":
		m.Name = string(r.chars(m, key))
		return sawName
	case "key":
		m.Name = string(r.chars(m, key))
		return sawKey
	case "params":
		r.soft = nil
		m.Value = r.value(1)
		r.note(m, key)
		return sawParams
	case "op":
		m.Op = stateOp(string(r.chars(m, key)))
	case "pid":
		m.PID = int(r.int(m, key))
		return sawPID
	case "txid":
		m.TxID = r.int(m, key)
		return sawTxID
	case "stormring":
		m.Features = r.features(m)
	default:
		r.value(1)
	}
	return 0
}

// note makes what could not be carried an error of the message.
func (r *reader) note(m *Message, what string) {
	if r.soft != nil {
		m.spoil(fmt.Errorf("%s: %w", what, r.soft))
		r.soft = nil
	}
}

func (r *reader) tuple(m *Message) seen {
	if r.peek() != '[' {
		m.spoil(errors.New("tuple is no list"))
		r.value(1)
		return sawTuple
	}
	r.at++
	r.vals = r.vals[:0]
	for first := true; r.more(']', first); first = false {
		r.soft = nil
		r.vals = append(r.vals, r.value(2))
		if r.soft != nil {
			m.spoil(&FieldError{Index: len(r.vals) - 1, Reason: r.soft.Error()})
			r.soft = nil
		}
	}
	m.Tuple = r.slab.put(r.vals)
	clear(r.vals)
	return sawTuple
}

func (r *reader) rawID(m *Message) seen {
	start := r.at
	if r.peek() == '"' {
		r.bytes()
	} else {
		r.value(1)
	}
	r.note(m, "id")
	r.id = r.b[start:r.at]
	return sawID
}

func (r *reader) anchors(m *Message) {
	r.refs = r.refs[:0]
	r.anchor(m, 1)
	if len(r.refs) > 0 && r.hard == nil {
		m.Anchors = r.ids.put(r.refs)
	}
}

// anchor reads an anchor or a list of them. Where a child has none it may send
// null, as storm.js did, or the id of a heartbeat.
func (r *reader) anchor(m *Message, depth int) {
	switch {
	case r.peek() == '[' && depth < maxDepth:
		r.at++
		for first := true; r.more(']', first); first = false {
			r.anchor(m, depth+1)
		}
		return
	case r.peek() == 'n':
		r.word("null")
		return
	}
	start := r.at
	if r.peek() == '"' {
		r.bytes()
	} else {
		r.value(depth)
	}
	if r.hard != nil || isHeartbeat(unquote(r.b[start:r.at])) {
		return
	}
	ref := parseRef(unquote(r.b[start:r.at]))
	if ref == 0 {
		m.spoil(fmt.Errorf("anchor %s is the id of no input", excerpt(r.b[start:r.at])))
		return
	}
	r.refs = append(r.refs, ref)
}

// chars reads a string that names something.
func (r *reader) chars(m *Message, what string) []byte {
	if r.peek() != '"' {
		m.spoil(fmt.Errorf("%s is no string", what))
		r.value(1)
		return nil
	}
	r.soft = nil
	s := r.bytes()
	r.note(m, what)
	return s
}

// words reads a text that is shown to people. Anything will do.
func (r *reader) words(m *Message) string {
	if r.peek() == '"' {
		s := string(r.bytes())
		r.soft = nil
		return s
	}
	start := r.at
	r.value(1)
	r.soft = nil
	if r.hard != nil {
		return ""
	}
	return excerpt(r.b[start:r.at])
}

func (r *reader) int(m *Message, what string) int64 {
	v := r.value(1)
	r.soft = nil
	n, ok := wholeNumber(v)
	if s, isString := v.AsString(); isString {
		n = int64(parseRef([]byte(s)))
		ok = n > 0
	}
	if !ok {
		m.spoil(fmt.Errorf("%s is no whole number", what))
	}
	return n
}

func (r *reader) bool(m *Message, what string) bool {
	v := r.value(1)
	r.soft = nil
	b, ok := v.AsBool()
	if !ok {
		m.spoil(fmt.Errorf("%s is neither true nor false", what))
	}
	return b
}

// features reads a list of names.
func (r *reader) features(m *Message) []string {
	v := r.value(1)
	r.soft = nil
	return names(m, v)
}

func names(m *Message, v storm.Value) []string {
	list, ok := v.AsList()
	var out []string
	for _, e := range list {
		s, isString := e.AsString()
		ok = ok && isString
		out = append(out, s)
	}
	if !ok {
		m.spoil(errors.New("stormring is no list of names"))
	}
	return out
}
