package clustertests

import (
	"fmt"
	"testing"
	"time"
)

// TestZooKeeperLoad counts what is written to ZooKeeper while a cluster works:
// it depends on how many hosts there are, and neither on workers nor on tasks.
func TestZooKeeperLoad(t *testing.T) {
	window := 6 * time.Second
	if soak() {
		window = time.Minute
	}
	measure := func(supervisors int, sizes ...[]string) []float64 {
		// A heartbeat a second, so that there is something to count.
		r := startCluster(t, options{nimbuses: 1, supervisors: supervisors, slots: 6 / supervisors, conf: map[string]string{
			"supervisor.heartbeat.frequency.secs": "1", "nimbus.monitor.freq.secs": "1",
		}})
		var rates []float64
		for i, size := range sizes {
			c := r.countWords(fmt.Sprint("words", i), newText(t, 20000), append([]string{"--set", "topology.max.spout.pending=1"}, size...)...)
			c.flows(100)
			from, begin := r.zk.writes(), time.Now()
			<-time.After(window) // what happens in this time is the question
			rate := float64(r.zk.writes()-from) / time.Since(begin).Seconds()
			rates = append(rates, rate)
			t.Logf("%d supervisors, %v: %.2f writes a second", supervisors, size, rate)
			c.kill()
			r.awaitFree(6)
		}
		return rates
	}
	small := []string{"--workers", "2", "--splitters", "2", "--counters", "2"}
	large := []string{"--workers", "6", "--splitters", "15", "--counters", "35"}
	two := measure(2, small, large)
	one := measure(1, large)
	const noise = 0.5 // writes a second: three of a window of six
	if two[1] > two[0]+noise {
		t.Errorf("three times the workers and ten times the tasks: %.2f writes a second instead of %.2f", two[1], two[0])
	}
	if two[1] < one[0]+noise {
		t.Errorf("two supervisors write as one, %.2f and %.2f a second: what is it that was counted?", two[1], one[0])
	}
	if two[1] > 2*one[0]+noise {
		t.Errorf("two supervisors write more than twice as much as one: %.2f and %.2f a second", two[1], one[0])
	}
}
