package assignment_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"reflect"
	"strings"
	"testing"

	apache "github.com/apache/thrift/lib/go/thrift"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/thrift"
	"github.com/stormring/stormring/thrift/assignment"
	"github.com/stormring/stormring/thrift/gen/storm"
)

func sample() *assignment.Assignment {
	a, b := assignment.Slot{Node: "s1", Port: 6700}, assignment.Slot{Node: "s2", Port: 6701}
	return &assignment.Assignment{
		MasterCodeDir: "dir",
		NodeHost:      map[string]string{"s1": "h1", "s2": "h2"},
		Executors:     map[assignment.Executor]assignment.Slot{{First: 1, Last: 1}: a, {First: 2, Last: 4}: b},
		StartSecs:     map[assignment.Executor]int64{{First: 1, Last: 1}: 1700000000, {First: 2, Last: 4}: 5},
		Resources:     map[assignment.Slot]*storm.WorkerResources{a: {MemOnHeap: new(128.0), Resources: map[string]float64{"cpu": 1}}},
		SharedOffHeap: map[string]float64{"s1": 1.5},
		Owner:         "ada",
	}
}

// The bytes are put together by hand from the interface's table.
func TestBytes(t *testing.T) {
	const (
		s1        = "\x0b\x00\x01\x00\x00\x00\x02s1" + "\x0e\x00\x02\x0a\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x1a\x2c" + "\x00"
		executor  = "\x0a\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x04"
		codeDir   = "\x0b\x00\x01\x00\x00\x00\x03dir"
		nodeHost  = "\x0d\x00\x02\x0b\x0b\x00\x00\x00\x01\x00\x00\x00\x02s1\x00\x00\x00\x02h1"
		nodePort  = "\x0d\x00\x03\x0f\x0c\x00\x00\x00\x01" + executor + s1
		start     = "\x0d\x00\x04\x0f\x0a\x00\x00\x00\x01" + executor + "\x00\x00\x00\x00\x00\x00\x00\x07"
		resources = "\x0d\x00\x05\x0c\x0c\x00\x00\x00\x01" + s1 + "\x04\x00\x03\x3f\xf0\x00\x00\x00\x00\x00\x00\x00"
		shared    = "\x0d\x00\x06\x0b\x04\x00\x00\x00\x00"
		owner     = "\x0b\x00\x07\x00\x00\x00\x01o"
	)
	slot, e := assignment.Slot{Node: "s1", Port: 6700}, assignment.Executor{First: 2, Last: 4}
	a := &assignment.Assignment{
		MasterCodeDir: "dir", NodeHost: map[string]string{"s1": "h1"},
		Executors: map[assignment.Executor]assignment.Slot{e: slot}, StartSecs: map[assignment.Executor]int64{e: 7},
		Resources: map[assignment.Slot]*storm.WorkerResources{slot: {CPU: new(1.0)}}, Owner: "o",
	}
	got, err := thrift.Marshal(a)
	want := codeDir + nodeHost + nodePort + start + resources + shared + owner + "\x00"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%x\nwant\n%x", err, got, want)
	}

	// Order, unknown fields and fields of another type do not matter.
	var back assignment.Assignment
	err = thrift.Unmarshal([]byte(owner+"\x0d\x00\x63\x0b\x0b\x00\x00\x00\x00"+start+nodePort+"\x08\x00\x02\x00\x00\x00\x00"+codeDir+"\x00"), &back)
	if err != nil || back.Owner != "o" || back.Executors[e] != slot || back.StartSecs[e] != 7 || back.NodeHost != nil {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestForeignAssignments(t *testing.T) {
	const codeDir = "\x0b\x00\x01\x00\x00\x00\x00"
	for _, c := range []struct{ name, bytes, want string }{
		{"empty", "", "EOF"},
		{"no code dir", "\x00", "required field master_code_dir is not set"},
		{"three tasks", codeDir + "\x0d\x00\x04\x0f\x0a\x00\x00\x00\x01\x0a\x00\x00\x00\x03" + strings.Repeat("\x00", 40), "a list of two i64, not of 3 I64"},
		{"i32 tasks", codeDir + "\x0d\x00\x04\x0f\x0a\x00\x00\x00\x01\x08\x00\x00\x00\x02" + strings.Repeat("\x00", 40), "a list of two i64, not of 2 I32"},
		{"no port", codeDir + "\x0d\x00\x05\x0c\x0c\x00\x00\x00\x01\x0b\x00\x01\x00\x00\x00\x00\x0e\x00\x02\x0a\x00\x00\x00\x00\x00\x00\x00", "has 0 ports"},
		{"other map", codeDir + "\x0d\x00\x02\x0b\x08\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", "a map of STRING to I32 where STRING to STRING belongs"},
		{"huge map", codeDir + "\x0d\x00\x02\x0b\x0b\x7f\xff\xff\xff\x00", "field 2"},
	} {
		err := thrift.Unmarshal([]byte(c.bytes), new(assignment.Assignment))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := thrift.Marshal((*assignment.Assignment)(nil)); err == nil {
		t.Error("nil is written")
	}
}

// Whatever is written is read back the same, and equal ones give equal bytes.
func TestRoundTrip(t *testing.T) {
	text, number := rapid.StringN(0, 5, -1), rapid.Int64()
	executor := rapid.Custom(func(t *rapid.T) assignment.Executor {
		return assignment.Executor{First: number.Draw(t, "first"), Last: number.Draw(t, "last")}
	})
	slot := rapid.Custom(func(t *rapid.T) assignment.Slot {
		return assignment.Slot{Node: text.Draw(t, "node"), Port: number.Draw(t, "port")}
	})
	resources := rapid.Custom(func(t *rapid.T) *storm.WorkerResources {
		return &storm.WorkerResources{CPU: new(rapid.Float64().Draw(t, "cpu"))}
	})
	rapid.Check(t, func(t *rapid.T) {
		all := assignment.ByTopology(rapid.MapOfN(text, rapid.Custom(func(t *rapid.T) *assignment.Assignment {
			return &assignment.Assignment{
				MasterCodeDir: text.Draw(t, "dir"), Owner: text.Draw(t, "owner"),
				NodeHost:      rapid.MapOfN(text, text, 0, 4).Draw(t, "hosts"),
				Executors:     rapid.MapOfN(executor, slot, 0, 4).Draw(t, "executors"),
				StartSecs:     rapid.MapOfN(executor, number, 0, 4).Draw(t, "starts"),
				Resources:     rapid.MapOfN(slot, resources, 0, 4).Draw(t, "resources"),
				SharedOffHeap: rapid.MapOfN(text, rapid.Float64(), 0, 4).Draw(t, "shared"),
			}
		}), 0, 3).Draw(t, "all"))
		data, err := thrift.Marshal(&all)
		if err != nil {
			t.Fatal(err)
		}
		var back assignment.ByTopology
		if err = thrift.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(all, back) {
			t.Fatalf("%v\n%v\n%v", err, all, back)
		}
		if again, err := thrift.Marshal(&back); err != nil || !bytes.Equal(data, again) {
			t.Fatalf("%v\n%x\n%x", err, data, again)
		}
	})
}

func FuzzAssignment(f *testing.F) {
	data, err := thrift.Marshal(sample())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	data, err = thrift.Marshal(&assignment.ByTopology{"wc-1-2": sample()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		var all assignment.ByTopology
		_ = thrift.Unmarshal(data, &all)
		var a, again assignment.Assignment
		if thrift.Unmarshal(data, &a) != nil {
			return
		}
		written, err := thrift.Marshal(&a)
		if err != nil {
			t.Fatal(err)
		}
		if err = thrift.Unmarshal(written, &again); err != nil {
			t.Fatal(err)
		}
		// Not compared as they are: NaN differs from itself.
		if len(a.Executors) != len(again.Executors) || len(a.Resources) != len(again.Resources) || a.Owner != again.Owner {
			t.Errorf("%+v became %+v", a, again)
		}
	})
}

// daemon is both a nimbus and a supervisor.
type daemon struct {
	storm.Stormring
	got assignment.ByTopology
	err error
}

func (d *daemon) GetSupervisorAssignments(_ context.Context, node string) (assignment.ByTopology, error) {
	if node != "s1" {
		return nil, d.err
	}
	return assignment.ByTopology{"wc-1-2": sample()}, nil
}

func (d *daemon) SendSupervisorAssignments(_ context.Context, all assignment.ByTopology) error {
	d.got = all
	return d.err
}

func (d *daemon) GetLocalAssignmentForStorm(_ context.Context, id string) (*assignment.Assignment, error) {
	if id != "wc-1-2" {
		return nil, d.err
	}
	return sample(), nil
}

func serve(t *testing.T, d *daemon) *thrift.Conn {
	t.Helper()
	p := storm.NewStormringProcessor(d)
	assignment.AddNimbus(p, d)
	assignment.AddSupervisor(p, d)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() {
		ended <- thrift.Serve(ctx, thrift.ServerConfig{
			Listener: l, Processor: p, Logger: slog.New(slog.DiscardHandler), MaxFrame: 1 << 20, Key: "k", Threads: 2,
		})
	}()
	conn, err := thrift.Dial(ctx, l.Addr().String(), thrift.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return conn
}

func TestCalls(t *testing.T) {
	d := &daemon{}
	c, ctx := serve(t, d), t.Context()
	want := assignment.ByTopology{"wc-1-2": sample()}
	if got, err := assignment.GetSupervisorAssignments(ctx, c, "s1"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := assignment.GetSupervisorAssignments(ctx, c, "s2"); err != nil || len(got) != 0 {
		t.Errorf("none: %v, %v", got, err)
	}
	if err := assignment.SendSupervisorAssignments(ctx, c, want); err != nil || !reflect.DeepEqual(d.got, want) {
		t.Errorf("%v, %v", d.got, err)
	}
	if got, err := assignment.GetLocalAssignmentForStorm(ctx, c, "wc-1-2"); err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("%v, %v", got, err)
	}

	_, err := assignment.GetLocalAssignmentForStorm(ctx, c, "no")
	wantApp(t, "null", err, apache.MISSING_RESULT, "getLocalAssignmentForStorm failed: unknown result")
	d.err = &storm.NotAliveException{Msg: "no such"}
	_, err = assignment.GetLocalAssignmentForStorm(ctx, c, "no")
	if e, ok := errors.AsType[*storm.NotAliveException](err); !ok || e.Msg != "no such" {
		t.Errorf("%v", err)
	}
	wantApp(t, "undeclared", assignment.SendSupervisorAssignments(ctx, c, want), apache.INTERNAL_ERROR,
		"Internal error processing sendSupervisorAssignments: no such")
	d.err = &storm.AuthorizationException{Msg: "not you"}
	_, local := assignment.GetLocalAssignmentForStorm(ctx, c, "no")
	_, ofNode := assignment.GetSupervisorAssignments(ctx, c, "no")
	for _, err := range []error{local, ofNode, assignment.SendSupervisorAssignments(ctx, c, want)} {
		if e, ok := errors.AsType[*storm.AuthorizationException](err); !ok || e.Msg != "not you" {
			t.Errorf("%v", err)
		}
	}
	d.err = errors.New("secret")
	wantApp(t, "internal", assignment.SendSupervisorAssignments(ctx, c, want), apache.INTERNAL_ERROR,
		"Internal error processing sendSupervisorAssignments")

	// Without an argument it would be an order to end all workers.
	d.got = want
	_, err = c.Call(ctx, "sendSupervisorAssignments", storm.NewNimbusGetLeaderArgs(), storm.NewNimbusActivateResult())
	wantApp(t, "no argument", err, apache.PROTOCOL_ERROR, "required field 1 is not set")
	if len(d.got) != 1 {
		t.Error("it was taken for an empty one")
	}
}

func wantApp(t *testing.T, what string, err error, code int32, text string) {
	t.Helper()
	e, ok := errors.AsType[apache.TApplicationException](err)
	if !ok || e.TypeId() != code || e.Error() != text {
		t.Errorf("%s: %v, want type %d %q", what, err, code, text)
	}
}
