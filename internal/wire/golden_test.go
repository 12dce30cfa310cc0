package wire

import (
	"bytes"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/thrift/assignment"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// hand are bytes of the binary protocol, written down from the numbers and
// types of Storm's fields: hexadecimal, and text in quotes, which is preceded
// by its length.
func hand(t *testing.T, text string) []byte {
	t.Helper()
	var out []byte
	for part := range strings.FieldsSeq(text) {
		if s, quoted := strings.CutPrefix(part, "'"); quoted {
			s = strings.TrimSuffix(s, "'")
			out = append(out, 0, 0, 0, byte(len(s)))
			out = append(out, s...)
			continue
		}
		b, err := hex.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

const (
	goldenBase = `0b0001 'wc'
		080002 00000002
		080003 00000003
		0d0004 0b08 00000002 'count' 00000002 'split' 00000004
		080005 70dcb6e5
		0b0006 'ann'
		0c0007 0c0001 080001 0000001e 00 00
		080008 00000001
		0d0009 0b0c 00000000
		00`
	goldenTopology = `0d0001 0b0c 00000001 'words'
			0c0001 0c0002 0b0001 'python3' 0b0002 'words.py' 00 00
			0c0002 0d0001 0c0c 00000000 0d0002 0b0c 00000001 'default' 0f0001 0b 00000001 'word' 020002 00 00 080003 00000002 00 00
		0d0002 0b0c 00000001 'count'
			0c0001 0c0003 0b0001 'go:count' 0f0002 0c 00000002 080001 00000007 00 0b0003 'x' 00 00 00
			0c0002 0d0001 0c0c 00000001 0b0001 'words' 0b0002 'default' 00 0f0001 0b 00000001 'word' 00
				0d0002 0b0c 00000000 0b0004 '{}' 00 00
		0d0003 0b0c 00000000
		0b0007 '2.8.8'
		00`
	goldenAssignment = `0b0001 ''
		0d0002 0b0b 00000001 's1' 'host1'
		0d0003 0f0c 00000001 0a 00000002 0000000000000001 0000000000000002 0b0001 's1' 0e0002 0a 00000001 0000000000001a2c 00
		0d0004 0f0a 00000001 0a 00000002 0000000000000001 0000000000000002 0000000000000007
		0d0005 0c0c 00000000
		0d0006 0b04 00000000
		0b0007 'ann'
		00`
	goldenLog = `0d0002 0b0c 00000001 'ROOT' 080001 00000002 0b0002 'DEBUG' 080003 0000001e 00 00`
	goldenUp  = `0c0001 080001 00000001 0b0002 'wc-1-2' 080003 00001a2c 0b0004 'w1' 080005 00000009 00 00`
)

func TestGoldenBytes(t *testing.T) {
	wait := 30
	base := cluster.Base{
		Name: "wc", Status: cluster.StatusInactive, Workers: 3, Executors: map[string]int{"split": 4, "count": 2},
		LaunchedSecs: 0x70dcb6e5, Owner: "ann", Kill: &cluster.KillOptions{WaitSecs: &wait}, Previous: cluster.StatusActive,
	}
	topology := cluster.Topology{StormVersion: "2.8.8", Components: map[string]cluster.Component{
		"words": {
			Kind: cluster.Spout, Object: cluster.Object{Shell: &cluster.Shell{Command: "python3", Script: "words.py"}},
			Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"word"}}}, Parallelism: 2,
		},
		"count": {
			Kind: cluster.Bolt, Object: cluster.Object{Class: &cluster.Class{Name: "go:count", Args: []any{int32(7), "x"}}},
			Inputs: []cluster.Input{{Component: "words", Stream: "default", Grouping: cluster.Grouping{Kind: cluster.GroupFields, Fields: []string{"word"}}}},
			Conf:   "{}",
		},
	}}
	record := cluster.AssignmentRecord{
		Hosts: map[cluster.SupervisorID]string{"s1": "host1"}, Owner: "ann",
		Assignment: cluster.Assignment{{Executor: cluster.Executor{First: 1, Last: 2}, Slot: cluster.Slot{Supervisor: "s1", Port: 6700}, StartSecs: 7}},
	}
	levels := cluster.LogConfig{"ROOT": {Action: cluster.LogLevelUpdate, Target: "DEBUG", TimeoutSecs: 30}}
	hello := cluster.Hello{Protocol: 1, Topology: "wc-1-2", Port: 6700, Worker: "w1", PID: 9}
	for _, c := range []struct {
		name, want string
		encode     func() ([]byte, error)
		decode     func([]byte) (any, error)
		noun       any
	}{
		{"base", goldenBase, func() ([]byte, error) { return EncodeBase(base) }, func(b []byte) (any, error) { return DecodeBase(b) }, base},
		{"topology", goldenTopology, func() ([]byte, error) { return EncodeTopology(topology) }, func(b []byte) (any, error) { return DecodeTopology(b) }, topology},
		{"assignment", goldenAssignment, func() ([]byte, error) { return EncodeAssignment(record) }, func(b []byte) (any, error) { return DecodeAssignment(b) }, record},
		{"log config", goldenLog, func() ([]byte, error) { return EncodeLogConfig(levels) }, func(b []byte) (any, error) { return DecodeLogConfig(b) }, levels},
		{"hello", goldenUp, func() ([]byte, error) { return EncodeUp(&hello, nil) }, func(b []byte) (any, error) {
			h, _, err := DecodeUp(b)
			return *h, err
		}, hello},
	} {
		want := hand(t, c.want)
		got, err := c.encode()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err = decompress(got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is\n%x, %v, want\n%x", c.name, got, err, want)
		}
		noun, err := c.decode(want)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		wantEqual(t, noun, c.noun)
	}
}

