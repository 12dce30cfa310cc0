package assignment

import (
	"context"
	"errors"
	"fmt"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/thrift/gen/storm"
)

// Nimbus is the part of Storm's service Nimbus that is not in storm.Nimbus.
type Nimbus interface {
	// GetSupervisorAssignments are the assignments of one supervisor. It may
	// fail with *storm.AuthorizationException.
	GetSupervisorAssignments(ctx context.Context, node string) (ByTopology, error)
}

// Supervisor is the part of Storm's service Supervisor that is not in
// storm.Supervisor. The methods may fail with *storm.AuthorizationException.
type Supervisor interface {
	// SendSupervisorAssignments hands over all assignments of the supervisor.
	SendSupervisorAssignments(ctx context.Context, assignments ByTopology) error
	// GetLocalAssignmentForStorm is a topology's assignment. It may fail with
	// *storm.NotAliveException too.
	GetLocalAssignmentForStorm(ctx context.Context, id string) (*Assignment, error)
}

const (
	getSupervisorAssignments   = "getSupervisorAssignments"
	sendSupervisorAssignments  = "sendSupervisorAssignments"
	getLocalAssignmentForStorm = "getLocalAssignmentForStorm"
)

// AddNimbus adds h's methods to a processor, such as one of storm.Stormring.
func AddNimbus(p apache.TProcessor, h Nimbus) {
	p.AddToProcessorMap(getSupervisorAssignments, function(getSupervisorAssignments, nil,
		func(ctx context.Context, node *text) (apache.TStruct, error) {
			found, err := h.GetSupervisorAssignments(ctx, string(*node))
			return &found, err
		}))
}

// AddSupervisor adds h's methods to a processor, such as one of
// storm.Supervisor.
func AddSupervisor(p apache.TProcessor, h Supervisor) {
	p.AddToProcessorMap(sendSupervisorAssignments, function(sendSupervisorAssignments, nil,
		func(ctx context.Context, all *ByTopology) (apache.TStruct, error) {
			return nil, h.SendSupervisorAssignments(ctx, *all)
		}))
	p.AddToProcessorMap(getLocalAssignmentForStorm, function(getLocalAssignmentForStorm, notAlive,
		func(ctx context.Context, id *text) (apache.TStruct, error) {
			found, err := h.GetLocalAssignmentForStorm(ctx, string(*id))
			if found == nil {
				return nil, err // not a nil in an interface
			}
			return found, err
		}))
}

// GetSupervisorAssignments asks a nimbus for the assignments of a supervisor.
func GetSupervisorAssignments(ctx context.Context, c apache.TClient, node string) (ByTopology, error) {
	var found ByTopology
	id := text(node)
	err := call(ctx, c, getSupervisorAssignments, &id, &found, nil)
	return found, err
}

// SendSupervisorAssignments hands a supervisor all of its assignments.
func SendSupervisorAssignments(ctx context.Context, c apache.TClient, all ByTopology) error {
	return call(ctx, c, sendSupervisorAssignments, &all, nil, nil)
}

// GetLocalAssignmentForStorm asks a supervisor for a topology's assignment.
func GetLocalAssignmentForStorm(ctx context.Context, c apache.TClient, topology string) (*Assignment, error) {
	id, found := text(topology), new(Assignment)
	if err := call(ctx, c, getLocalAssignmentForStorm, &id, found, notAlive); err != nil {
		return nil, err
	}
	return found, nil
}

// text is a string argument: it is read and written as a value of field 1.
type text string

// exceptions has an empty exception for each id under which a method declares
// one; nil stands for storm.AuthorizationException as 1.
type exceptions func(id int16) apache.TStruct

func unauthorized(id int16) apache.TStruct {
	if id == 1 {
		return storm.NewAuthorizationException()
	}
	return nil
}

func notAlive(id int16) apache.TStruct {
	switch id {
	case 1:
		return storm.NewNotAliveException()
	case 2:
		return storm.NewAuthorizationException()
	default:
		return nil
	}
}

// idOf is under which id a method with these exceptions declares err; 0 if it
// does not.
func (x exceptions) idOf(err error) (int16, apache.TStruct) {
	for id := int16(1); ; id++ {
		switch x(id).(type) {
		case *storm.AuthorizationException:
			if e, ok := errors.AsType[*storm.AuthorizationException](err); ok {
				return id, e
			}
		case *storm.NotAliveException:
			if e, ok := errors.AsType[*storm.NotAliveException](err); ok {
				return id, e
			}
		default:
			return 0, nil
		}
	}
}

// arguments is a struct with one field, 1, that has a method's only argument.
type arguments struct{ value any }

