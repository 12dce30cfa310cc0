package slot_test

import (
	"fmt"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/supervisor/slot"
)

// What a supervisor does with a slot: it feeds events and performs what comes
// back. Here everything works the first time.
func Example() {
	now := time.Unix(1_700_000_000, 0)
	s := slot.New(slot.DefaultConfig())
	events := []slot.Event{slot.Assign{Assignment: &slot.Assignment{
		Topology:  "words-1-1700000000",
		Executors: []cluster.Executor{{First: 1, Last: 2}},
	}}}
	for len(events) > 0 {
		ev := events[0]
		events = events[1:]
		for _, effect := range s.Step(now, ev) {
			switch e := effect.(type) {
			case slot.Persist: // to a file, before anything else
			case slot.Localise:
				fmt.Println("fetch the blobs of", e.Assignment.Topology)
				events = append(events, slot.BlobsReady{Request: e.Request})
			case slot.Launch:
				fmt.Println("start launch", e.Worker.Launch)
				events = append(events,
					slot.Started{Launch: e.Worker.Launch, PID: 4711},
					slot.Heartbeat{Launch: e.Worker.Launch, At: now})
			case slot.Note:
				fmt.Println("log:", e.Text)
			case slot.Release, slot.SoftKill, slot.HardKill, slot.Clear:
			}
		}
	}
	fmt.Println("look again after", s.Deadline().Sub(now))
	// Output:
	// fetch the blobs of words-1-1700000000
	// log: EMPTY -> WAITING_FOR_BLOB_LOCALIZATION
	// start launch 2
	// log: WAITING_FOR_BLOB_LOCALIZATION -> WAITING_FOR_WORKER_START
	// log: WAITING_FOR_WORKER_START -> RUNNING
	// look again after 30s
}
