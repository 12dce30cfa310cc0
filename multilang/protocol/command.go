package protocol

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stormring/stormring/storm"
)

// command is the kind that a command's name stands for; 0 if none.
func command(name []byte) Kind {
	switch string(name) {
	case "emit":
		return Emit
	case "ack":
		return Ack
	case "fail":
		return Fail
	case "log":
		return Log
	case "error":
		return Error
	case "metrics":
		return Metrics
	case "sync":
		return Sync
	case "state":
		return State
	case "checkpointed":
		return Checkpointed
	}
	return 0
}

func stateOp(name string) StateOp {
	switch name {
	case "get":
		return StateGet
	case "put":
		return StatePut
	case "delete":
		return StateDelete
	}
	return 0
}

// seen are the keys that a message had.
type seen uint16

const (
	sawCommand seen = 1 << iota
	sawTuple
	sawID
	sawMsg
	sawName
	sawParams
	sawPID
	sawKey
	sawValue
	sawTxID
	sawLevel
)

var (
	errNoCommand = errors.New(`has neither "command" nor "pid"`)
	errCut       = errors.New("the output ends within a message")
)

// finish gives a message that was read its kind and checks it. name is the
// command.
func (m *Message) finish(saw seen, name []byte) {
	if saw&sawCommand == 0 {
		if saw&sawPID != 0 {
			m.Kind = PID
			return
		}
		m.spoil(errNoCommand)
		m.Kind = Broken
		return
	}
	m.Kind = command(name)
	if m.Kind == 0 {
		m.Kind = Broken
		m.spoil(fmt.Errorf("unknown command %q", excerpt(name)))
		return
	}
	if missing := m.missing(saw); missing != "" {
		m.spoil(fmt.Errorf("%s has no %q", m.Kind, missing))
	}
	if m.Kind == Emit && m.Stream == "" {
		m.Stream = storm.DefaultStream
	}
	if m.Kind == Log && saw&sawLevel == 0 {
		m.Level = levelInfo
	}
}

// settle makes an ack or fail of a heartbeat what it is: a sign of life, from a
// child that takes it for an input. id is the text of the id that is settled.
func (m *Message) settle(id []byte) {
	if isHeartbeat(id) {
		m.Kind = Sync
		return
	}
	m.Ref = parseRef(id)
}

// levelInfo is the level of a log message that names none.
const levelInfo = 2

// levels are the names that some children give levels.
var levels = [...]string{"trace", "debug", "info", "warn", "error"}

// setLevel takes a level as a number or a name. What is neither is as if it
// were not there: the text counts.
func (m *Message) setLevel(v storm.Value) seen {
	n, ok := wholeNumber(v)
	if s, isText := v.AsString(); isText {
		n, ok = levelNamed(strings.ToLower(s))
	}
	if !ok || n < 0 || n >= int64(len(levels)) {
		return 0
	}
	m.Level = int(n)
	return sawLevel
}

func levelNamed(s string) (n int64, ok bool) {
	if s == "warning" {
		s = "warn"
	}
	if i := slices.Index(levels[:], s); i >= 0 {
		return int64(i), true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// wholeNumber is v as an integer: some languages have no others than floats.
func wholeNumber(v storm.Value) (n int64, ok bool) {
	if n, ok = v.AsInt(); ok {
		return n, true
	}
	const safe = 1 << 53
	f, ok := v.AsFloat()
	if !ok || f != math.Trunc(f) || math.Abs(f) > safe {
		return 0, false
	}
	return int64(f), true
}

// missing is a key that a message of this kind must have and has not.
func (m *Message) missing(saw seen) string {
	switch {
	case m.Kind == Emit && saw&sawTuple == 0:
		return "tuple"
	case (m.Kind == Ack || m.Kind == Fail) && saw&sawID == 0:
		return "id"
	case (m.Kind == Log || m.Kind == Error) && saw&sawMsg == 0:
		return "msg"
	case m.Kind == Metrics && saw&sawName == 0:
		return "name"
	case m.Kind == State && saw&sawKey == 0:
		return "key"
	case m.Kind == State && m.Op == 0:
		return "op"
	case m.Kind == State && m.Op == StatePut && saw&sawValue == 0:
		return "value"
	case m.Kind == Checkpointed && saw&sawTxID == 0:
		return "txid"
	}
	return ""
}

// spoil keeps the first reason why a message cannot be used.
func (m *Message) spoil(err error) {
	if m.Err == nil {
		m.Err = err
	}
}