// What is not said is not written.
func TestUnsetStaysUnset(t *testing.T) {
	data, err := EncodeBase(cluster.Base{Name: "a", Status: cluster.StatusActive})
	if err != nil {
		t.Fatal(err)
	}
	if data, err = decompress(data); err != nil {
		t.Fatal(err)
	}
	if want := hand(t, `0b0001 'a' 080002 00000001 080003 00000000 0d0004 0b08 00000000 0d0009 0b0c 00000000 00`); !bytes.Equal(data, want) {
		t.Errorf("an empty base is\n%x, want\n%x", data, want)
	}
	if x := RebalanceOptionsToThrift(cluster.RebalanceOptions{}); x.IsSetWaitSecs() || x.IsSetNumWorkers() || x.IsSetNumExecutors() || x.IsSetTopologyConfOverrides() {
		t.Errorf("empty options of a rebalance are %v", x)
	}
	zero := 0
	if x := KillOptionsToThrift(cluster.KillOptions{WaitSecs: &zero}); x.WaitSecs == nil || *x.WaitSecs != 0 {
		t.Errorf("no wait at all becomes %v", x)
	}
}

func TestNumbersAreClamped(t *testing.T) {
	x, err := BaseToThrift(cluster.Base{Status: cluster.StatusActive, Workers: math.MaxInt, LaunchedSecs: 1 << 40})
	if err != nil || x.NumWorkers != math.MaxInt32 || *x.LaunchTimeSecs != math.MaxInt32 {
		t.Errorf("got %v, %v", x, err)
	}
	if got := clamp(int64(math.MinInt64)); got != math.MinInt32 {
		t.Errorf("clamp of the smallest is %d", got)
	}
}

func TestNilArgumentsAreFine(t *testing.T) {
	if o := KillOptionsFromThrift(nil); o.WaitSecs != nil {
		t.Errorf("kill: %+v", o)
	}
	if status, creds, err := SubmitOptionsFromThrift(nil); status != cluster.StatusActive || creds != nil || err != nil {
		t.Errorf("submit: %v, %v, %v", status, creds, err)
	}
	if c, err := ErrorsChoiceFromThrift(nil); c != cluster.AllErrors || err != nil {
		t.Errorf("errors: %v, %v", c, err)
	}
	if c := CredentialsFromThrift(nil); c.Values == nil {
		t.Error("credentials without a map")
	}
	if _, err := TopologyFromThrift(nil); err == nil {
		t.Error("no topology at all is taken for one")
	}
	if _, err := SupervisorReportFromThrift(nil); err == nil {
		t.Error("no report at all is taken for one")
	}
}

