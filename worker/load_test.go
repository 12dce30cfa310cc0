package worker

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stormring/stormring/internal/layout"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/worker/executor"
)

type sourceStub struct{ storm.BaseSpout }

func (sourceStub) DeclareOutputFields(d *storm.OutputFieldsDeclarer)              { d.Declare("n") }
func (sourceStub) Open(*storm.TopologyContext, *storm.SpoutOutputCollector) error { return nil }
func (sourceStub) NextTuple() error                                               { return nil }

type sinkStub struct{ storm.BaseBasicBolt }

func (sinkStub) Execute(storm.Tuple, *storm.BasicOutputCollector) error { return nil }

// newTestWorker makes a worker, that is not run, of a spout (task 3) and a bolt
// of two executors (tasks 1 and 2) behind a shuffle.
func newTestWorker(t *testing.T, settings storm.Config) *Worker {
	t.Helper()
	b := storm.NewTopologyBuilder()
	b.SetSpout("source", func() storm.Spout { return sourceStub{} }, 1)
	b.SetBasicBolt("bolt", func() storm.BasicBolt { return sinkStub{} }, 2).ShuffleGrouping("source")
	top, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	settings["topology.acker.executors"] = 0
	l, err := layout.New(top, settings)
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(Spec{TopologyID: "t-1-1", TopologyName: "t", Layout: l, Placement: l.Deal(1), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestLoadsAreLearnt(t *testing.T) {
	w := newTestWorker(t, storm.Config{"topology.executor.receive.buffer.size": 10})
	if err := w.byTask[2].tuple.Give(&executor.Batch{}, 5); err != nil {
		t.Fatal(err)
	}
	own := w.ownLoads()
	if want := []byte{loadMessage, 1, 0, 2, 128}; !bytes.Equal(own, want) {
		t.Fatalf("own loads are %v, want %v", own, want)
	}
	if err := w.learn(own); err != nil {
		t.Fatal(err)
	}
	if err := w.learn([]byte{loadMessage, 1, 255, 77, 255}); err != nil { // task 77 is of another layout
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%.2f", w.loads.byTask), "[0.00 1.00 0.50 0.00]"; got != want {
		t.Errorf("loads are %s, want %s", got, want)
	}
	if len(w.balanced) != 1 {
		t.Errorf("%d executors heed loads, want the spout's alone", len(w.balanced))
	}
}

func TestLoadsCanBeOff(t *testing.T) {
	w := newTestWorker(t, storm.Config{"topology.disable.loadaware.messaging": true})
	if w.loads.byTask != nil {
		t.Error("loads are kept")
	}
	if err := w.learn([]byte{loadMessage, 1, 255}); err != nil {
		t.Errorf("loads of another worker: %v", err)
	}
}

func FuzzLearn(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{9})
	f.Add([]byte{loadMessage, 1})
	f.Add([]byte{loadMessage, 1, 255, 0x80})
	f.Add(append([]byte{loadMessage}, binary.AppendUvarint(nil, 1<<40)...))
	f.Fuzz(func(t *testing.T, msg []byte) {
		w := newTestWorker(t, storm.Config{})
		_ = w.hear(msg)
		for task, load := range w.loads.byTask {
			if load < 0 || load > 1 {
				t.Errorf("load of task %d is %v", task, load)
			}
		}
	})
}
