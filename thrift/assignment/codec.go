package assignment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/thrift/gen/storm"
)

var (
	_ apache.TStruct = (*Assignment)(nil)
	_ apache.TStruct = (*ByTopology)(nil)
)

// Read reads Storm's Assignment. It is an error if master_code_dir is missing,
// if an executor is no pair of tasks, or if a NodeInfo has not just one port.
func (a *Assignment) Read(ctx context.Context, p apache.TProtocol) error {
	*a = Assignment{}
	hasDir := false
	err := readFields(ctx, p, func(id int16, kind apache.TType) (known bool, err error) {
		switch id {
		case 1:
			hasDir = hasDir || kind == apache.STRING
			return typed(kind, apache.STRING, func() (err error) { a.MasterCodeDir, err = p.ReadString(ctx); return err })
		case 7:
			return typed(kind, apache.STRING, func() (err error) { a.Owner, err = p.ReadString(ctx); return err })
		default:
			return typed(kind, apache.MAP, func() error { return a.readMapField(ctx, p, id) })
		}
	})
	if err == nil && !hasDir {
		err = missing("master_code_dir")
	}
	return err
}

func (a *Assignment) readMapField(ctx context.Context, p apache.TProtocol, id int16) (err error) {
	switch id {
	case 2:
		a.NodeHost, err = readMap(ctx, p, apache.STRING, apache.STRING, readString, readString)
	case 3:
		a.Executors, err = readMap(ctx, p, apache.LIST, apache.STRUCT, readExecutor, readSlot)
	case 4:
		a.StartSecs, err = readMap(ctx, p, apache.LIST, apache.I64, readExecutor, readI64)
	case 5:
		a.Resources, err = readMap(ctx, p, apache.STRUCT, apache.STRUCT, readSlot, readResources)
	case 6:
		a.SharedOffHeap, err = readMap(ctx, p, apache.STRING, apache.DOUBLE, readString, readDouble)
	default:
		err = p.Skip(ctx, apache.MAP)
	}
	return err
}

// Write writes Storm's Assignment; equal ones give equal bytes, apart from what
// is inside Resources. A nil one is an error.
func (a *Assignment) Write(ctx context.Context, p apache.TProtocol) error {
	if a == nil {
		return errors.New("an assignment is nil")
	}
	fields := []field{
		{"master_code_dir", apache.STRING, 1, func() error { return p.WriteString(ctx, a.MasterCodeDir) }},
		{"node_host", apache.MAP, 2, func() error {
			return writeMap(ctx, p, a.NodeHost, apache.STRING, apache.STRING, strings.Compare, func(node, host string) error {
				return inOrder(p.WriteString(ctx, node), p.WriteString(ctx, host))
			})
		}},
		{"executor_node_port", apache.MAP, 3, func() error {
			return writeMap(ctx, p, a.Executors, apache.LIST, apache.STRUCT, Executor.compare, func(e Executor, s Slot) error {
				return inOrder(writeExecutor(ctx, p, e), s.info().Write(ctx, p))
			})
		}},
		{"executor_start_time_secs", apache.MAP, 4, func() error {
			return writeMap(ctx, p, a.StartSecs, apache.LIST, apache.I64, Executor.compare, func(e Executor, secs int64) error {
				return inOrder(writeExecutor(ctx, p, e), p.WriteI64(ctx, secs))
			})
		}},
		{"worker_resources", apache.MAP, 5, func() error {
			return writeMap(ctx, p, a.Resources, apache.STRUCT, apache.STRUCT, Slot.compare, func(s Slot, r *storm.WorkerResources) error {
				return inOrder(s.info().Write(ctx, p), r.Write(ctx, p))
			})
		}},
		{"total_shared_off_heap", apache.MAP, 6, func() error {
			return writeMap(ctx, p, a.SharedOffHeap, apache.STRING, apache.DOUBLE, strings.Compare, func(node string, mb float64) error {
				return inOrder(p.WriteString(ctx, node), p.WriteDouble(ctx, mb))
			})
		}},
	}
	if a.Owner != "" {
		fields = append(fields, field{"owner", apache.STRING, 7, func() error { return p.WriteString(ctx, a.Owner) }})
	}
	return writeFields(ctx, p, "Assignment", fields...)
}

// Read reads Storm's SupervisorAssignments.
func (b *ByTopology) Read(ctx context.Context, p apache.TProtocol) error {
	*b = nil
	return readFields(ctx, p, func(id int16, kind apache.TType) (bool, error) {
		if id != 1 {
			return false, nil
		}
		return typed(kind, apache.MAP, func() (err error) {
			*b, err = readMap(ctx, p, apache.STRING, apache.STRUCT, readString, readAssignment)
			return err
		})
	})
}

// Write writes Storm's SupervisorAssignments.
func (b *ByTopology) Write(ctx context.Context, p apache.TProtocol) error {
	return writeFields(ctx, p, "SupervisorAssignments", field{"storm_assignment", apache.MAP, 1, func() error {
		return writeMap(ctx, p, *b, apache.STRING, apache.STRUCT, strings.Compare, func(id string, a *Assignment) error {
			return inOrder(p.WriteString(ctx, id), a.Write(ctx, p))
		})
	}})
}

func readAssignment(ctx context.Context, p apache.TProtocol) (*Assignment, error) {
	a := new(Assignment)
	return a, a.Read(ctx, p)
}

func readResources(ctx context.Context, p apache.TProtocol) (*storm.WorkerResources, error) {
	r := storm.NewWorkerResources()
	return r, r.Read(ctx, p)
}

func readExecutor(ctx context.Context, p apache.TProtocol) (Executor, error) {
	kind, n, err := p.ReadListBegin(ctx)
	if err != nil {
		return Executor{}, err
	}
	if kind != apache.I64 || n != 2 {
		return Executor{}, apache.NewTProtocolExceptionWithType(apache.INVALID_DATA,
			fmt.Errorf("an executor is a list of two i64, not of %d %v", n, kind))
	}
	var e Executor
	if e.First, err = p.ReadI64(ctx); err != nil {
		return e, err
	}
	if e.Last, err = p.ReadI64(ctx); err != nil {
		return e, err
	}
	return e, p.ReadListEnd(ctx)
}

func writeExecutor(ctx context.Context, p apache.TProtocol, e Executor) error {
	return inOrder(p.WriteListBegin(ctx, apache.I64, 2), p.WriteI64(ctx, e.First), p.WriteI64(ctx, e.Last), p.WriteListEnd(ctx))
}

func readSlot(ctx context.Context, p apache.TProtocol) (Slot, error) {
	info := storm.NewNodeInfo()
	if err := info.Read(ctx, p); err != nil {
		return Slot{}, err
	}
	if len(info.Port) != 1 {
		return Slot{}, apache.NewTProtocolExceptionWithType(apache.INVALID_DATA,
			fmt.Errorf("a slot of %q has %d ports, not one", info.Node, len(info.Port)))
	}
	return Slot{Node: info.Node, Port: info.Port[0]}, nil
}

func (s Slot) info() *storm.NodeInfo {
	return &storm.NodeInfo{Node: s.Node, Port: []int64{s.Port}}
}

// inOrder is the first error of writes made one after the other. (Arguments are
// evaluated from left to right; a write after one that failed does no harm.)
func inOrder(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
