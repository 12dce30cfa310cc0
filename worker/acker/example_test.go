package acker_test

import (
	"fmt"

	"github.com/stormring/stormring/internal/track"
	"github.com/stormring/stormring/worker/acker"
)

// A spout task 3 emits a tuple, the bolt that gets it emits another, and both
// are acked.
func Example() {
	const fromSpout, fromBolt = 0x5eed, 0xb017 // random in earnest
	root := track.MakeRoot(3, 1)

	pending := acker.NewPending[string]()
	pending.Add(root.Seq(), "message 1")

	ledger := acker.NewLedger()
	ledger.Apply([]acker.Message{
		{Root: root | acker.InitFlag, Val: fromSpout},
		{Root: root, Val: fromSpout ^ fromBolt},
	})
	fmt.Println("open trees:", ledger.Len())
	ledger.Apply([]acker.Message{{Root: root, Val: fromBolt}})

	for _, o := range ledger.Outcomes() {
		if id, ok := pending.Take(o.Root.Seq()); ok {
			fmt.Println(o.Kind, id)
		}
	}
	ledger.ClearOutcomes()
	// Output:
	// open trees: 1
	// ack message 1
}
