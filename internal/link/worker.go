package link

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/stormring/stormring/internal/cluster"
	"github.com/stormring/stormring/internal/wire"
)

const (
	backoffMin = 50 * time.Millisecond
	backoffMax = time.Second
)

// Worker is what Run needs of a worker.
type Worker struct {
	// Socket is the supervisor's, see Path.
	Socket string
	Hello  cluster.Hello
	// Every is the time between pulses.
	Every time.Duration
	// Urgent, if something comes, sends a pulse at once; nil is allowed.
	Urgent <-chan struct{}
	// Pulse makes a pulse. It is called from one goroutine.
	Pulse func() cluster.Pulse
	// Sent tells that the last pulse has left, so that what it reported need not
	// be said again; nil is allowed.
	Sent func()
	// Orders gets what the supervisor wants, from one goroutine, which it may
	// hold up.
	Orders func(cluster.Orders)
	Logger *slog.Logger
}

// Run keeps a worker in touch with its supervisor until ctx ends, which is no
// error, or until the supervisor refuses it: ErrRefused.
func Run(ctx context.Context, w Worker) error {
	pause := backoffMin
	away := false
	for {
		welcome, err := w.once(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the end of ctx is the end
		case errors.Is(err, ErrRefused):
			return err
		}
		if welcome {
			pause, away = backoffMin, false
		}
		if !away {
			away = true
			w.Logger.Warn("the supervisor is away; the worker runs on", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		pause = min(2*pause, backoffMax)
	}
}

// once is one connection's life. welcome tells that the supervisor has given
// orders on it.
func (w Worker) once(ctx context.Context) (welcome bool, err error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", w.Socket)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	var writing sync.WaitGroup
	defer func() {
		cancel()
		stop()
		_ = conn.Close()
		writing.Wait()
	}()
	hello := w.Hello
	hello.Protocol = Protocol
	msg, err := wire.EncodeUp(&hello, nil)
	if err != nil {
		return false, err
	}
	if err := writeFrame(conn, msg); err != nil {
		return false, err
	}
	var writeErr error
	writing.Go(func() {
		defer cancel()
		writeErr = w.write(ctx, conn)
	})
	in := bufio.NewReader(conn)
	for {
		msg, err := readFrame(in)
		if err != nil {
			cancel()
			writing.Wait()
			return welcome, errors.Join(fmt.Errorf("the link to the supervisor: %w", err), writeErr)
		}
		if len(msg) == 0 {
			return welcome, ErrRefused
		}
		orders, err := wire.DecodeDown(msg)
		if err != nil {
			return welcome, fmt.Errorf("the supervisor's orders: %w", err)
		}
		welcome = true
		w.Orders(orders)
	}
}

// write sends pulses until ctx ends.
func (w Worker) write(ctx context.Context, conn net.Conn) error {
	ticker := time.NewTicker(w.Every)
	defer ticker.Stop()
	for {
		pulse := w.Pulse()
		msg, err := wire.EncodeUp(nil, &pulse)
		if err != nil {
			return err
		}
		if err := writeFrame(conn, msg); err != nil {
			return err
		}
		if w.Sent != nil {
			w.Sent()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-w.Urgent:
		}
	}
}

// shortHash tells paths apart.
func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
