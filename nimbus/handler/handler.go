// Package handler is nimbus as Thrift clients see it: Storm's service Nimbus,
// and the few calls of Stormring's own beside it. It decides nothing: a method
// reads its arguments (internal/wire), asks nimbus or the blob store, and
// writes the answer.
//
//	handler.go    Serve
//	ports.go      what it needs of nimbus and of the blob store
//	refuse.go     which error becomes which exception, and who may see its text
//	submit.go, topologies.go, pages.go, blobs.go, supervisors.go, ring.go   the methods
//
// A newcomer starts at [Serve] and reads refuse.go next.
package handler

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/stormring/stormring/internal/conf"
	"github.com/stormring/stormring/thrift"
	"github.com/stormring/stormring/thrift/assignment"
	gen "github.com/stormring/stormring/thrift/gen/storm"
)

// Config is what Serve needs. Only Copies may be left out.
type Config struct {
	// Listener brings the connections; Serve closes it.
	Listener net.Listener
	// Conf is the cluster's configuration: nimbus.thrift.threads and
	// nimbus.thrift.max_buffer_size.
	Conf   *conf.Conf
	Nimbus Nimbus
	Blobs  Blobs
	// Copies is on how many nimbuses a blob is; nil: on this one only.
	Copies func(ctx context.Context, key string) (int, error)
	Logger *slog.Logger
}

// queue is how many requests wait for one of the threads, as with Storm.
const queue = 100000

// Serve answers clients until ctx ends, lets what runs then finish, and returns
// nil; or why the listener failed.
func Serve(ctx context.Context, cfg Config) error {
	if cfg.Conf == nil || cfg.Nimbus == nil || cfg.Blobs == nil {
		return errors.New("nimbus's thrift server: Conf, Nimbus or Blobs is missing")
	}
	h := newHandler(cfg)
	processor := gen.NewStormringProcessor(h)
	assignment.AddNimbus(processor, h)
	addRing(processor, h)
	return thrift.Serve(ctx, thrift.ServerConfig{
		Listener:  cfg.Listener,
		Processor: processor,
		Logger:    cfg.Logger,
		MaxFrame:  cfg.Conf.Int(conf.NimbusThriftMaxBuffer),
		Key:       string(conf.NimbusThriftMaxBuffer),
		Threads:   cfg.Conf.Int(conf.NimbusThriftThreads),
		Queue:     queue,
	})
}

// handler has the methods. What it is asked over this transport comes from
// somebody without a name.
type handler struct {
	nimbus Nimbus
	blobs  Blobs
	copies func(ctx context.Context, key string) (int, error)
}

var (
	_ gen.Stormring     = (*handler)(nil)
	_ assignment.Nimbus = (*handler)(nil)
)

func newHandler(cfg Config) *handler {
	h := &handler{nimbus: cfg.Nimbus, blobs: cfg.Blobs, copies: cfg.Copies}
	if h.copies == nil {
		h.copies = func(context.Context, string) (int, error) { return 1, nil }
	}
	return h
}
