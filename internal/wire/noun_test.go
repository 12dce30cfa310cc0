package wire

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	apache "github.com/apache/thrift/lib/go/thrift"
	"pgregory.net/rapid"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// draw is any T that can be said: numbers in the range of i32, floats that are
// numbers, and enumerations that there are.
func draw[T any](t *rapid.T, what string) T {
	v := rapid.Make[T]().Draw(t, what)
	tame(reflect.ValueOf(&v).Elem())
	return v
}

func tame(v reflect.Value) {
	switch x := v.Addr().Interface().(type) {
	case *cluster.TopologyStatus:
		*x = 1 + *x%4
		return
	case *cluster.LogLevelAction:
		*x = 1 + *x%3
		return
	case *cluster.ComponentKind:
		*x = 1 + *x%2
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(int32(v.Int())))
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			v.SetFloat(1)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			tame(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			tame(field)
		}
	case reflect.Slice:
		for i := range v.Len() {
			tame(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() {
			return
		}
		out := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.Set(it.Key())
			value.Set(it.Value())
			tame(key)
			tame(value)
			out.SetMapIndex(key, value)
		}
		v.Set(out)
	default:
	}
}

// equal compares as reflect.DeepEqual does, but nothing at all is like an empty
// slice or map.
func equal(a, b reflect.Value) bool {
	if a.IsValid() != b.IsValid() || a.IsValid() && a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Pointer, reflect.Interface:
		return a.IsNil() == b.IsNil() && (a.IsNil() || equal(a.Elem(), b.Elem()))
	case reflect.Slice:
		if a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case reflect.Map:
		if a.Len() != b.Len() {
			return false
		}
		for it := a.MapRange(); it.Next(); {
			if other := b.MapIndex(it.Key()); !other.IsValid() || !equal(it.Value(), other) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(a.Interface(), b.Interface())
	}
}

func wantEqual[T any](t rapid.TB, got, want T) {
	t.Helper()
	if !equal(reflect.ValueOf(&got).Elem(), reflect.ValueOf(&want).Elem()) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

// roundTrip checks that a noun comes back from its bytes, and that the same
// noun becomes the same bytes. expect is what comes back of what was said.
func roundTrip[T any](t *testing.T, encode func(T) ([]byte, error), decode func([]byte) (T, error), drawn func(*rapid.T) T, expect func(T) T) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		v := drawn(t)
		data, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if expect != nil {
			v = expect(v)
		}
		wantEqual(t, got, v)
		again, err := encode(got)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, data) {
			t.Fatalf("written again it is\n%x, not\n%x", again, data)
		}
	})
}

// through is encode and decode of a noun that has no bytes of its own.
func through[T any, X apache.TStruct](to func(T) (X, error), empty func() X, from func(X) (T, error)) (func(T) ([]byte, error), func([]byte) (T, error)) {
	encode := func(v T) ([]byte, error) {
		x, err := to(v)
		if err != nil {
			return nil, err
		}
		return marshal(x)
	}
	decode := func(data []byte) (T, error) {
		x := empty()
		if err := unmarshal(data, x); err != nil {
			var zero T
			return zero, err
		}
		return from(x)
	}
	return encode, decode
}

func surely[A, B any](f func(A) B) func(A) (B, error) {
	return func(a A) (B, error) { return f(a), nil }
}

func drawObject(t *rapid.T) cluster.Object {
	switch rapid.IntRange(0, 2).Draw(t, "object") {
	case 0:
		return cluster.Object{Serialized: notNil(rapid.SliceOf(rapid.Byte()).Draw(t, "serialized"))}
	case 1:
		return cluster.Object{Shell: new(draw[cluster.Shell](t, "shell"))}
	default:
		return cluster.Object{Class: drawClass(t)}
	}
}

func drawClass(t *rapid.T) *cluster.Class {
	return &cluster.Class{
		Name: rapid.String().Draw(t, "class"),
		Args: rapid.SliceOfN(rapid.OneOf(
			rapid.Int32().AsAny(), rapid.Int64().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(),
			rapid.SliceOf(rapid.Byte()).AsAny(), rapid.Float64().AsAny()), 0, 4).Draw(t, "args"),
	}
}

func drawGrouping(t *rapid.T) cluster.Grouping {
	g := cluster.Grouping{Kind: cluster.GroupingKind(rapid.IntRange(1, 8).Draw(t, "grouping"))}
	switch g.Kind {
	case cluster.GroupFields:
		g.Fields = rapid.SliceOf(rapid.String()).Draw(t, "fields")
	case cluster.GroupCustomObject:
		g.Class = drawClass(t)
	case cluster.GroupCustomSerialized:
		g.Serialized = rapid.SliceOf(rapid.Byte()).Draw(t, "serialized")
	default:
	}
	return g
}

