package handler

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/coord"
	"github.com/stormring/stormring/nimbus"
	"github.com/stormring/stormring/nimbus/blobstore"
	"github.com/stormring/stormring/nimbus/client"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// TestExceptions: what nimbus fails with becomes the exception that the method
// declares, and else a plain text; what is not for clients stays here.
func TestExceptions(t *testing.T) {
	s := serve(t)
	c, ctx := raw(t, s), t.Context()
	options := &gen.SubmitOptions{InitialStatus: gen.TopologyInitialStatus_ACTIVE}
	calls := map[string]func() error{
		"submit":      func() error { return c.SubmitTopologyWithOpts(ctx, "w", "", "{}", gen.NewStormTopology(), options) },
		"kill":        func() error { return c.KillTopology(ctx, "w") },
		"rebalance":   func() error { return c.Rebalance(ctx, "w", gen.NewRebalanceOptions()) },
		"credentials": func() error { return c.UploadNewCredentials(ctx, "w", gen.NewCredentials()) },
		"info":        func() error { _, err := c.GetTopologyInfo(ctx, "w"); return err },
		"log":         func() error { return c.SetLogConfig(ctx, "w", gen.NewLogConfig()) },
		"cluster":     func() error { _, err := c.GetClusterInfo(ctx); return err },
		"delete":      func() error { return c.DeleteBlob(ctx, "k") },
		"standing":    func() error { return c.SetSupervisorStanding(ctx, "s9", 0) },
	}
	all := []error{
		nimbus.ErrAlreadyAlive, nimbus.ErrNotAlive, nimbus.ErrInvalidTopology, nimbus.ErrAuthorization, nimbus.ErrKeyNotFound,
		nimbus.ErrIllegalState, blobstore.ErrKeyExists, coord.ErrConnectionLoss, errors.New("disk /dev/x is full"),
	}
	const plain = "*thrift.tApplicationException"
	declared := map[string]map[error]string{
		"submit": {nimbus.ErrAlreadyAlive: "*storm.AlreadyAliveException", nimbus.ErrInvalidTopology: "*storm.InvalidTopologyException"},
		"kill":   {nimbus.ErrNotAlive: "*storm.NotAliveException"},
		"rebalance": {nimbus.ErrNotAlive: "*storm.NotAliveException",
			nimbus.ErrInvalidTopology: "*storm.InvalidTopologyException"},
		"credentials": {nimbus.ErrNotAlive: "*storm.NotAliveException",
			nimbus.ErrInvalidTopology: "*storm.InvalidTopologyException"},
		"info":     {nimbus.ErrNotAlive: "*storm.NotAliveException"},
		"log":      {},
		"cluster":  {},
		"delete":   {nimbus.ErrKeyNotFound: "*storm.KeyNotFoundException", nimbus.ErrIllegalState: "*storm.IllegalStateException"},
		"standing": {nimbus.ErrKeyNotFound: "*storm.KeyNotFoundException"},
	}
	for name, call := range calls {
		for _, sentinel := range all {
			s.set(fmt.Errorf("w here: %w", sentinel))
			err := call()
			want := declared[name][sentinel]
			if want == "" && errors.Is(sentinel, nimbus.ErrAuthorization) && name != "log" {
				want = "*storm.AuthorizationException"
			}
			if want == "" {
				want = plain
			}
			inner := err
			for errors.Unwrap(inner) != nil {
				inner = errors.Unwrap(inner)
			}
			if got := fmt.Sprintf("%T", inner); got != want {
				t.Errorf("%s fails with %v: got %s (%v), want %s", name, sentinel, got, err, want)
			}
			text := "w here: " + sentinel.Error()
			switch {
			case errors.Is(sentinel, coord.ErrConnectionLoss):
				text = "has lost the coordination store"
			case errors.Is(sentinel, all[len(all)-1]):
				if strings.Contains(fmt.Sprint(err), "/dev/x") {
					t.Errorf("%s tells %v", name, err)
				}
				text = "Internal error processing"
			}
			if !strings.Contains(fmt.Sprint(err), text) {
				t.Errorf("%s: %v does not say %q", name, err, text)
			}
		}
	}
}

