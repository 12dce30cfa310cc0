package process

import (
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// shellBolt is a bolt in another language. It keeps its state on the ring if the
// component is configured so.
func (c *code) shellBolt(id string, s multilang.Spec) storm.Bolt {
	// What is no boolean was refused when the topology was submitted.
	if stateful, err := storm.ConfTopologySr3Stateful.Parse(c.ownConf(id)[string(storm.ConfTopologySr3Stateful)]); err == nil && stateful {
		return multilang.NewStatefulBolt(s)
	}
	return multilang.NewBolt(s)
}
