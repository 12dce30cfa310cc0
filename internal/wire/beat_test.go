package wire

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
)

// TestWorkerBeat: time_secs is an i32 before Storm 3.
func TestWorkerBeat(t *testing.T) {
	stats := func(first, last string) string {
		return `080001 ` + first + ` 080002 ` + last + ` 00
 0d0001 0b0d 00000001 ':all-time' 0b0a 00000001 'default' 0000000000000014
 0d0002 0b0d 00000000
 0c0003 0c0001 0d0001 0b0d 00000000 0d0002 0b0d 00000000 0d0003 0b0d 00000000 0d0004 0b0d 00000000 0d0005 0b0d 00000000 00 00
 040004 3fa999999999999a 00`
	}
	head := `0b0001 'words-1-5' 0d0002 0c0c 00000002 ` + stats("00000007", "00000008") + stats("00000001", "00000001")
	for name, text := range map[string]string{
		"i32": head + ` 080003 00000064 080004 00000009 00`,
		"i64": head + ` 0a0003 0000000000000064 080004 00000009 00`,
	} {
		r, err := DecodeWorkerBeat(zip(t, hand(t, text)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r.Topology != "words-1-5" || r.TimeSecs != 100 || r.UptimeSecs != 9 || len(r.Executors) != 2 {
			t.Fatalf("%s: %+v", name, r)
		}
		got := []cluster.Executor{r.Executors[0].Executor, r.Executors[1].Executor}
		if want := []cluster.Executor{{First: 1, Last: 1}, {First: 7, Last: 8}}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: executors %v, want %v", name, got, want)
		}
		s := r.Executors[1].Stats
		if s == nil || s.Bolt == nil || s.Emitted[":all-time"]["default"] != 20 || s.Rate != 0.05 {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, err := DecodeWorkerBeat(zip(t, hand(t, `0b0001 'x' 00`))); err == nil || !strings.Contains(err.Error(), "ClusterWorkerHeartbeat") {
		t.Errorf("half of one: %v", err)
	}
}

func FuzzWorkerBeat(f *testing.F) {
	seeds(f, `0b0001 'words-1-5' 0d0002 0c0c 00000000 080003 00000064 080004 00000009 00`)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := DecodeWorkerBeat(data)
		if err == nil && len(r.Executors) > len(data)*1024 {
			t.Errorf("%d executors of %d bytes", len(r.Executors), len(data))
		}
	})
}