// TestTypedErrors: what the handler says is what the client tells its user.
func TestTypedErrors(t *testing.T) {
	s := serve(t)
	c, ctx := connect(t, s.addr), t.Context()
	if _, err := s.blobs.Put(ctx, "there", blobstore.Meta{}, strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	submit := func() error { return c.Submit(ctx, client.Submission{Name: "w", Conf: "{}", Topology: topology("a")}) }
	for _, x := range []struct {
		fails error
		call  func() error
		want  error
		text  string
	}{
		{nimbus.ErrAlreadyAlive, submit, client.ErrAlreadyAlive, ""},
		{nimbus.ErrInvalidTopology, submit, client.ErrInvalidTopology, ""},
		{nimbus.ErrAuthorization, submit, client.ErrAuthorization, ""},
		{nimbus.ErrNotAlive, func() error { return c.Kill(ctx, "w", cluster.KillOptions{}) }, client.ErrNotAlive, ""},
		{nimbus.ErrIllegalState, func() error { return c.Activate(ctx, "w") }, client.ErrRefused, ""},
		{nimbus.ErrIllegalState, func() error { return c.DeleteBlob(ctx, "there") }, client.ErrIllegalState, ""},
		{nimbus.ErrNotAlive, func() error { return c.SetLogConfig(ctx, "w", nil) }, client.ErrRefused, ""},
		{nil, func() error { return c.DeleteBlob(ctx, "absent") }, client.ErrKeyNotFound, `blob "absent": no such blob`},
		{nil, func() error { return c.CreateBlob(ctx, "there", blobstore.Meta{}, strings.NewReader("")) }, client.ErrKeyExists,
			`blob "there": the blob exists already`},
		{nil, func() error { return c.CreateBlob(ctx, "a/b", blobstore.Meta{}, strings.NewReader("")) }, client.ErrRefused, "-"},
		{nil, func() error { _, err := c.SetBlobReplication(ctx, "there", 0); return err }, client.ErrRefused,
			`blob "there" cannot be on 0 nimbuses: at least 1 is needed`},
		{errors.New("secret"), submit, client.ErrRefused, "nimbus failed in submitTopologyWithOpts: its log says why"},
	} {
		s.set(x.fails)
		text := x.text
		if text == "" {
			text = x.fails.Error()
		}
		err := x.call()
		answer, ok := errors.AsType[*client.Error](err)
		if !ok || !errors.Is(answer.Kind, x.want) || text != "-" && err.Error() != text {
			t.Errorf("%v: got %v (%T), want %v with %q", x.fails, err, err, x.want, text)
		}
	}
}

func TestFollowersRefuseChanges(t *testing.T) {
	s := serve(t)
	c, ctx := raw(t, s), t.Context()
	changes := map[string]func() error{
		"submitTopology":   func() error { return c.SubmitTopology(ctx, "w", "", "{}", gen.NewStormTopology()) },
		"activate":         func() error { return c.Activate(ctx, "w") },
		"beginFileUpload":  func() error { _, err := c.BeginFileUpload(ctx); return err },
		"beginCreateBlob":  func() error { _, err := c.BeginCreateBlob(ctx, "k", gen.NewSettableBlobMeta()); return err },
		"beginUpdateBlob":  func() error { _, err := c.BeginUpdateBlob(ctx, "k"); return err },
		"finishBlobUpload": func() error { return c.FinishBlobUpload(ctx, "x") },
		"deleteBlob":       func() error { return c.DeleteBlob(ctx, "k") },
		"setBlobMeta":      func() error { return c.SetBlobMeta(ctx, "k", gen.NewSettableBlobMeta()) },
		"updateBlobReplication": func() error {
			_, err := c.UpdateBlobReplication(ctx, "k", 1)
			return err
		},
		"sendSupervisorReport": func() error { return c.SendSupervisorReport(ctx, gen.NewSupervisorReport()) },
	}
	for text, leader := range map[string]cluster.NimbusSummary{
		"not the leader; the leader is n2:6627":                    {Host: "n2", Port: 6627},
		"not the leader; no nimbus leads at the moment: try again": {},
	} {
		s.lead(false, leader)
		for name, call := range changes {
			err := call()
			if want := "Internal error processing " + name + ": " + text; err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
		if got := s.said(); got != "" {
			t.Errorf("nimbus was asked %s", got)
		}
	}
	s.lead(false, cluster.NimbusSummary{})
	_, err := c.GetLeader(ctx)
	if want := "no nimbus leads at the moment: try again"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("leader: %v", err)
	}
}
