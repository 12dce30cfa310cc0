package wire

import (
	"fmt"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// This file has what a worker and its supervisor tell each other, in the binary
// protocol, not compressed.

// EncodeUp is a message of a worker: either of the two, the other is nil. It
// fails for statistics that are of no kind.
func EncodeUp(hello *cluster.Hello, pulse *cluster.Pulse) ([]byte, error) {
	if err := oneArm("LinkUp", hello != nil, pulse != nil); err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	if hello != nil {
		return marshal(&gen.LinkUp{Hello: helloToThrift(hello)})
	}
	x, err := pulseToThrift(pulse)
	if err != nil {
		return nil, fmt.Errorf("wire: pulse: %w", err)
	}
	return marshal(&gen.LinkUp{Pulse: x})
}

// DecodeUp reads a message of a worker: one of the two is not nil. It refuses
// messages that are not known here.
func DecodeUp(data []byte) (*cluster.Hello, *cluster.Pulse, error) {
	x := gen.NewLinkUp()
	if err := unmarshal(data, x); err != nil {
		return nil, nil, err
	}
	if err := oneArm("LinkUp", x.Hello != nil, x.Pulse != nil); err != nil {
		return nil, nil, fmt.Errorf("wire: %w", err)
	}
	if x.Hello != nil {
		return helloFromThrift(x.Hello), nil, nil
	}
	pulse, err := pulseFromThrift(x.Pulse)
	if err != nil {
		return nil, nil, fmt.Errorf("wire: pulse: %w", err)
	}
	return nil, pulse, nil
}

// EncodeDown is a message to a worker. It fails for a status or an action on a
// log level that is none.
func EncodeDown(o cluster.Orders) ([]byte, error) {
	x, err := ordersToThrift(o)
	if err != nil {
		return nil, fmt.Errorf("wire: orders: %w", err)
	}
	return marshal(&gen.LinkDown{Orders: x})
}

// DecodeDown reads a message to a worker. It refuses messages that are not
// known here.
func DecodeDown(data []byte) (cluster.Orders, error) {
	x := gen.NewLinkDown()
	if err := unmarshal(data, x); err != nil {
		return cluster.Orders{}, err
	}
	if err := oneArm("LinkDown", x.Orders != nil); err != nil {
		return cluster.Orders{}, fmt.Errorf("wire: %w", err)
	}
	o, err := ordersFromThrift(x.Orders)
	if err != nil {
		return cluster.Orders{}, fmt.Errorf("wire: orders: %w", err)
	}
	return o, nil
}

func helloToThrift(h *cluster.Hello) *gen.LinkHello {
	return &gen.LinkHello{
		Protocol:   clamp(h.Protocol),
		TopologyID: string(h.Topology),
		Port:       clamp(h.Port),
		WorkerID:   h.Worker,
		Pid:        clamp(h.PID),
		Program:    optional(h.Program),
	}
}

func helloFromThrift(x *gen.LinkHello) *cluster.Hello {
	return &cluster.Hello{
		Protocol: int(x.Protocol),
		Topology: cluster.TopologyID(x.TopologyID),
		Port:     cluster.Port(x.Port),
		Worker:   x.WorkerID,
		PID:      int(x.Pid),
		Program:  value(x.Program),
	}
}

func pulseToThrift(p *cluster.Pulse) (*gen.LinkPulse, error) {
	executors, err := tried("executors", p.Executors, executorReportToThrift)
	if err != nil {
		return nil, err
	}
	return &gen.LinkPulse{
		TimeMs:     p.TimeMS,
		UptimeSecs: clamp(p.UptimeSecs),
		Executors:  executors,
		Errors:     required(p.Errors, taskErrorToThrift),
		Failure:    optional(p.Failure),
	}, nil
}

func pulseFromThrift(x *gen.LinkPulse) (*cluster.Pulse, error) {
	executors, err := tried("executors", x.Executors, executorReportFromThrift)
	if err != nil {
		return nil, err
	}
	return &cluster.Pulse{
		TimeMS:     x.TimeMs,
		UptimeSecs: int(x.UptimeSecs),
		Executors:  executors,
		Errors:     required(x.Errors, taskErrorFromThrift),
		Failure:    value(x.Failure),
	}, nil
}

func taskErrorToThrift(e cluster.TaskError) *gen.LinkError {
	return &gen.LinkError{ComponentID: e.Component, Task: clamp(e.Task), Text: e.Text, TimeMs: e.TimeMS}
}

func taskErrorFromThrift(x *gen.LinkError) cluster.TaskError {
	return cluster.TaskError{Component: x.ComponentID, Task: int(x.Task), Text: x.Text, TimeMS: x.TimeMs}
}

func ordersToThrift(o cluster.Orders) (*gen.LinkOrders, error) {
	status, err := statusToThrift(o.Status)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	x := &gen.LinkOrders{
		Status:    status,
		Version:   o.Version,
		Placement: required(o.Placement, placeToThrift),
		Stop:      optional(o.Stop),
		Ring:      optional(o.Ring),
	}
	if o.Log != nil {
		if x.LogConfig, err = LogConfigToThrift(o.Log); err != nil {
			return nil, err
		}
	}
	if o.Credentials != nil {
		x.Credentials = CredentialsToThrift(*o.Credentials)
	}
	return x, nil
}

func ordersFromThrift(x *gen.LinkOrders) (cluster.Orders, error) {
	status, err := statusFromThrift(x.Status)
	if err != nil {
		return cluster.Orders{}, fmt.Errorf("status: %w", err)
	}
	o := cluster.Orders{
		Status:    status,
		Version:   x.Version,
		Placement: required(x.Placement, placeFromThrift),
		Stop:      value(x.Stop),
		Ring:      value(x.Ring),
	}
	if x.LogConfig != nil {
		if o.Log, err = LogConfigFromThrift(x.LogConfig); err != nil {
			return cluster.Orders{}, err
		}
	}
	if x.Credentials != nil {
		o.Credentials = new(CredentialsFromThrift(x.Credentials))
	}
	return o, nil
}

func placeToThrift(p cluster.Place) *gen.LinkPlacement {
	return &gen.LinkPlacement{
		Executor:     executorToThrift(p.Executor),
		SupervisorID: string(p.Slot.Supervisor),
		Host:         p.Host,
		Port:         clamp(p.Slot.Port),
	}
}

func placeFromThrift(x *gen.LinkPlacement) cluster.Place {
	return cluster.Place{
		Executor: executorFromThrift(x.Executor),
		Slot:     cluster.Slot{Supervisor: cluster.SupervisorID(x.SupervisorID), Port: cluster.Port(x.Port)},
		Host:     x.Host,
	}
}
