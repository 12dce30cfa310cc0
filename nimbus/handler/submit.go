package handler

import (
	"context"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
	"github.com/stormring/stormring/nimbus"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// IsTopologyNameAllowed reports whether a name is well formed and free.
func (h *handler) IsTopologyNameAllowed(ctx context.Context, name string) (bool, error) {
	return answer(ctx, h, unauthorized, same[bool])(h.nimbus.NameAllowed(ctx, name))
}

// BeginFileUpload begins the upload of a jar.
func (h *handler) BeginFileUpload(ctx context.Context) (string, error) {
	if err := h.leads(ctx); err != nil {
		return "", h.fail(ctx, unauthorized, err)
	}
	return answer(ctx, h, unauthorized, same[string])(h.blobs.BeginFileUpload())
}

// UploadChunk adds to a jar.
func (h *handler) UploadChunk(ctx context.Context, location string, chunk []byte) error {
	return h.fail(ctx, unauthorized, h.blobs.UploadFileChunk(location, chunk))
}

// FinishFileUpload ends the upload of a jar.
func (h *handler) FinishFileUpload(ctx context.Context, location string) error {
	return h.fail(ctx, unauthorized, h.blobs.FinishFileUpload(location))
}

// SubmitTopology submits a topology that starts active.
func (h *handler) SubmitTopology(ctx context.Context, name, location, conf string, topology *gen.StormTopology) error {
	return h.SubmitTopologyWithOpts(ctx, name, location, conf, topology, nil)
}

const submits = alreadyAlive | invalidTopology | unauthorized

// SubmitTopologyWithOpts submits a topology.
func (h *handler) SubmitTopologyWithOpts(
	ctx context.Context, name, location, conf string, topology *gen.StormTopology, options *gen.SubmitOptions,
) error {
	s, err := submission(name, location, conf, topology, options)
	if err != nil {
		return err
	}
	return h.fail(ctx, submits, h.nimbus.Submit(ctx, s))
}

// PlanSubmit tells where a topology would run.
func (h *handler) PlanSubmit(
	ctx context.Context, name, conf string, topology *gen.StormTopology, options *gen.SubmitOptions,
) (string, error) {
	s, err := submission(name, "", conf, topology, options)
	if err != nil {
		return "", err
	}
	return answer(ctx, h, submits, same[string])(h.nimbus.PlanSubmit(ctx, s))
}

// submission is what a client submits. What cannot be read is invalid.
func submission(
	name, location, conf string, topology *gen.StormTopology, options *gen.SubmitOptions,
) (nimbus.Submission, error) {
	t, err := wire.TopologyFromThrift(topology)
	if err != nil {
		return nimbus.Submission{}, &gen.InvalidTopologyException{Msg: err.Error()}
	}
	status, creds, err := wire.SubmitOptionsFromThrift(options)
	if err != nil {
		return nimbus.Submission{}, &gen.InvalidTopologyException{Msg: err.Error()}
	}
	return nimbus.Submission{
		Name:        name,
		JarLocation: location,
		ConfJSON:    conf,
		Topology:    t,
		Inactive:    status == cluster.StatusInactive,
		Credentials: creds,
	}, nil
}
