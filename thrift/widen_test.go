package thrift

import (
	"bytes"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/thrift/gen/storm"
)

func heartbeat() *storm.ClusterWorkerHeartbeat {
	return &storm.ClusterWorkerHeartbeat{
		StormID: "wc-1-2",
		ExecutorStats: map[*storm.ExecutorInfo]*storm.ExecutorStats{
			{TaskStart: 1, TaskEnd: 2}: {
				Emitted:     map[string]map[string]int64{"600": {"default": 20}},
				Transferred: map[string]map[string]int64{},
				Specific: &storm.ExecutorSpecificStats{Spout: &storm.SpoutStats{
					Acked: map[string]map[string]int64{}, Failed: map[string]map[string]int64{}, CompleteMsAvg: map[string]map[string]float64{},
				}},
				Rate: 1,
			},
		},
		TimeSecs: 1700000000, UptimeSecs: 17,
	}
}

// narrowed replaces the only i64 field 3 with that value by an i32.
func narrowed(t *testing.T, data []byte) []byte {
	t.Helper()
	const wide, narrow = "\x0a\x00\x03\x00\x00\x00\x00\x65\x53\xf1\x00", "\x08\x00\x03\x65\x53\xf1\x00"
	if strings.Count(string(data), wide) != 1 {
		t.Fatalf("time_secs is not there once: %x", data)
	}
	return bytes.Replace(data, []byte(wide), []byte(narrow), 1)
}

func TestHeartbeatOfEitherWidth(t *testing.T) {
	data, err := Marshal(heartbeat())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"i64": data, "i32": narrowed(t, data)} {
		got := storm.NewClusterWorkerHeartbeat()
		if err = Unmarshal(data, got, HeartbeatTime); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.TimeSecs != 1700000000 || got.UptimeSecs != 17 || len(got.ExecutorStats) != 1 {
			t.Errorf("%s: %v", name, got)
		}
		for _, stats := range got.ExecutorStats {
			if stats.Rate != 1 || stats.Emitted["600"]["default"] != 20 {
				t.Errorf("%s: %v", name, stats)
			}
		}
	}
	err = Unmarshal(narrowed(t, data), storm.NewClusterWorkerHeartbeat())
	if err == nil || !strings.Contains(err.Error(), "TimeSecs") {
		t.Errorf("without Widen: %v", err)
	}
}

// A negative i32 stays negative; the same id elsewhere stays as it is.
func TestWidenOnlyThere(t *testing.T) {
	level := &storm.LogLevel{Action: storm.LogLevelAction_UPDATE, ResetLogLevelTimeoutSecs: new(int32(5)), ResetLogLevelTimeoutEpoch: new(int64(math.MinInt64))}
	data, err := Marshal(&storm.LogConfig{NamedLoggerLevel: map[string]*storm.LogLevel{"a": level}})
	if err != nil {
		t.Fatal(err)
	}
	got := storm.NewLogConfig()
	if err = Unmarshal(data, got, HeartbeatTime); err != nil || !reflect.DeepEqual(got.NamedLoggerLevel["a"], level) {
		t.Errorf("%v, %v", got, err)
	}

	// As if field 3 of a struct in field 2 were wide: its reader skips an i64.
	got = storm.NewLogConfig()
	if err = Unmarshal(data, got, 2, 3); err != nil {
		t.Fatal(err)
	}
	if l := got.NamedLoggerLevel["a"]; l.ResetLogLevelTimeoutSecs != nil || *l.ResetLogLevelTimeoutEpoch != math.MinInt64 {
		t.Errorf("%v", l)
	}
}

// FuzzUnmarshal reads foreign bytes as the struct with the most kinds of
// fields, and as the one with a widened field.
func FuzzUnmarshal(f *testing.F) {
	data, err := Marshal(heartbeat())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		_ = Unmarshal(data, storm.NewStormTopology())
		beat := storm.NewClusterWorkerHeartbeat()
		if Unmarshal(data, beat, HeartbeatTime) != nil {
			return
		}
		// Keys are pointers, so equal ones may repeat; the rest must survive.
		again, err := Marshal(beat)
		if err != nil {
			return // a union without arm is readable, not writable
		}
		copied := storm.NewClusterWorkerHeartbeat()
		if err := Unmarshal(again, copied); err != nil || copied.TimeSecs != beat.TimeSecs || len(copied.ExecutorStats) != len(beat.ExecutorStats) {
			t.Errorf("%v became %v, %v", beat, copied, err)
		}
	})
}
