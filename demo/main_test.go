package demo_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/stormring/stormring/command"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies/statefulwordcount"
)

// asProgram makes a process of this test binary be a program with the topology, so
// that it can be a host and a worker.
const asProgram = "STORMRING_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		storm.Main(command.Run, storm.Program{Topologies: []storm.Definition{statefulwordcount.Definition()}})
	}
	goleak.VerifyTestMain(m)
}
