package recovery

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/stormring/stormring/sr3/node"
	"github.com/stormring/stormring/sr3/ring"
)

// Serve is what a child process does: it reads what to be and what to do from in,
// one JSON value after the other, and answers to out, until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	var r role
	if err := from.Decode(&r); err != nil {
		return fmt.Errorf("the role: %w", err)
	}
	requests := make(chan request)
	ended := make(chan error, 1)
	// It ends with in, which the parent closes.
	go func() {
		defer close(requests)
		for {
			var q request
			err := from.Decode(&q)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					ended <- err
				}
				cancel()
				return
			}
			select {
			case requests <- q:
			case <-ctx.Done():
				return
			}
		}
	}()
	var err error
	switch say := func(a reply) error { return to.Encode(a) }; {
	case r.Node != nil:
		err = serveNode(ctx, *r.Node, requests, say, log)
	case r.Worker != nil:
		err = serveWorker(ctx, *r.Worker, requests, say, log)
	case r.Source != nil:
		err = serveSource(ctx, *r.Source, requests, say)
	default:
		err = errors.New("no role was given")
	}
	select {
	case bad := <-ended:
		return errors.Join(err, bad)
	default:
		return err
	}
}

// serveNode is a ring node.
func serveNode(ctx context.Context, r nodeRole, requests <-chan request, say func(reply) error, log *slog.Logger) (err error) {
	cfg := node.Config{ID: r.ID, Addr: r.Addr, Host: r.ID, Rack: r.Rack, Dir: r.Dir, Records: records{r.Records}, Log: log}
	if !r.Upkeep {
		// What is measured is recovery from the copies that were there, so nothing
		// is repaired or thrown away meanwhile.
		cfg.RepairDelay, cfg.Grace, cfg.UpkeepEvery = forEver, forEver, upkeepEvery
	}
	n, err := node.Start(ctx, cfg)
	if err != nil {
		return errors.Join(err, say(reply{Error: err.Error()}))
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := say(reply{Self: n.Self()}); err != nil {
		return err
	}
	for q := range requests {
		var a reply
		if q.Status {
			if s := n.Status(); s.Joined && s.Complete {
				a.Living = 1
				for _, m := range s.Members {
					if m.ID != s.Node.ID && m.Status == ring.Alive.String() {
						a.Living++
					}
				}
			}
		} else {
			n.SetSeeds(q.Seeds)
		}
		if err := say(a); err != nil {
			return err
		}
	}
	return nil
}

// serveSource sends zeros: as many as a connection asks for.
func serveSource(ctx context.Context, r sourceRole, requests <-chan request, say func(reply) error) error {
	var listening net.ListenConfig
	l, err := listening.Listen(ctx, "tcp", r.Addr)
	if err != nil {
		return errors.Join(err, say(reply{Error: err.Error()}))
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { pour(c) })
		}
	})
	if err := say(reply{Self: ring.Node{ID: "source", Addr: l.Addr().String()}}); err != nil {
		return err
	}
	for range requests { // there are none; it ends with them
	}
	l.Close()
	wg.Wait()
	return nil
}

// pour sends a connection what it asks for; it ends with the connection.
func pour(c net.Conn) {
	defer c.Close()
	var ask struct{ Bytes int64 }
	if json.NewDecoder(io.LimitReader(c, 64)).Decode(&ask) != nil {
		return
	}
	block := make([]byte, 1<<20)
	for left := ask.Bytes; left > 0; left -= int64(len(block)) {
		block = block[:min(left, int64(len(block)))]
		if _, err := c.Write(block); err != nil {
			return
		}
	}
}
