package handler

import (
	"context"
	"encoding/json"
	"errors"

	apache "github.com/apache/thrift/lib/go/thrift"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/nimbus/client"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// This file has a method that is in no interface's text: package client calls it
// by its name, and says what its answer is.

// addRing adds it to a processor.
func addRing(p apache.TProcessor, h *handler) {
	p.AddToProcessorMap(client.GetRingNodes, ringNodes{h})
}

// ringNodes is the method. Its bytes are those of a method that takes nothing, gives
// a text, and may fail with an AuthorizationException: so is getNimbusConf.
type ringNodes struct{ h *handler }

// Process answers one request, as the generated code does.
func (m ringNodes) Process(ctx context.Context, seq int32, in, out apache.TProtocol) (bool, apache.TException) {
	args := gen.NewNimbusGetNimbusConfArgs()
	if err := args.Read(ctx, in); err != nil {
		e := apache.NewTApplicationException(apache.PROTOCOL_ERROR, err.Error())
		return false, m.reply(ctx, seq, out, apache.EXCEPTION, e, err)
	}
	text, err := answer(ctx, m.h, unauthorized, ringText)(m.h.nimbus.RingNodes(ctx))
	if err == nil {
		failed := m.reply(ctx, seq, out, apache.REPLY, &gen.NimbusGetNimbusConfResult{Success: &text}, nil)
		return failed == nil, failed
	}
	if refused, ok := errors.AsType[*gen.AuthorizationException](err); ok {
		return true, m.reply(ctx, seq, out, apache.REPLY, &gen.NimbusGetNimbusConfResult{Aze: refused}, err)
	}
	e := apache.NewTApplicationException(apache.INTERNAL_ERROR, "Internal error processing "+client.GetRingNodes)
	return true, m.reply(ctx, seq, out, apache.EXCEPTION, e, err)
}

// reply writes an answer. It returns what went wrong with that, or else err.
func (ringNodes) reply(ctx context.Context, seq int32, out apache.TProtocol, kind apache.TMessageType,
	body interface {
		Write(context.Context, apache.TProtocol) error
	}, err error,
) apache.TException {
	for _, write := range []func() error{
		func() error { return out.WriteMessageBegin(ctx, client.GetRingNodes, kind, seq) },
		func() error { return body.Write(ctx, out) },
		func() error { return out.WriteMessageEnd(ctx) },
		func() error { return out.Flush(ctx) },
	} {
		if failed := write(); failed != nil {
			return apache.WrapTException(failed)
		}
	}
	if err == nil {
		return nil
	}
	return apache.WrapTException(err)
}

// ringText is the answer.
func ringText(addrs map[cluster.SupervisorID]string) (string, error) {
	nodes := make(map[cluster.SupervisorID]client.RingNode, len(addrs))
	for id, addr := range addrs {
		nodes[id] = client.RingNode{Addr: addr}
	}
	text, err := json.Marshal(nodes)
	return string(text), err
}
