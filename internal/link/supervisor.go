package link

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
)

// Serve lets workers connect until ctx ends, then closes ln and all connections
// and waits for them. The workers run on.
func Serve(ctx context.Context, ln net.Listener, s Supervisor, log *slog.Logger) error {
	var open sync.WaitGroup
	defer open.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = ln.Close() })
	defer stop()
	for {
		conn, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil // closed by us
			}
			return fmt.Errorf("the link's socket: %w", err)
		}
		open.Go(func() {
			if err := serve(ctx, conn, s); err != nil && ctx.Err() == nil {
				log.Debug("a worker's link has ended", "error", err)
			}
		})
	}
}

// serve is one connection's life.
func serve(ctx context.Context, conn net.Conn, s Supervisor) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		cancel()
		stop()
		_ = conn.Close()
	}()
	in := bufio.NewReader(conn)
	hello, err := readHello(conn, in)
	if err != nil {
		return err
	}
	var orders <-chan cluster.Orders
	if hello.Protocol == Protocol {
		orders, err = s.Hello(*hello)
	} else {
		err = fmt.Errorf("worker %s speaks version %d of the link, this supervisor %d; build the topology with the release that runs here", hello.Worker, hello.Protocol, Protocol)
	}
	if err != nil {
		return errors.Join(err, writeFrame(conn, nil)) // an empty message refuses
	}
	defer s.Gone(*hello)
	var writing sync.WaitGroup
	defer writing.Wait()
	defer cancel()
	writing.Go(func() {
		defer cancel()
		command(ctx, conn, orders)
	})
	for {
		msg, err := readFrame(in)
		if err != nil {
			return err
		}
		_, pulse, err := wire.DecodeUp(msg)
		if err != nil {
			return err
		}
		if pulse != nil {
			s.Pulse(*hello, *pulse)
		}
	}
}

func readHello(conn net.Conn, in *bufio.Reader) (*cluster.Hello, error) {
	if err := conn.SetReadDeadline(time.Now().Add(helloTimeout)); err != nil {
		return nil, err
	}
	msg, err := readFrame(in)
	if err != nil {
		return nil, fmt.Errorf("a worker's hello: %w", err)
	}
	hello, _, err := wire.DecodeUp(msg)
	if err != nil {
		return nil, fmt.Errorf("a worker's hello: %w", err)
	}
	if hello == nil {
		return nil, errors.New("a worker that says no hello")
	}
	return hello, conn.SetReadDeadline(time.Time{})
}

// command sends orders until they end.
func command(ctx context.Context, conn net.Conn, orders <-chan cluster.Orders) {
	for {
		select {
		case <-ctx.Done():
			return
		case o, ok := <-orders:
			if !ok {
				return
			}
			msg, err := wire.EncodeDown(o)
			if err != nil || writeFrame(conn, msg) != nil {
				return // the worker connects again
			}
		}
	}
}