func drawTopology(t *rapid.T) cluster.Topology {
	topology := cluster.Topology{
		WorkerHooks:           draw[[][]byte](t, "hooks"),
		DependencyJars:        draw[[]string](t, "jars"),
		DependencyArtifacts:   draw[[]string](t, "artifacts"),
		StormVersion:          rapid.String().Draw(t, "storm"),
		JDKVersion:            rapid.String().Draw(t, "jdk"),
		ComponentSharedMemory: draw[map[string][]string](t, "uses"),
		SharedMemory:          draw[map[string]cluster.SharedMemory](t, "shared"),
		Components:            map[string]cluster.Component{},
	}
	for _, id := range rapid.SliceOfNDistinct(rapid.String(), 0, 4, rapid.ID).Draw(t, "ids") {
		c := cluster.Component{
			Kind:        draw[cluster.ComponentKind](t, "kind"),
			Object:      drawObject(t),
			Streams:     draw[map[string]storm.StreamSpec](t, "streams"),
			Parallelism: int(rapid.Int32().Draw(t, "parallelism")),
			Conf:        rapid.String().Draw(t, "conf"),
		}
		for _, s := range rapid.SliceOfNDistinct(rapid.Make[cluster.StreamID](), 0, 3, rapid.ID).Draw(t, "inputs") {
			c.Inputs = append(c.Inputs, cluster.Input{Component: s.Component, Stream: s.Stream, Grouping: drawGrouping(t)})
		}
		slices.SortFunc(c.Inputs, cluster.Input.Compare)
		topology.Components[id] = c
	}
	return topology
}

func sortedMemory(t cluster.Topology) cluster.Topology {
	for id, names := range t.ComponentSharedMemory {
		t.ComponentSharedMemory[id] = uniqueNames(names)
	}
	return t
}

func TestTopology(t *testing.T) {
	roundTrip(t, EncodeTopology, DecodeTopology, drawTopology, sortedMemory)
	roundTrip(t, EncodeCode, DecodeCode, drawTopology, sortedMemory)
}

func drawBase(t *rapid.T) cluster.Base {
	b := draw[cluster.Base](t, "base")
	if rapid.Bool().Draw(t, "nothing before") {
		b.Previous = 0
	}
	if b.Kill != nil {
		b.Rebalance = nil
	}
	return b
}

func TestBase(t *testing.T) { roundTrip(t, EncodeBase, DecodeBase, drawBase, nil) }

func drawAssignment(t *rapid.T) cluster.AssignmentRecord {
	r := draw[cluster.AssignmentRecord](t, "assignment")
	for i := range r.Assignment {
		e := &r.Assignment[i].Executor
		e.First, e.Last = min(e.First, e.Last), max(e.First, e.Last)
	}
	r.Assignment.Sort()
	r.Assignment = slices.CompactFunc(r.Assignment, func(a, b cluster.Placement) bool { return a.Executor == b.Executor })
	return r
}

func TestAssignment(t *testing.T) {
	roundTrip(t, EncodeAssignment, DecodeAssignment, drawAssignment, nil)
}

func TestRecords(t *testing.T) {
	roundTrip(t, EncodeSupervisor, DecodeSupervisor, func(t *rapid.T) cluster.SupervisorRecord {
		return draw[cluster.SupervisorRecord](t, "supervisor")
	}, func(r cluster.SupervisorRecord) cluster.SupervisorRecord {
		slices.Sort(r.Ports)
		slices.Sort(r.UsedPorts)
		return r
	})
	roundTrip(t, EncodeNimbus, DecodeNimbus, func(t *rapid.T) cluster.NimbusRecord {
		return draw[cluster.NimbusRecord](t, "nimbus")
	}, nil)
	roundTrip(t, EncodeCredentials, DecodeCredentials, func(t *rapid.T) cluster.Credentials {
		return draw[cluster.Credentials](t, "credentials")
	}, nil)
	roundTrip(t, EncodeLogConfig, DecodeLogConfig, func(t *rapid.T) cluster.LogConfig {
		return draw[cluster.LogConfig](t, "levels")
	}, nil)
	roundTrip(t, EncodeError, DecodeError, func(t *rapid.T) cluster.ErrorRecord {
		return draw[cluster.ErrorRecord](t, "error")
	}, nil)
}

func TestOptions(t *testing.T) {
	encode, decode := through(surely(KillOptionsToThrift), gen.NewKillOptions, surely(KillOptionsFromThrift))
	roundTrip(t, encode, decode, func(t *rapid.T) cluster.KillOptions { return draw[cluster.KillOptions](t, "kill") }, nil)
	encodeR, decodeR := through(surely(RebalanceOptionsToThrift), gen.NewRebalanceOptions, surely(RebalanceOptionsFromThrift))
	roundTrip(t, encodeR, decodeR, func(t *rapid.T) cluster.RebalanceOptions {
		return draw[cluster.RebalanceOptions](t, "rebalance")
	}, nil)
	encodeD, decodeD := through(surely(DebugOptionsToThrift), gen.NewDebugOptions, surely(DebugOptionsFromThrift))
	roundTrip(t, encodeD, decodeD, func(t *rapid.T) cluster.DebugOptions { return draw[cluster.DebugOptions](t, "debug") }, nil)
}

func drawStats(t *rapid.T) *cluster.ExecutorStats {
	s := draw[cluster.ExecutorStats](t, "stats")
	if s.Bolt == nil && s.Spout == nil {
		s.Bolt = &cluster.BoltStats{}
	}
	if s.Bolt != nil {
		s.Spout = nil
	}
	return &s
}

