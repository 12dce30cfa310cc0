package protocol

import (
	"errors"
	"fmt"

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
