package constidnull

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func instance(args ...string) (*storm.Instance, error) {
	flags := flag.NewFlagSet("constidnull", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	build := Definition().Setup(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return build(storm.Env{Args: flags.Args()})
}

func TestRun(t *testing.T) {
	for _, ack := range []bool{true, false} {
		t.Run(fmt.Sprintf("ack=%t", ack), func(t *testing.T) {
			in, err := instance(fmt.Sprintf("--ack=%t", ack), "--spouts", "2", "--bolts", "2")
			if err != nil {
				t.Fatal(err)
			}
			top, err := local.New(local.Options{Name: "constidnull", Instance: in, RunFor: 100 * time.Millisecond})
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
			if want := fmt.Sprintf("tuples  %d\n", res.Totals.Emitted); res.Totals.Emitted == 0 || !strings.HasPrefix(out.String(), want) {
				t.Errorf("printed %q, want %q first", out.String(), want)
			}
		})
	}
}

func TestUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"--spouts", "0"}, {"--bolts", "-1"}, {"stray"}} {
		if _, err := instance(args...); !errors.Is(err, storm.ErrUsage) {
			t.Errorf("%q: %v does not wrap ErrUsage", args, err)
		}
	}
}
