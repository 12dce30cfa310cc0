package protocol

import (
	"encoding/json"
	"fmt"

	"github.com/stormring/stormring/sr3/recovery"
	"github.com/stormring/stormring/sr3/ring"
)

// Encode gives the bytes of a request, a header or an answer of this package.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("protocol: %T: %v", v, err)) // ours alone have no such fields
	}
	return b
}

// Decode reads what Encode wrote; fields that are unknown are left out.
func Decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%T: %w", v, err)
	}
	return nil
}

// maxFlows bounds the flows of one stream's plan.
const maxFlows = 4096

// Check tells what makes no sense in the header of a stream that node is to serve.
// A header without a Flow is one of a leaf.
func (h *FetchHeader) Check(node recovery.NodeID) error {
	if len(h.Orders) == 0 {
		return fmt.Errorf("fetch of %v version %v: no orders", h.Owner, h.Version)
	}
	for _, o := range h.Orders {
		if err := checkPart(o.Part); err != nil {
			return fmt.Errorf("fetch of %v version %v: %w", h.Owner, h.Version, err)
		}
		if o.Offset < 0 || o.Content.Size < 0 || o.Offset > o.Content.Size {
			return fmt.Errorf("fetch of %v version %v: offset %d of %d", h.Owner, h.Version, o.Offset, o.Content.Size)
		}
	}
	if h.Flow == nil {
		return nil
	}
	if h.Flow.Node != node {
		return fmt.Errorf("fetch of %v version %v from node %s: this is node %s", h.Owner, h.Version, h.Flow.Node, node)
	}
	flows := 0
	return h.checkFlow(h.Flow, &flows)
}

func (h *FetchHeader) checkFlow(f *recovery.Flow, flows *int) error {
	*flows++
	if *flows > maxFlows {
		return fmt.Errorf("fetch of %v version %v: more than %d flows", h.Owner, h.Version, maxFlows)
	}
	for _, list := range [][]recovery.Part{f.Own, f.Sends} {
		for _, p := range list {
			if err := checkPart(p); err != nil {
				return fmt.Errorf("fetch of %v version %v: %w", h.Owner, h.Version, err)
			}
		}
	}
	for _, from := range f.From {
		if from == nil || len(from.Node) > ring.MaxName {
			return fmt.Errorf("fetch of %v version %v: a flow from nobody", h.Owner, h.Version)
		}
		if err := h.checkFlow(from, flows); err != nil {
			return err
		}
	}
	return nil
}

func checkPart(p recovery.Part) error {
	if p.Shard < 0 || p.First < 0 || p.Until <= p.First {
		return fmt.Errorf("there is no part %d [%d, %d)", p.Shard, p.First, p.Until)
	}
	return nil
}