// Read reads the argument. It must be there: no assignments because of a slip
// would end a supervisor's workers.
func (a *arguments) Read(ctx context.Context, p apache.TProtocol) error {
	read := false
	err := readFields(ctx, p, func(id int16, kind apache.TType) (known bool, err error) {
		if id != 1 {
			return false, nil
		}
		if s, ok := a.value.(*text); ok {
			known, err = typed(kind, apache.STRING, func() error {
				v, err := p.ReadString(ctx)
				*s = text(v)
				return err
			})
		} else {
			known, err = typed(kind, apache.STRUCT, func() error { return a.value.(apache.TStruct).Read(ctx, p) })
		}
		read = read || known
		return known, err
	})
	if err == nil && !read {
		err = missing("1")
	}
	return err
}

// Write writes the argument.
func (a *arguments) Write(ctx context.Context, p apache.TProtocol) error {
	f := field{"argument", apache.STRUCT, 1, func() error { return a.value.(apache.TStruct).Write(ctx, p) }}
	if s, ok := a.value.(*text); ok {
		f = field{"argument", apache.STRING, 1, func() error { return p.WriteString(ctx, string(*s)) }}
	}
	return writeFields(ctx, p, "arguments", f)
}

// result is a struct with the answer in field 0 or an exception in another; one
// of neither is the answer of a method without result.
type result struct {
	success apache.TStruct // nil: the method has none
	is      exceptions
	id      int16 // 0: success
	failure apache.TStruct
	read    bool // success or failure
}

// Read reads an answer.
func (r *result) Read(ctx context.Context, p apache.TProtocol) error {
	return readFields(ctx, p, func(id int16, kind apache.TType) (bool, error) {
		into := r.success
		if id != 0 {
			into = r.is(id)
		}
		if into == nil {
			return false, nil
		}
		return typed(kind, apache.STRUCT, func() error {
			r.read = true
			if id != 0 {
				r.id, r.failure = id, into
			}
			return into.Read(ctx, p)
		})
	})
}

// Write writes an answer.
func (r *result) Write(ctx context.Context, p apache.TProtocol) error {
	value := r.success
	if r.id != 0 {
		value = r.failure
	}
	if value == nil {
		return writeFields(ctx, p, "result")
	}
	return writeFields(ctx, p, "result", field{"result", apache.STRUCT, r.id, func() error { return value.Write(ctx, p) }})
}

// method serves one method with an argument of type *A.
type method[A any] struct {
	name string
	is   exceptions
	run  func(context.Context, *A) (apache.TStruct, error)
}

func function[A any](name string, is exceptions, run func(context.Context, *A) (apache.TStruct, error)) apache.TProcessorFunction {
	if is == nil {
		is = unauthorized
	}
	return &method[A]{name: name, is: is, run: run}
}

// Process answers one request, as the generated code does.
func (m *method[A]) Process(ctx context.Context, seq int32, in, out apache.TProtocol) (bool, apache.TException) {
	arg := new(A)
	if err := (&arguments{arg}).Read(ctx, in); err != nil {
		e := apache.NewTApplicationException(apache.PROTOCOL_ERROR, err.Error())
		return false, m.reply(ctx, seq, out, apache.EXCEPTION, e, err)
	}
	success, err := m.run(ctx, arg)
	if err == nil {
		failed := m.reply(ctx, seq, out, apache.REPLY, &result{success: success}, nil)
		return failed == nil, failed
	}
	if id, declared := m.is.idOf(err); id != 0 {
		return true, m.reply(ctx, seq, out, apache.REPLY, &result{id: id, failure: declared}, err)
	}
	e := apache.NewTApplicationException(apache.INTERNAL_ERROR, "Internal error processing "+m.name)
	return true, m.reply(ctx, seq, out, apache.EXCEPTION, e, err)
}

// reply writes an answer. It returns what went wrong with that, or else err.
func (m *method[A]) reply(ctx context.Context, seq int32, out apache.TProtocol, kind apache.TMessageType,
	body interface {
		Write(context.Context, apache.TProtocol) error
	}, err error,
) apache.TException {
	failed := inOrder(out.WriteMessageBegin(ctx, m.name, kind, seq), body.Write(ctx, out), out.WriteMessageEnd(ctx), out.Flush(ctx))
	if failed != nil {
		err = fmt.Errorf("write the answer: %w", failed)
	}
	if err == nil {
		return nil
	}
	return apache.WrapTException(err)
}

// call makes a call; answer is nil for a method without result.
func call(ctx context.Context, c apache.TClient, name string, arg any, answer apache.TStruct, is exceptions) error {
	if is == nil {
		is = unauthorized
	}
	r := &result{success: answer, is: is}
	if _, err := c.Call(ctx, name, &arguments{arg}, r); err != nil {
		return err
	}
	if err, ok := r.failure.(error); ok {
		return err
	}
	if answer != nil && !r.read {
		return apache.NewTApplicationException(apache.MISSING_RESULT, name+" failed: unknown result")
	}
	return nil
}
