package protocol

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stormring/stormring/storm"
)

// msgpackDecoder finds where a message ends by stepping over its parts, and
// goes on there when more bytes have come.
type msgpackDecoder struct {
	unpacker
	limit    int
	buf      []byte
	from, to int
	pos      int // stepped over up to here, from the message at from
	open     int // values still to step over; 0 if none has begun
	vals     []storm.Value
	slab     slab[storm.Value]
}

var _ Decoder = (*msgpackDecoder)(nil)

// Room implements Decoder.
func (d *msgpackDecoder) Room(n int) []byte {
	d.buf, d.from, d.to, d.pos = room(d.buf, d.from, d.to, d.pos, n)
	return d.buf[d.to:]
}

// Wrote implements Decoder.
func (d *msgpackDecoder) Wrote(n int) { d.to += n }

// Next implements Decoder.
func (d *msgpackDecoder) Next(m *Message) bool {
	for d.open == 0 {
		if d.from == d.to {
			return false
		}
		isMap, sure := d.startsMap(d.from)
		if !sure {
			return false
		}
		if isMap {
			d.pos, d.open = d.from, 1
			break
		}
		switch text, whole := d.text(); {
		case !whole:
			return false
		case len(text) > 0:
			*m = Message{Kind: Stray, Text: excerpt(text)}
			return true
		}
	}
	if !d.step() {
		if d.pos-d.from > d.limit || d.to-d.from > d.limit {
			*m = Message{Kind: Broken, Text: excerpt(d.buf[d.from:d.to]), Err: ErrTooLarge}
			// Where it ends is not known; what follows will look like text.
			d.from, d.open = d.to, 0
			return true
		}
		return false
	}
	frame := d.buf[d.from:d.pos]
	d.from = d.pos
	d.message(m, frame)
	return true
}

// startsMap reports whether a map with names for keys begins at i; sure is
// false if that cannot be told yet.
func (d *msgpackDecoder) startsMap(i int) (isMap, sure bool) {
	skip := 1
	switch c := d.buf[i]; {
	case c == 0x80:
		return true, true
	case c > 0x80 && c < 0x90:
	case c == 0xde:
		skip = 3
	case c == 0xdf:
		skip = 5
	default:
		return false, true
	}
	if i+skip >= d.to {
		return true, false
	}
	c := d.buf[i+skip]
	return c >= 0xa0 && c <= 0xbf || c >= 0xd9 && c <= 0xdb, true
}

// text takes what is no message: up to the next line or map.
func (d *msgpackDecoder) text() (text []byte, whole bool) {
	for i := d.from; i < d.to; i++ {
		if d.buf[i] == '\n' {
			text = bytes.TrimSpace(d.buf[d.from:i])
			d.from = i + 1
			return text, true
		}
		isMap, sure := d.startsMap(i)
		if !sure && i > d.from {
			break // the next bytes will tell
		}
		if isMap && i > d.from {
			text = d.buf[d.from:i]
			d.from = i
			return text, true
		}
	}
	if d.to-d.from > min(d.limit, maxStray/16) {
		text = d.buf[d.from:d.to]
		d.from = d.to
		return text, true
	}
	return nil, false
}

// step goes on stepping over values; false if bytes are missing.
func (d *msgpackDecoder) step() bool {
	for d.open > 0 {
		if d.pos >= d.to {
			return false
		}
		head, skip, inner, ok := shape(d.buf[d.pos:d.to])
		if !ok {
			return false
		}
		if d.pos+head+skip > d.to {
			return false
		}
		d.pos += head + skip
		d.open += inner - 1
	}
	return true
}

// Rest implements Decoder.
func (d *msgpackDecoder) Rest(m *Message) bool {
	if d.Next(m) {
		return true
	}
	b := d.buf[d.from:d.to]
	d.from = d.to
	switch {
	case d.open > 0:
		*m = Message{Kind: Broken, Text: excerpt(b), Err: errCut}
	case len(bytes.TrimSpace(b)) > 0:
		*m = Message{Kind: Stray, Text: excerpt(bytes.TrimSpace(b))}
	default:
		return false
	}
	d.open = 0
	return true
}