func TestSmallConversions(t *testing.T) {
	creds := &cluster.Credentials{Values: map[string]string{"a": "b"}}
	for _, status := range []cluster.TopologyStatus{cluster.StatusActive, cluster.StatusInactive} {
		x, err := SubmitOptionsToThrift(status, creds)
		if err != nil {
			t.Fatal(err)
		}
		got, gotCreds, err := SubmitOptionsFromThrift(x)
		if got != status || err != nil {
			t.Errorf("status is %v, %v, want %v", got, err, status)
		}
		wantEqual(t, gotCreds, creds)
	}
	for _, choice := range []cluster.ErrorsChoice{cluster.AllErrors, cluster.NoErrors, cluster.OneError} {
		if got, err := ErrorsChoiceFromThrift(ErrorsChoiceToThrift(choice)); got != choice || err != nil {
			t.Errorf("choice is %v, %v, want %v", got, err, choice)
		}
	}
	for _, st := range []cluster.Standing{cluster.Open, cluster.Cordoned, cluster.Drained} {
		if got, err := StandingFromThrift(StandingToThrift(st)); got != st || err != nil {
			t.Errorf("standing is %v, %v, want %v", got, err, st)
		}
	}
	beats := HeartbeatsFromThrift(&gen.SupervisorWorkerHeartbeats{SupervisorID: "s1", WorkerHeartbeats: []*gen.SupervisorWorkerHeartbeat{
		{StormID: "wc-1-2", TimeSecs: 1 << 33, Executors: []*gen.ExecutorInfo{{TaskStart: 1, TaskEnd: 2}}},
	}})
	wantEqual(t, beats, cluster.SupervisorReport{Supervisor: "s1", Workers: []cluster.WorkerReport{{
		Topology: "wc-1-2", TimeSecs: 1 << 33,
		Executors: []cluster.ExecutorReport{{Executor: cluster.Executor{First: 1, Last: 2}}},
	}}})
	nimbus := cluster.NimbusSummary{Host: "n1", Port: 6627, UptimeSecs: 5, Version: "2.8.8"}
	if got := NimbusSummaryFromThrift(NimbusSummaryToThrift(nimbus)); got != nimbus {
		t.Errorf("nimbus is %+v", got)
	}
}

