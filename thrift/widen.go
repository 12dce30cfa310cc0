package thrift

import (
	"context"
	"slices"

	apache "github.com/apache/thrift/lib/go/thrift"
)

// HeartbeatTime is the field of storm.ClusterWorkerHeartbeat and
// storm.SupervisorWorkerHeartbeat, for [Widen] and [Unmarshal], that is an i32
// before Storm 3 and an i64 since.
const HeartbeatTime int16 = 3

// Widen makes one i64 field readable that older peers write as an i32, which a
// generated reader would skip. The path leads to the field: its id, after the
// ids of the fields that hold the structs around it (a list or map of structs
// adds nothing). Without a path it is p itself.
func Widen(p apache.TProtocol, path ...int16) apache.TProtocol {
	if len(path) == 0 {
		return p
	}
	return &widener{TProtocol: p, path: path}
}

// widened is the path of the field that Widen is for in a method's arguments.
func widened(method string) []int16 {
	switch method {
	case "sendSupervisorWorkerHeartbeat":
		return []int16{1, HeartbeatTime}
	case "sendSupervisorWorkerHeartbeats":
		return []int16{1, 2, HeartbeatTime}
	default:
		return nil
	}
}

// widener knows by the fields it is in where it is: the binary protocol does
// not name its structs.
type widener struct {
	apache.TProtocol
	path   []int16
	fields []int16 // field being read in each open struct, outermost first
	narrow bool    // the next value is an i32 that was announced as an i64
}

// ReadStructBegin goes one level down.
func (w *widener) ReadStructBegin(ctx context.Context) (string, error) {
	w.fields = append(w.fields, 0)
	return w.TProtocol.ReadStructBegin(ctx)
}

// ReadStructEnd goes one level up.
func (w *widener) ReadStructEnd(ctx context.Context) error {
	w.fields = w.fields[:max(len(w.fields)-1, 0)]
	return w.TProtocol.ReadStructEnd(ctx)
}

// ReadFieldBegin announces an i32 at the end of the path as an i64.
func (w *widener) ReadFieldBegin(ctx context.Context) (string, apache.TType, int16, error) {
	name, kind, id, err := w.TProtocol.ReadFieldBegin(ctx)
	if err != nil || len(w.fields) == 0 {
		return name, kind, id, err
	}
	w.fields[len(w.fields)-1] = id
	w.narrow = kind == apache.I32 && slices.Equal(w.fields, w.path)
	if w.narrow {
		kind = apache.I64
	}
	return name, kind, id, nil
}

// ReadI64 reads what is really there.
func (w *widener) ReadI64(ctx context.Context) (int64, error) {
	if !w.narrow {
		return w.TProtocol.ReadI64(ctx)
	}
	w.narrow = false
	v, err := w.TProtocol.ReadI32(ctx)
	return int64(v), err
}

// Skip skips what is really there.
func (w *widener) Skip(ctx context.Context, kind apache.TType) error {
	if w.narrow {
		w.narrow, kind = false, apache.I32
	}
	return w.TProtocol.Skip(ctx, kind)
}
