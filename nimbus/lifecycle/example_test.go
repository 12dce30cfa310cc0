package lifecycle_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/stormring/stormring/nimbus/lifecycle"
)

// A history: a topology is rebalanced, killed, killed again, and gone.
func Example() {
	rules := lifecycle.Rules{MessageTimeout: 30 * time.Second, BlobDelay: 5 * time.Minute}
	start := time.Unix(1_700_000_000, 0).UTC()
	state := lifecycle.New("words-1-1700000000", false)
	for _, h := range []struct {
		secs   int
		action lifecycle.Action
	}{
		{0, lifecycle.Rebalance{Wait: new(10 * time.Second), Changes: lifecycle.Changes{Workers: 4}}},
		{3, lifecycle.Deactivate{}},
		{10, lifecycle.DelayDue{}},
		{20, lifecycle.Kill{}},
		{25, lifecycle.Kill{Wait: new(40 * time.Second)}},
		{50, lifecycle.DelayDue{}},
		{60, lifecycle.Startup{}},
		{65, lifecycle.DelayDue{}},
		{300, lifecycle.Startup{}},
		{365, lifecycle.DelayDue{}},
	} {
		next, effects, err := rules.Step(state, h.action, start.Add(time.Duration(h.secs)*time.Second))
		state = next
		fmt.Printf("%d s %s: %v", h.secs, strings.TrimPrefix(fmt.Sprintf("%T", h.action), "lifecycle."), state.Status)
		for _, e := range effects {
			text := strings.TrimPrefix(fmt.Sprintf("%T%+v", e, e), "lifecycle.")
			if d, ok := e.(lifecycle.Delay); ok {
				text = fmt.Sprintf("Delay to %v", d.At.Sub(start))
			}
			if _, ok := e.(lifecycle.Persist); ok {
				text = "Persist"
			}
			if a, ok := e.(lifecycle.Apply); ok {
				text = fmt.Sprintf("Apply %d workers", a.Changes.Workers)
			}
			fmt.Print(", ", text)
		}
		if err != nil {
			fmt.Print(", error: ", err)
		}
		fmt.Println()
	}
	// Output:
	// 0 s Rebalance: REBALANCING, Persist, Spouts{Active:false}, Delay to 10s
	// 3 s Deactivate: REBALANCING, error: topology words-1-1700000000 is REBALANCING and cannot be deactivated: its status does not allow that
	// 10 s DelayDue: ACTIVE, Apply 4 workers, Reschedule{Fresh:true}, Persist, Spouts{Active:true}
	// 20 s Kill: KILLED, Persist, Spouts{Active:false}, Delay to 50s
	// 25 s Kill: KILLED, Persist, Spouts{Active:false}, Delay to 1m5s
	// 50 s DelayDue: KILLED, Delay to 1m5s
	// 60 s Startup: KILLED, Spouts{Active:false}, Delay to 1m5s
	// 65 s DelayDue: KILLED, Persist, RemoveAssignment{}, RemoveRecords{}, Reschedule{Fresh:false}, Delay to 6m5s
	// 300 s Startup: KILLED, RemoveAssignment{}, RemoveRecords{}, Reschedule{Fresh:false}, Delay to 6m5s
	// 365 s DelayDue: TopologyStatus(0), DeleteBlobs{}, Forget{}
}
