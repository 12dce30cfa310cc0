package wire

import (
	"fmt"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/storm"
)

// A topology near the limit of Storm's frames: most of it is Java's objects.
func BenchmarkDecodeTopology(b *testing.B) {
	t := cluster.Topology{Components: map[string]cluster.Component{}}
	for i := range 1000 {
		t.Components[fmt.Sprint("bolt-", i)] = cluster.Component{
			Kind:    cluster.Bolt,
			Object:  cluster.Object{Serialized: make([]byte, 17_000)},
			Inputs:  []cluster.Input{{Component: "bolt-0", Stream: "default", Grouping: cluster.Grouping{Kind: cluster.GroupShuffle}}},
			Streams: map[string]storm.StreamSpec{"default": {Fields: storm.Fields{"a", "b"}}},
		}
	}
	data, err := EncodeTopology(t)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeTopology(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeDown(b *testing.B) {
	o := cluster.Orders{Status: cluster.StatusActive, Version: 1}
	for i := range 10_000 {
		task := storm.TaskID(i + 1)
		o.Placement = append(o.Placement, cluster.Place{
			Executor: cluster.Executor{First: task, Last: task},
			Slot:     cluster.Slot{Supervisor: cluster.SupervisorID(fmt.Sprint("supervisor-", i%500)), Port: 6700},
			Host:     fmt.Sprint("host-", i%500),
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		data, err := EncodeDown(o)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(data)))
	}
}
