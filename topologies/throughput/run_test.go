package throughput_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/throughput/constidnull"
	"github.com/stormring/stormring/topologies/throughput/constnull"
	"github.com/stormring/stormring/topologies/throughput/filewordcount"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a report counts: tuples at the last bolt.
var counted = map[string]func(p local.Progress) uint64{
	"constnull":   func(p local.Progress) uint64 { return p.Emitted },
	"constidnull": func(p local.Progress) uint64 { return p.Emitted },
	// Lines are executed by split, words by count.
	"filewordcount": func(p local.Progress) uint64 { return p.Executed - p.Emitted },
}

func definitions() []storm.Definition {
	return []storm.Definition{constnull.Definition(), constidnull.Definition(), filewordcount.Definition()}
}

func TestReportCountsWhatArrived(t *testing.T) {
	for _, d := range definitions() {
		for _, ack := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s ack=%t", d.Name, ack), func(t *testing.T) {
				in, err := d.Instance(storm.Env{Args: []string{fmt.Sprintf("--ack=%t", ack), "--spouts", "2", "--bolts", "2"}})
				if err != nil {
					t.Fatal(err)
				}
				top, err := local.New(local.Options{Name: d.Name, Instance: in, RunFor: 100 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				res, err := top.Run(t.Context())
				if err != nil || res.Undrained != 0 {
					t.Fatalf("%+v, %v", res, err)
				}
				var out strings.Builder
				if err := in.Report(&out, res.Partial); err != nil {
					t.Fatal(err)
				}
				n := counted[d.Name](res.Totals)
				if want := fmt.Sprintf("tuples  %d\n", n); n == 0 || !strings.HasPrefix(out.String(), want) {
					t.Errorf("printed %q, want %q first", out.String(), want)
				}
			})
		}
	}
}

func TestUsageErrors(t *testing.T) {
	for _, d := range definitions() {
		for _, args := range [][]string{{"--spouts", "0"}, {"--bolts", "-1"}, {"stray"}, {"--rate", "-1"}, {"--journal", "relative"}, {"--nosuch"}} {
			if _, err := d.Instance(storm.Env{Args: args}); !errors.Is(err, storm.ErrUsage) {
				t.Errorf("%s %q: %v does not wrap ErrUsage", d.Name, args, err)
			}
		}
	}
}
