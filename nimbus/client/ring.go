package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/internal/cluster"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// GetRingNodes is a method of nimbus beside those of the interface. It takes nothing
// and gives a JSON text: a RingNode for each supervisor whose ring node lives.
const GetRingNodes = "getRingNodes"

// RingNode is what the answer of GetRingNodes has of each node. Fields that are not
// known are left alone.
type RingNode struct {
	Addr string `json:"addr"` // host:port
}

// ErrUnknownCall: nimbus is of a release that does not know the call.
var ErrUnknownCall = errors.New("this nimbus does not know that call")

// RingNodes are the addresses (host:port) of the ring nodes that live, by their
// supervisors. Errors: ErrUnknownCall.
func (c *Client) RingNodes(ctx context.Context) (map[cluster.SupervisorID]string, error) {
	known := true
	text, err := ask(ctx, c, func(x *conn, ctx context.Context) (string, error) {
		// As generated: the method has the bytes of getNimbusConf.
		var result gen.NimbusGetNimbusConfResult
		_, err := x.wire.Call(ctx, GetRingNodes, gen.NewNimbusGetNimbusConfArgs(), &result)
		if e, ok := errors.AsType[apache.TApplicationException](err); ok && e.TypeId() == apache.UNKNOWN_METHOD {
			known = false
			return "", nil // the connection is a good one
		}
		switch {
		case err != nil:
			return "", err
		case result.IsSetAze():
			return "", result.GetAze()
		case !result.IsSetSuccess():
			return "", apache.NewTApplicationException(apache.MISSING_RESULT, GetRingNodes+" failed: unknown result")
		}
		return result.GetSuccess(), nil
	})
	switch {
	case err != nil:
		return nil, err
	case !known:
		return nil, fmt.Errorf("%s: %w", GetRingNodes, ErrUnknownCall)
	}
	return decodeRing(text)
}

// decodeRing reads the answer.
func decodeRing(text string) (map[cluster.SupervisorID]string, error) {
	var nodes map[cluster.SupervisorID]RingNode
	if err := json.Unmarshal([]byte(text), &nodes); err != nil {
		return nil, fmt.Errorf("nimbus's list of ring nodes: %w", err)
	}
	out := make(map[cluster.SupervisorID]string, len(nodes))
	for id, one := range nodes {
		if one.Addr != "" {
			out[id] = one.Addr
		}
	}
	return out, nil
}
