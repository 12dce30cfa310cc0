// Command stormring runs topologies. Everything it can do is in package
// command; here it is given the sample topologies.
package main

import (
	"github.com/stormring/stormring/command"
	"github.com/stormring/stormring/storm"
	"github.com/stormring/stormring/topologies"
)

func main() {
	storm.Main(command.Run, storm.Program{Topologies: topologies.All(), Components: topologies.Components()})
}
