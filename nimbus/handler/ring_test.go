package handler

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/nimbus/client"
	"github.com/stormring/stormring/thrift"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// TestRingNodesRefused: the errors are those of any other method.
func TestRingNodesRefused(t *testing.T) {
	s := serve(t)
	c := connect(t, s.addr)
	for _, x := range []struct {
		err  error
		kind error
		text string
	}{
		{fmt.Errorf("ann: %w", nimbus.ErrAuthorization), client.ErrAuthorization, "ann: " + nimbus.ErrAuthorization.Error()},
		{coord.ErrConnectionLoss, client.ErrRefused, "this nimbus has lost the coordination store (storm.zookeeper.servers): try again"},
		{errors.New("secret"), client.ErrRefused, "nimbus failed in getRingNodes: its log says why"},
	} {
		s.set(x.err)
		if _, err := c.RingNodes(t.Context()); !errors.Is(err, x.kind) || err.Error() != x.text {
			t.Errorf("%v: got %v", x.err, err)
		}
	}
	s.set(nil)
	if _, err := c.RingNodes(t.Context()); err != nil {
		t.Error(err)
	}
}

// nowhere has no ring.
type nowhere struct{ fake }

func (*nowhere) RingNodes(context.Context) (map[cluster.SupervisorID]string, error) { return nil, nil }

// TestRingNodesBytes: what is sent is one JSON text, as the interface says.
func TestRingNodesBytes(t *testing.T) {
	for want, n := range map[string]Nimbus{
		`{"s1":{"addr":"h1:6629"},"s2":{"addr":"h1:7000"}}`: &fake{}, `{}`: &nowhere{},
	} {
		addrs, err := n.RingNodes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if text, err := ringText(addrs); text != want || err != nil {
			t.Errorf("got %s, %v", text, err)
		}
	}
	s := serve(t)
	conn, err := thrift.Dial(t.Context(), s.addr, thrift.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var got gen.NimbusGetNimbusConfResult
	_, err = conn.Call(t.Context(), "getRingNodes", gen.NewNimbusGetNimbusConfArgs(), &got)
	if want := `{"s1":{"addr":"h1:6629"},"s2":{"addr":"h1:7000"}}`; err != nil || got.GetSuccess() != want {
		t.Errorf("got %s, %v", got.GetSuccess(), err)
	}
}