// filled is s with all windows, as it is on the wire.
func filled(s *cluster.ExecutorStats) *cluster.ExecutorStats {
	if s == nil {
		return nil
	}
	out := &cluster.ExecutorStats{Emitted: windowed(s.Emitted), Transferred: windowed(s.Transferred), Rate: s.Rate}
	if b := s.Bolt; b != nil {
		out.Bolt = &cluster.BoltStats{
			Acked: windowed(b.Acked), Failed: windowed(b.Failed), Executed: windowed(b.Executed),
			ProcessMS: windowed(b.ProcessMS), ExecuteMS: windowed(b.ExecuteMS),
		}
	} else {
		out.Spout = &cluster.SpoutStats{
			Acked: windowed(s.Spout.Acked), Failed: windowed(s.Spout.Failed), CompleteMS: windowed(s.Spout.CompleteMS),
		}
	}
	return out
}

func windowed[M ~map[string]V, V any](m M) M {
	out := M{}
	for _, w := range []string{"600", "10800", "86400", ":all-time"} {
		var none V
		out[w] = none
	}
	maps.Copy(out, m)
	return out
}

func TestExecutorStats(t *testing.T) {
	encode, decode := through(ExecutorStatsToThrift, gen.NewExecutorStats, ExecutorStatsFromThrift)
	roundTrip(t, encode, decode, drawStats, filled)
	if x, err := ExecutorStatsToThrift(nil); x != nil || err != nil {
		t.Errorf("no statistics become %v, %v", x, err)
	}
}

func drawExecutors(t *rapid.T) []cluster.ExecutorReport {
	reports := draw[[]cluster.ExecutorReport](t, "executors")
	for i := range reports {
		if reports[i].Stats != nil {
			reports[i].Stats = drawStats(t)
		}
	}
	return reports
}

func fillReports(reports []cluster.ExecutorReport) {
	for i := range reports {
		reports[i].Stats = filled(reports[i].Stats)
	}
}

func drawReport(t *rapid.T) cluster.SupervisorReport {
	r := cluster.SupervisorReport{
		Supervisor: draw[cluster.SupervisorID](t, "supervisor"),
		Waiting:    draw[map[cluster.Port]string](t, "waiting"),
	}
	for range rapid.IntRange(0, 2).Draw(t, "workers") {
		r.Workers = append(r.Workers, cluster.WorkerReport{
			Topology: draw[cluster.TopologyID](t, "topology"), Port: draw[cluster.Port](t, "port"),
			TimeSecs: rapid.Int64().Draw(t, "secs"), UptimeSecs: draw[int](t, "uptime"), Executors: drawExecutors(t),
		})
	}
	return r
}

func TestSupervisorReport(t *testing.T) {
	encode, decode := through(SupervisorReportToThrift, gen.NewSupervisorReport, SupervisorReportFromThrift)
	roundTrip(t, encode, decode, drawReport, func(r cluster.SupervisorReport) cluster.SupervisorReport {
		for _, w := range r.Workers {
			fillReports(w.Executors)
		}
		return r
	})
}

func drawPulse(t *rapid.T) cluster.Pulse {
	return cluster.Pulse{
		TimeMS: rapid.Int64().Draw(t, "ms"), UptimeSecs: draw[int](t, "uptime"), Executors: drawExecutors(t),
		Errors: draw[[]cluster.TaskError](t, "errors"), Failure: rapid.String().Draw(t, "failure"),
	}
}

func TestLink(t *testing.T) {
	roundTrip(t, func(h cluster.Hello) ([]byte, error) { return EncodeUp(&h, nil) }, func(data []byte) (cluster.Hello, error) {
		h, p, err := DecodeUp(data)
		if h == nil || p != nil {
			return cluster.Hello{}, err
		}
		return *h, err
	}, func(t *rapid.T) cluster.Hello { return draw[cluster.Hello](t, "hello") }, nil)
	roundTrip(t, func(p cluster.Pulse) ([]byte, error) { return EncodeUp(nil, &p) }, func(data []byte) (cluster.Pulse, error) {
		h, p, err := DecodeUp(data)
		if p == nil || h != nil {
			return cluster.Pulse{}, err
		}
		return *p, err
	}, drawPulse, func(p cluster.Pulse) cluster.Pulse { fillReports(p.Executors); return p })
	roundTrip(t, EncodeDown, DecodeDown, func(t *rapid.T) cluster.Orders { return draw[cluster.Orders](t, "orders") }, nil)
}

// What is nil in orders says that there is nothing; what is empty does not.
func TestOrdersTellNothingFromEmpty(t *testing.T) {
	for _, want := range []cluster.Orders{
		{Status: cluster.StatusActive},
		{Status: cluster.StatusActive, Log: cluster.LogConfig{}, Credentials: &cluster.Credentials{}},
	} {
		data, err := EncodeDown(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeDown(data)
		if err != nil {
			t.Fatal(err)
		}
		if (got.Log == nil) != (want.Log == nil) || (got.Credentials == nil) != (want.Credentials == nil) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
