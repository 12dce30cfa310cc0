package clienttests

import (
	// The tests run the program and do not call it. Naming its parts here
	// makes go test run them again when any of it changes.
	_ "github.com/stormring/stormring/command"
	_ "github.com/stormring/stormring/topologies"
)