// message reads a map.
func (d *msgpackDecoder) message(m *Message, frame []byte) {
	*m = Message{NeedTaskIDs: true}
	d.b, d.hard, d.soft = frame, nil, nil
	var saw seen
	var name string
	var id []byte
	_, _, inner, _ := shape(d.b)
	d.head()
	for range inner / 2 {
		key, _ := d.value(1).AsString()
		d.soft = nil
		raw := d.b
		if key == "tuple" && d.tuple(m) {
			saw |= sawTuple
			continue
		}
		v := d.value(1)
		raw = raw[:len(raw)-len(d.b)]
		if v.IsNil() && d.soft == nil && key != "value" {
			continue
		}
		switch key {
		case "command":
			name, _ = v.AsString()
			saw |= sawCommand
		case "id":
			id = raw
			saw |= sawID
		default:
			saw |= m.set(key, v)
		}
		if d.soft != nil && key != "msg" {
			m.spoil(fmt.Errorf("%s: %w", key, d.soft))
		}
		d.soft = nil
		if d.hard != nil {
			break
		}
	}
	if d.hard != nil {
		m.Kind = Broken
		m.Text = excerpt(frame)
		m.spoil(d.hard)
		return
	}
	m.finish(saw, []byte(name))
	if id == nil {
		return
	}
	if m.Kind == Ack || m.Kind == Fail {
		d.b = id
		v := d.value(1)
		if s, ok := v.AsString(); ok && isHeartbeat([]byte(s)) {
			m.Kind = Sync
			return
		}
		if m.Ref = refOf(v); m.Ref != 0 {
			return
		}
	}
	m.ID = string(id)
}

// tuple reads the values of an emission; false if they are no list.
func (d *msgpackDecoder) tuple(m *Message) bool {
	if len(d.b) == 0 || d.b[0] < 0x90 || d.b[0] >= 0xa0 && d.b[0] != 0xdc && d.b[0] != 0xdd {
		return false
	}
	_, _, inner, _ := shape(d.b)
	d.head()
	d.vals = d.vals[:0]
	for i := range inner {
		d.soft = nil
		d.vals = append(d.vals, d.value(2))
		if d.soft != nil {
			m.spoil(&FieldError{Index: i, Reason: d.soft.Error()})
		}
	}
	d.soft = nil
	m.Tuple = d.slab.put(d.vals)
	clear(d.vals)
	return true
}

// refOf is the input that an id names; 0 if none of ours.
func refOf(v storm.Value) uint64 {
	if s, ok := v.AsString(); ok {
		return parseRef([]byte(s))
	}
	if n, ok := v.AsInt(); ok && n > 0 {
		return uint64(n)
	}
	return 0
}

// set puts the value of a key where it belongs.
func (m *Message) set(key string, v storm.Value) seen {
	switch key {
	case "tuple":
		m.spoil(errors.New("tuple is no list"))
		return sawTuple
	case "stream":
		m.Stream = m.name(key, v)
	case "anchors":
		m.anchor(v)
	case "task":
		m.setTask(m.whole(key, v))
	case "need_task_ids":
		need, ok := v.AsBool()
		if !ok {
			m.spoil(errors.New("need_task_ids is neither true nor false"))
		}
		m.NeedTaskIDs = need
	case "msg":
		m.Text = v.String()
		return sawMsg
	case "level":
		return m.setLevel(v)
	case "name":
		m.Name = m.name(key, v)
		return sawName
	case "key":
		m.Name = m.name(key, v)
		return sawKey
	case "params":
		m.Value = v
		return sawParams
	case "value":
		m.Value = v
		return sawValue
	case "op":
		m.Op = stateOp(m.name(key, v))
	case "pid":
		m.PID = int(m.whole(key, v))
		return sawPID
	case "txid":
		m.TxID = m.whole(key, v)
		return sawTxID
	case "stormring":
		m.Features = names(m, v)
	}
	return 0
}

func (m *Message) name(what string, v storm.Value) string {
	s, ok := v.AsString()
	if !ok {
		m.spoil(fmt.Errorf("%s is no string", what))
	}
	return s
}

func (m *Message) whole(what string, v storm.Value) int64 {
	n, ok := wholeNumber(v)
	if !ok {
		m.spoil(fmt.Errorf("%s is no whole number", what))
	}
	return n
}

func (m *Message) anchor(v storm.Value) {
	list, ok := v.AsList()
	if !ok {
		list = []storm.Value{v}
	}
	for _, e := range list {
		if e.Kind() == storm.KindList {
			m.anchor(e) // no deeper than maxDepth
			continue
		}
		if s, isText := e.AsString(); e.IsNil() || isText && isHeartbeat([]byte(s)) {
			continue
		}
		ref := refOf(e)
		if ref == 0 {
			m.spoil(fmt.Errorf("anchor %s is the id of no input", excerpt([]byte(e.String()))))
			continue
		}
		m.Anchors = append(m.Anchors, ref)
	}
}
