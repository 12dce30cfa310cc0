package process

import (
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/multilang"
	"github.com/stormring/stormring/storm"
)

// Only a shell bolt that is configured so keeps state on the ring.
func TestShellBoltThatKeepsState(t *testing.T) {
	for conf, want := range map[string]bool{
		``: false, `{"topology.sr3.stateful":false}`: false, `{"topology.sr3.stateful":true}`: true,
	} {
		c, _ := Code(storm.Program{}, described(cluster.Bolt, cluster.Object{}, conf), t.TempDir()).(*code)
		b := c.shellBolt("c", multilang.Spec{Argv: []string{"a"}})
		if _, got := b.(storm.Stateful); got != want {
			t.Errorf("with %q a shell bolt is a %T", conf, b)
		}
	}
}