// Refusals say what is wrong and where.
func TestRefusals(t *testing.T) {
	object := func(x *gen.ComponentObject) error {
		_, err := TopologyFromThrift(&gen.StormTopology{Bolts: map[string]*gen.Bolt{"b": {BoltObject: x, Common: &gen.ComponentCommon{}}}})
		return err
	}
	grouping := func(inputs map[*gen.GlobalStreamId]*gen.Grouping) error {
		_, err := TopologyFromThrift(&gen.StormTopology{Bolts: map[string]*gen.Bolt{"b": {
			BoltObject: &gen.ComponentObject{SerializedJava: []byte{}}, Common: &gen.ComponentCommon{Inputs: inputs},
		}}})
		return err
	}
	from := func() *gen.GlobalStreamId { return &gen.GlobalStreamId{ComponentId: "a", StreamId: "default"} }
	all := &gen.Grouping{All: &gen.NullStruct{}}
	spec := &gen.SpoutSpec{SpoutObject: &gen.ComponentObject{SerializedJava: []byte{1}}, Common: &gen.ComponentCommon{}}
	bolt := &gen.Bolt{BoltObject: spec.SpoutObject, Common: spec.Common}
	for want, err := range map[string]error{
		`wire: bolts["b"]: object: none of the arms of ComponentObject that are known here is set`:                                     object(&gen.ComponentObject{}),
		`wire: bolts["b"]: object: it is missing`:                                                                                      object(nil),
		`wire: bolts["b"]: object: 2 arms of ComponentObject are set, has to be one`:                                                   object(&gen.ComponentObject{SerializedJava: []byte{}, Shell: &gen.ShellComponent{}}),
		`wire: bolts["b"]: object: C: args_list[0]: none of the arms of JavaObjectArg that are known here is set`:                      object(&gen.ComponentObject{JavaObject: &gen.JavaObject{FullClassName: "C", ArgsList: []*gen.JavaObjectArg{{}}}}),
		`wire: bolts["b"]: grouping of stream "default" of "a": none of the arms of Grouping that are known here is set`:               grouping(map[*gen.GlobalStreamId]*gen.Grouping{from(): {}}),
		`wire: bolts["b"]: stream "default" of "a" is there twice`:                                                                     grouping(map[*gen.GlobalStreamId]*gen.Grouping{from(): all, from(): all}),
		`wire: state_spouts["s"]: there are no state spouts; use a spout`:                                                              second(TopologyFromThrift(&gen.StormTopology{StateSpouts: map[string]*gen.StateSpoutSpec{"s": {}}})),
		`wire: bolts["x"]: there is a spout with this id; rename one`:                                                                  second(TopologyFromThrift(&gen.StormTopology{Spouts: map[string]*gen.SpoutSpec{"x": spec}, Bolts: map[string]*gen.Bolt{"x": bolt}})),
		`wire: component "c": object: none of the arms of ComponentObject that are known here is set`:                                  second(TopologyToThrift(cluster.Topology{Components: map[string]cluster.Component{"c": {}}})),
		`wire: component "c": 0 is no kind of component`:                                                                               second(TopologyToThrift(cluster.Topology{Components: map[string]cluster.Component{"c": {Object: cluster.Object{Serialized: []byte{}}}}})),
		`wire: component "c": object: C: args_list[0]: a int cannot be an argument; use int32, int64, string, bool, []byte or float64`: second(TopologyToThrift(cluster.Topology{Components: map[string]cluster.Component{"c": {Object: cluster.Object{Class: &cluster.Class{Name: "C", Args: []any{1}}}}}})),
		`wire: status: 9 is no status of a topology`:                                                                                   second(BaseFromThrift(&gen.StormBase{Status: 9})),
		`wire: status: 0 is no status of a topology`:                                                                                   second(BaseToThrift(cluster.Base{})),
		`wire: prev_status: 9 is no status of a topology`:                                                                              second(BaseFromThrift(&gen.StormBase{Status: 1, PrevStatus: new(gen.TopologyStatus(9))})),
		`wire: topology_action_options: none of the arms of TopologyActionOptions that are known here is set`:                          second(BaseFromThrift(&gen.StormBase{Status: 1, TopologyActionOptions: &gen.TopologyActionOptions{}})),
		`wire: topology_action_options: a kill and a rebalance, has to be one`:                                                         second(BaseToThrift(cluster.Base{Status: 1, Kill: &cluster.KillOptions{}, Rebalance: &cluster.RebalanceOptions{}})),
		`wire: named_logger_level["ROOT"]: 4 is no action on a log level`:                                                              second(LogConfigFromThrift(&gen.LogConfig{NamedLoggerLevel: map[string]*gen.LogLevel{"ROOT": {Action: 4}}})),
		`wire: specific: none of the arms of ExecutorSpecificStats that are known here is set`:                                         second(ExecutorStatsFromThrift(&gen.ExecutorStats{Specific: &gen.ExecutorSpecificStats{}})),
		`wire: executor_node_port: [3,2] is no range of tasks`:                                                                         second(AssignmentFromThrift(&assignment.Assignment{Executors: map[assignment.Executor]assignment.Slot{{First: 3, Last: 2}: {}}})),
		`wire: executor [1,1] is placed twice, in a:1 and in b:2`: second(AssignmentToThrift(cluster.AssignmentRecord{Assignment: cluster.Assignment{
			{Executor: cluster.Executor{First: 1, Last: 1}, Slot: cluster.Slot{Supervisor: "a", Port: 1}},
			{Executor: cluster.Executor{First: 1, Last: 1}, Slot: cluster.Slot{Supervisor: "b", Port: 2}},
		}})),
		`wire: component_type: 7 is no kind of component`:                                            second(ComponentPageFromThrift(&gen.ComponentPageInfo{ComponentType: 7})),
		`wire: initial_status: 4 is no status to start with`:                                         second(SubmitOptionsToThrift(cluster.StatusKilled, nil)),
		`wire: num_err_choice: 3 is no choice of errors`:                                             second(ErrorsChoiceFromThrift(&gen.GetInfoOptions{NumErrChoice: new(gen.NumErrorsChoice(3))})),
		`wire: 3 is no standing of a supervisor`:                                                     second(StandingFromThrift(3)),
		`wire: 2 arms of LinkUp are set, has to be one`:                                              second(EncodeUp(&cluster.Hello{}, &cluster.Pulse{})),
		`wire: none of the arms of LinkDown that are known here is set`:                              second(DecodeDown([]byte{12, 0, 9, 0, 0})),
		`wire: orders: status: 0 is no status of a topology`:                                         second(EncodeDown(cluster.Orders{})),
		`wire: there is nothing to read`:                                                             second(DecodeBase(nil)),
		`wire: *storm.LinkDown: it ends at byte 1 of 2`:                                              second(DecodeDown([]byte{0, 0})),
		`wire: *storm.StormTopology: at byte 9: 2147483647 entries are announced, 1 bytes are left`:  second(DecodeTopology([]byte{13, 0, 1, 11, 12, 0x7f, 0xff, 0xff, 0xff, 11})),
		`wire: *storm.StormTopology: at byte 8: 2147483647 elements are announced, 1 bytes are left`: second(DecodeTopology([]byte{15, 0, 5, 11, 0x7f, 0xff, 0xff, 0xff, 11})),
		`wire: *storm.StormTopology: at byte 3: 5 is no type of Thrift`:                              second(DecodeTopology([]byte{5, 0, 1, 0})),
		`wire: *storm.StormTopology: at byte 195: values are more than 64 deep within values`:        second(DecodeTopology(bytes.Repeat([]byte{12, 0, 1}, 100))),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error is\n%v, want\n%s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }
