package scheduler_test

import (
	"fmt"
	"os"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/scheduler"
	"github.com/stormring/stormring/storm"
)

// A dry run: what would happen to a topology that wants three workers in a
// cluster with a cordoned supervisor.
func ExampleSchedule() {
	words := scheduler.Topology{ID: "words-1-1700000000", Status: cluster.StatusActive, Workers: 3}
	for task := storm.TaskID(1); task <= 4; task++ {
		words.Executors = append(words.Executors, scheduler.Executor{
			Executor: cluster.Executor{First: task, Last: task}, Component: "count",
		})
	}
	plan := scheduler.Schedule(scheduler.Snapshot{
		NowSecs: 1700000100,
		Supervisors: []scheduler.Supervisor{
			{ID: "s1", Host: "h1", Ports: []cluster.Port{6700}},
			{ID: "s2", Host: "h2", Ports: []cluster.Port{6700, 6701}, Standing: cluster.Cordoned},
			{ID: "s3", Host: "h3", Ports: []cluster.Port{6700}},
		},
		Topologies: []scheduler.Topology{words},
	})
	if err := plan.Explain(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// words-1-1700000000: 2 workers, 0 executors stay, 4 placed, 0 not placed
	//   HOST  SLOT     EXECUTORS  CHANGE
	//   h1    s1:6700  2 count    new
	//   h3    s3:6700  2 count    new
	//   note: has 2 of 3 workers: needs 1 more slot: 2 of 3 supervisors have no free slot, 1 is cordoned (host h2)
}
