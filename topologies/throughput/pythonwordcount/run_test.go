package pythonwordcount

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/local"
	"github.com/stormring/stormring/storm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRun: words come out of the script and are counted.
func TestRun(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3")
	}
	in, err := Definition().Instance(storm.Env{Args: []string{"--ack=false"}})
	if err != nil {
		t.Fatal(err)
	}
	top, err := local.New(local.Options{Name: "pythonwordcount", Instance: in, RunFor: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := top.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := in.Report(&out, false); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(out.String(), "tuples  0\n") {
		t.Errorf("printed %q", out.String())
	}
}
